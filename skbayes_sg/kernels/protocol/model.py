"""Models: a log-likelihood that is a sum over rows, a prior, and what is recorded."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import kernel_op, missing, python_op
from skbayes_sg.kernels.numerics.vectors import copy_to


# Inside the loop
@kernel_op
def n_parameters(model):
    """Return the length of theta."""
    raise NotImplementedError


@kernel_op
def n_rows(model):
    """Return N, the number of rows (independent likelihood terms)."""
    raise NotImplementedError


@kernel_op
def add_gradient(model, work, theta, idx, scale, out):
    """Add scale * sum of grad log f(y_i | theta) over the rows i in `idx` to `out`."""
    raise NotImplementedError


@kernel_op
def add_prior_gradient(model, work, theta, out):
    """Add grad log p(theta) to `out`."""
    raise NotImplementedError


@kernel_op
def log_likelihood(model, work, theta, idx):
    """Return the sum of log f(y_i | theta) over the rows in `idx`."""
    raise NotImplementedError


@kernel_op
def log_prior(model, work, theta):
    """Return log p(theta), up to a constant."""
    raise NotImplementedError


@kernel_op
def add_value_and_gradient(model, work, theta, idx, scale, out):
    """Do the same as `add_gradient`; return scale * `log_likelihood` of these rows.

    The default makes two passes. A model may register a faster single pass.
    """
    add_gradient(model, work, theta, idx, scale, out)
    return scale * log_likelihood(model, work, theta, idx)


@kernel_op
def refresh(model, target, position, rng):
    """Update hyperparameters in ``target.work`` given the parameters, after each step.

    The default does nothing. A model with conjugate conditional distributions draws its
    hyperparameters here, given ``theta = locate(target, position)``.
    """


@kernel_op
def needs_refresh(model, t):
    """Whether to call `refresh` after iteration t = 0, 1, ..."""
    return True


@kernel_op
def n_recorded(model):
    """Return the length of a recorded draw; by default that of theta."""
    return n_parameters(model)


@kernel_op
def record(model, work, theta, out):
    """Write one draw to `out`."""
    copy_to(theta, out)


# Outside the loop, Python only
class NoWork(NamedTuple):
    """The work of a model that needs no arrays."""

    nothing: int = 0


@python_op
def init_work(model):
    """Allocate the model's private arrays of one chain (buffers, hyperparameters)."""
    return NoWork()


@python_op
def check_model(model):
    """Raise a ValueError where the model cannot be sampled, before any chain runs."""


@python_op
def work_at(model, draw):
    """Return a work with the hyperparameters of a recorded draw, (n_recorded,)."""
    return init_work(model)


@python_op
def theta_of(model, draw):
    """Return theta of a recorded draw, (n_parameters,): the inverse of `record`."""
    return np.ascontiguousarray(draw[: n_parameters(model)], parameter_dtype(model))


@python_op
def parameter_dtype(model):
    """Return the dtype of theta and of all arrays of a chain."""
    return np.dtype(np.float64)


@python_op
def is_log_concave(model):
    """Whether the log posterior is smooth and concave, so that it has one mode."""
    return False


@python_op
def has_one_mode(model):
    """Whether the posterior has a single mode, which an optimizer finds.

    True for concave log posteriors; other models may register it.
    """
    return is_log_concave(model)


@python_op
def thinned(model, every):
    """Return the posterior given every `every`-th row, weighted by `every`."""
    raise missing(thinned, model)
