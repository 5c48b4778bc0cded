"""Local variables: unknowns of single rows, drawn before a gradient is computed.

The topics of words are such variables. Given theta, they are drawn only for the rows of
a minibatch, and the gradient is computed given both.
"""

from skbayes_sg.kernels.generic import helper, implements, kernel_op, python_op
from skbayes_sg.kernels.protocol.model import add_gradient


@kernel_op
def draw_local(model, work, theta, idx, rng):
    """Draw the local variables of the rows in `idx` given theta, into `work`.

    The default does nothing.
    """


@helper
def add_fresh_gradient(model, work, theta, idx, scale, rng, out):
    """Draw the local variables of the rows in `idx`, then call `add_gradient`."""
    draw_local(model, work, theta, idx, rng)
    add_gradient(model, work, theta, idx, scale, out)


@python_op
def takes_local_variables(gradient):
    """Whether the estimator draws local variables before each gradient.

    Estimators of differences do not: two gradients with separately drawn local
    variables have a difference of larger variance than either gradient.
    """
    return False


def check_local_variables(gradient, model):
    """Raise a ValueError if the model has local variables and nothing draws them."""
    if implements(draw_local, model) and not takes_local_variables(gradient):
        raise ValueError(
            f"{type(gradient).__name__} takes differences of gradients, but "
            f"{type(model).__name__} draws local variables for each of them; use "
            'gradient="minibatch" or "full"'
        )
