"""Rows of users, items and further columns in theta, and their Gaussian priors.

    x_i ~ N(m + B' z_i, diag(lambda)^-1)

`matrix_factorization` says how theta and the work hold all of this.
"""

import math

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.protocol.model import n_parameters


@helper
def width(model):
    """Return q, the number of parameters of a user or an item."""
    return model.n_factors + 1 if model.biases else model.n_factors


@helper
def n_theta_rows(model):
    """Return the number of users, items and labels of further columns."""
    return model.firsts[-1]


@helper
def has_rows_alone(model):
    """Whether theta has nothing but rows of users, items and further columns."""
    return n_parameters(model) == n_theta_rows(model) * width(model)


@helper
def as_matrix(theta, q):
    """Return theta as a matrix of width q."""
    return theta.reshape(theta.size // q, q)


@helper
def links_of(model, work, side):
    """Return B of a side, without rows for further columns, and its kappa."""
    p, end = model.n_user_features, work.links.shape[0]
    first, last = (0, p) if side == 0 else (p, end)
    if side > 1:
        first = last
    return work.links[first:last], work.kappa[min(side, 1)]


@helper
def take_moments(x, mean, links, kappa, out):
    """Write what the rows of a side tell of m and lambda to (2, q) `out`.

    The sums of deviations x_i - mean_i, and of their squares and those of
    sqrt(kappa) B.
    """
    out[:] = 0.0
    for i in range(x.shape[0]):
        for f in range(x.shape[1]):
            deviation = x[i, f] - mean[i, f]
            out[0, f] += deviation
            out[1, f] += deviation * deviation
    for g in range(links.shape[0]):
        for f in range(links.shape[1]):
            out[1, f] += kappa * links[g, f] * links[g, f]


@helper
def side_moments(model, work, x, side):
    """Take the moments of users or items; return their number with that of links."""
    first, last = model.firsts[side], model.firsts[side + 1]
    links, kappa = links_of(model, work, side)
    rows, mean = x[first:last], work.mean[first:last]
    take_moments(rows, mean, links, kappa, work.moments)
    return last - first + links.shape[0]


@helper
def add_row_prior_gradient(model, work, x, out):
    """Add lambda (mean_i - x_i) of all rows i to `out`."""
    for side in range(model.firsts.size - 1):
        first, last = model.firsts[side], model.firsts[side + 1]
        mean, precision = work.mean[first:last], work.hyper[side, 1]
        _pull(x[first:last], mean, precision, out[first:last])


@helper
def _pull(x, mean, precision, out):
    """Add precision * (mean - x) to `out`."""
    for i in range(x.shape[0]):
        for f in range(x.shape[1]):
            out[i, f] += precision[f] * (mean[i, f] - x[i, f])


@helper
def row_log_prior(model, work, x):
    """Return log p(rows and links | m, lambda)."""
    value = 0.0
    for side in range(model.firsts.size - 1):
        count = side_moments(model, work, x, side)
        for f in range(x.shape[1]):
            inverse = work.hyper[side, 1, f]
            value += 0.5 * count * math.log(inverse)
            value -= 0.5 * inverse * work.moments[1, f]
    return value


@helper
def add_row_prior_hessian(model, work, out):
    """Add the prior precisions of all rows to (n, q) `out`."""
    for side in range(model.firsts.size - 1):
        for i in range(model.firsts[side], model.firsts[side + 1]):
            for f in range(out.shape[1]):
                out[i, f] += work.hyper[side, 1, f]
