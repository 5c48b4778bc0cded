"""Passes over all rows: log posterior, gradient and curvature at one point.

They are compiled from a model's operations on rows, unless the model registers its own
passes. If a model implements no Hessian, it is computed from differences of gradients,
at the cost of two gradients per column.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian,
    add_hessian_diagonal,
    add_prior_hessian,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.data.minibatch import fill_rows, row_buffer
from skbayes_sg.kernels.generic import entry_point, helper, implements, python_op
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    log_likelihood,
    log_prior,
    n_rows,
)
from skbayes_sg.kernels.protocol.target import locate

MAX_COLUMNS = 256  # of a Hessian whose diagonal is computed column by column


@helper
def log_density_at(target, position, idx):
    """Return the target's log density at `position`; `idx` is a buffer for rows."""
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
    if implements(add_hessian, model):
        row_hessian(model, work, theta, out)
    else:
        out += _difference_hessian(row_gradient, model, work, theta)


@python_op
def mean_hessian(model, work, thetas, out):
    """Add the mean of the Hessians at (Q, d) thetas to (d, d) `out`."""
    total = np.zeros_like(out)
    for theta in thetas:
        hessian(model, work, theta, total)
    out += total / len(thetas)


@python_op
def hessian_diagonal(model, work, theta, out):
    """Add the diagonal of the Hessian of -log-likelihood at theta to (d,) `out`."""
    if implements(add_hessian_diagonal, model):
        row_hessian_diagonal(model, work, theta, out)
    else:
        out += _difference_diagonal(row_gradient, model, work, theta)


@python_op
def prior_hessian(model, work, theta, out):
    """Add the Hessian of -log p(theta) to (d, d) `out`."""
    if _gives_prior_hessian(model):
        add_prior_hessian(model, work, theta, out)
    else:
        out += _difference_hessian(prior_gradient, model, work, theta)


@python_op
def prior_hessian_diagonal(model, work, theta, out):
    """Add the diagonal of the Hessian of -log p(theta) to (d,) `out`."""
    if implements(add_prior_hessian_diagonal, model):
        add_prior_hessian_diagonal(model, work, theta, out)
    else:
        out += _difference_diagonal(prior_gradient, model, work, theta)


def _gives_prior_hessian(model):
    return any(
        implements(op, model) for op in (add_prior_hessian, add_prior_hessian_diagonal)
    )


def hessian_product(gradient, model, work, theta, vector):
    """Return -Hessian times (d,) `vector`, by central differences of a gradient.

    `gradient` is a pass that adds a gradient, such as `row_gradient`. The step balances
    the errors of rounding and of the third derivative.
    """
    unit = np.finfo(theta.dtype).eps ** (1 / 3)
    size = np.abs(vector) / np.maximum(1.0, np.abs(theta))
    width = unit / size.max()
    # The distance after rounding, in the coordinate with the largest relative change.
    ends, slopes = [], []
    for sign in (1.0, -1.0):
        ends.append((theta + sign * width * vector).astype(theta.dtype))
        g = np.zeros(theta.size, theta.dtype)
        gradient(model, work, ends[-1], g)
        slopes.append(g.astype(np.float64))
    j = np.argmax(size)
    distance = (float(ends[0][j]) - float(ends[1][j])) / vector[j]
    return (slopes[1] - slopes[0]) / distance


def _difference_hessian(gradient, model, work, theta):
    rows = [
        hessian_product(gradient, model, work, theta, e) for e in np.eye(theta.size)
    ]
    return 0.5 * (np.array(rows) + np.transpose(rows))


def _difference_diagonal(gradient, model, work, theta):
    """Return the diagonal, exactly or, if d is large, estimated from random signs.

    The mean of v_j (H v)_j over signs v is H_jj (Bekas, Kokiopoulou & Saad, 2007).
    """
    d = theta.size
    if d <= MAX_COLUMNS:
        return np.diag(_difference_hessian(gradient, model, work, theta))
    rng = np.random.default_rng(0)
    mean = np.zeros(d)
    for _ in range(MAX_COLUMNS):
        signs = rng.choice([-1.0, 1.0], d)
        mean += signs * hessian_product(gradient, model, work, theta, signs)
    return mean / MAX_COLUMNS


@entry_point
def row_log_posterior(model, work, theta, out):
    """Compute `log_posterior` by operations on rows."""
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    value = log_prior(model, work, theta)
    idx = row_buffer()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        value += add_value_and_gradient(model, work, theta, rows, 1.0, out)
    return value


@entry_point
def row_gradient(model, work, theta, out):
    """Add the gradient of the log-likelihood of all rows to `out`."""
    idx = row_buffer()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        add_gradient(model, work, theta, rows, 1.0, out)


@entry_point
def prior_gradient(model, work, theta, out):
    """Add grad log p(theta) to `out`."""
    add_prior_gradient(model, work, theta, out)


@entry_point
def subsampled_log_posterior(model, work, theta, idx):
    """Return an estimate of log p(theta | data) from the rows in `idx`."""
    scale = n_rows(model) / idx.size
    return log_prior(model, work, theta) + scale * log_likelihood(
        model, work, theta, idx
    )


@entry_point
def row_hessian(model, work, theta, out):
    """Compute `hessian` by operations on rows."""
    idx = row_buffer()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        add_hessian(model, work, theta, rows, 1.0, out)


@entry_point
def row_hessian_diagonal(model, work, theta, out):
    """Compute `hessian_diagonal` by operations on rows."""
    idx = row_buffer()
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        add_hessian_diagonal(model, work, theta, rows, 1.0, out)
