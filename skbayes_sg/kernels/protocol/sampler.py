"""Samplers: how a position moves, and the properties of a step."""

from skbayes_sg.kernels.generic import kernel_op, missing, python_op


# Inside the loop
@kernel_op
def step(sampler, state, target, h, rng):
    """Move ``state.position`` by one iteration of step size h, in place."""
    raise NotImplementedError


@kernel_op
def catch_up(sampler, state, target, rng):
    """Bring all of ``state.position`` up to date before it is read.

    The default does nothing. Lazy samplers make their postponed moves here.
    """


# Outside the loop, Python only
@python_op
def init_state(sampler, position, rng):
    """Allocate a chain's state; its field ``position`` is a copy of `position`."""
    raise missing(init_state, sampler)


@python_op
def suited_to(sampler, model):
    """Return the sampler adapted to the layout of the model's parameters."""
    return sampler


@python_op
def check_parts(sampler, model, gradient, coordinates):
    """Raise a ValueError if the sampler cannot work with the other components."""


@python_op
def sees_model(sampler):
    """Whether the sampler uses more of a target than gradients and coordinates.

    If not, its loop is compiled once for all models.
    """
    return True


@python_op
def takes_estimates(sampler):
    """Whether the sampler works with noisy gradients; Metropolis samplers do not."""
    return True


@python_op
def preconditioner_of(sampler):
    """Return the name of the preconditioner that suits the sampler."""
    return "auto"


@python_op
def friction_of(sampler):
    """Return the friction of a sampler with momentum, 1 for all others."""
    return 1.0


@python_op
def with_friction(sampler, friction):
    """Return the sampler with this friction, if it has any."""
    return sampler


@python_op
def least_friction(sampler, d):
    """Return the friction below which a chain of `d` parameters forgets too slowly."""
    return 0.0


@python_op
def stable_step(sampler):
    """Return the largest stable step size for curvature 1."""
    raise missing(stable_step, sampler)


@python_op
def accurate_step(sampler, noise, tolerance):
    """Return the step size to use for curvature 1.

    This is the largest step size whose stationary variance is within a factor of
    1 + `tolerance` of the exact one, given gradient estimates of variance `noise`, and
    that is well below the sampler's stability limit. `noise` is one number, or one for
    each coordinate, (d,).
    """
    raise missing(accurate_step, sampler)


@python_op
def with_noise_absorbed(sampler, h, noise):
    """Return a sampler that behaves on exact gradients as this one does on noisy ones.

    This is the sampler itself, unless its friction adapts to gradient noise. `noise` is
    the variance of the gradient, averaged over the coordinates.
    """
    return sampler


@python_op
def curvature_exponent(sampler):
    """Return p such that step sizes scale with the curvature to the power of -p.

    It is 1 for samplers without momentum and 1/2 for samplers with momentum.
    """
    return 1.0


@python_op
def relaxation(sampler, h):
    """Return the iterations until the autocorrelation is 1/e, for curvature 1."""
    raise missing(relaxation, sampler)


@python_op
def sampler_stats(sampler, state):
    """Return a dict of statistics of a finished chain, such as its acceptance rate."""
    return {}
