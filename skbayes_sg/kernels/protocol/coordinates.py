"""Coordinates: theta = center + L position, a preconditioner L L', constant mostly."""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


# Inside the loop
@kernel_op
def to_theta(coordinates, position, out):
    """Write theta = center + L position to `out`."""
    raise NotImplementedError


@kernel_op
def pull_back(coordinates, g, out):
    """Write L' g, the gradient with respect to the position, to `out`."""
    raise NotImplementedError


@kernel_op
def push_forward(coordinates, vector, out):
    """Write L `vector`, the change of theta with the position, to `out`."""
    raise NotImplementedError


@kernel_op
def shift(coordinates, j, change, position):
    """Add `change` to number j of theta, by a change of `position`.

    For models that draw a parameter from its conditional distribution between steps.
    """
    raise NotImplementedError


@kernel_op
def follow(coordinates, precision, theta, position):
    """Adapt to new precisions of the prior, (d,), and `position` to stay at theta.

    Only for coordinates of one chain's own; by default they are constant.
    """


@kernel_op
def carry(coordinates, precision, theta, position):
    """Adapt to new precisions of the prior, (d,), and `theta` to stay at the position.

    Returns log|det L|, the log density of theta being that of the position less this.
    Numbers of theta that the coordinates follow are given, and stay.
    """
    raise NotImplementedError


# Outside the loop, Python only
@python_op
def of_one_chain(coordinates):
    """Return what a chain may change; the same coordinates where it changes nothing."""
    return coordinates


@python_op
def pull_back_rows(coordinates, g):
    """Return L' g of each row of (n, d) `g`."""
    raise missing(pull_back_rows, coordinates)


@python_op
def to_position(coordinates, theta):
    """Return the position of `theta`, the inverse of `to_theta`."""
    raise missing(to_position, coordinates)


@python_op
def position_scale(coordinates, theta_scale):
    """Return the sds of the position, given the sds `theta_scale` of theta."""
    raise missing(position_scale, coordinates)


@python_op
def is_identity(coordinates):
    """Whether the position is theta itself."""
    return False
