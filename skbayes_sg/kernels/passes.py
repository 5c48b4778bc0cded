"""Passes over all rows: log posterior, gradient and curvature at one point.

They are compiled from a model's operations on rows, unless it has passes of its own.
"""

from skbayes_sg.kernels.capabilities.curvature import add_hessian, add_hessian_diagonal
from skbayes_sg.kernels.data.minibatch import fill_rows, row_buffer
from skbayes_sg.kernels.generic import entry_point, helper, python_op
from skbayes_sg.kernels.protocol.model import (
    add_prior_gradient,
    add_value_and_gradient,
    log_likelihood,
    log_prior,
    n_rows,
)
from skbayes_sg.kernels.protocol.target import locate


@helper
def log_density_at(target, position, idx):
    """Return the target's log density at `position`, from all rows; idx is a buffer."""
    theta = locate(target, position)
    model, work = target.model, target.work
    value = log_prior(model, work, theta)
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        value += log_likelihood(model, work, theta, rows)
    return value * target.inverse_temperature


@python_op
def log_posterior(model, work, theta, out):
    """Return log p(theta | data) up to a constant and write its gradient to `out`."""
    return row_log_posterior(model, work, theta, out)


@python_op
def hessian(model, work, theta, out):
    """Add the Hessian of -log-likelihood at theta to (d, d) `out`."""
    row_hessian(model, work, theta, out)


@python_op
def hessian_diagonal(model, work, theta, out):
    """Add the diagonal of the Hessian of -log-likelihood at theta to (d,) `out`."""
    row_hessian_diagonal(model, work, theta, out)


@entry_point
def row_log_posterior(model, work, theta, out):
    """Do what `log_posterior` does by operations on rows."""
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    value = log_prior(model, work, theta)
    idx = row_buffer()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        value += add_value_and_gradient(model, work, theta, rows, 1.0, out)
    return value


@entry_point
def subsampled_log_posterior(model, work, theta, idx):
    """Return an estimate of log p(theta | data) from the rows in `idx`."""
    scale = n_rows(model) / idx.size
    return log_prior(model, work, theta) + scale * log_likelihood(
        model, work, theta, idx
    )


@entry_point
def row_hessian(model, work, theta, out):
    """Do what `hessian` does by operations on rows."""
    idx = row_buffer()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        add_hessian(model, work, theta, rows, 1.0, out)


@entry_point
def row_hessian_diagonal(model, work, theta, out):
    """Do what `hessian_diagonal` does by operations on rows."""
    idx = row_buffer()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        add_hessian_diagonal(model, work, theta, rows, 1.0, out)
