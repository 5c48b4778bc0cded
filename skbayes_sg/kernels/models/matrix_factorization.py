"""Bayesian probabilistic matrix factorization (Salakhutdinov & Mnih, 2008).

    y_k ~ N(U_i . V_j + b_i + c_j, 1 / (alpha s_i t_j)),   rating k, of item j by user i
    x_i = (U_i, b_i) ~ N(m + B' z_i, diag(lambda)^-1),     features z_i, if any

Items have a prior of the same form with m, lambda and B of their own, and so have rows
of further columns, which `context_factorization` adds to the mean. The ratings are the
rows of the data, so N/n scales the likelihood alone. theta is a matrix of width
q = d + 1 for d factors, or d without biases:

    | rows of theta                  | number          |
    |--------------------------------|-----------------|
    | U_i, b_i of the users          | n_users         |
    | V_j, c_j of the items          | n_items         |
    | W_c, e_c of each column        | n_further       |

All other unknowns live in the work, and are drawn from their conjugate conditionals
every `refresh_every` iterations: see `matrix_factorization_conditionals`. A recorded
draw is the rows of theta, then m and lambda of users, of items and of each column, then
alpha, all s, all t and a 1 for each further row, then B of users and of items. In
`log_scale_factorization` the sampler moves m and lambda as well.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import add_difference, init_anchor
from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.capabilities.theta_blocks import (
    block_prior,
    block_width,
    blocks_of,
)
from skbayes_sg.kernels.data.minibatch import fill_rows, row_buffer
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.generic import entry_point, helper, kernel_op
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    needs_refresh,
    parameter_dtype,
    record,
)

CHUNK = 256  # ratings whose residuals are held at once


class RowPrior(NamedTuple):
    """The prior of the rows of users and items, and where its unknowns start."""

    start: np.ndarray  # (n_sides, 2, q): m and lambda of users, of items, ...
    shape: float  # of lambda_f ~ Gamma(shape, rate_f)
    rate: np.ndarray  # (q,)
    learns: bool


class RatingNoise(NamedTuple):
    """The precisions of the ratings."""

    precision: float  # alpha, or where it starts
    rate: float  # of alpha ~ Gamma(1, rate)
    learns: bool
    dof: float  # s_i, t_j ~ Gamma(dof / 2, dof / 2); 0: all are 1
    own: np.ndarray  # (n_rows,) s and t, where they start, and 1 for further rows
    unobserved: float = 0.0  # weight of a pair without a rating


class MatrixFactorization(NamedTuple):
    """Ratings, features of users and items, and priors."""

    pairs: np.ndarray  # (N, n_sides) int32: rows of theta, of user, item, ...
    values: np.ndarray  # (N, n_sides - 2) z of the further columns
    y: np.ndarray  # (N,) ratings, centered
    weights: np.ndarray  # (N,), or (0,) when all are 1
    n_users: int
    n_items: int
    firsts: np.ndarray  # (n_sides + 1,) int64: first row of users, items, ..., and end
    n_factors: int  # d
    biases: bool
    features: CSRRows  # (p, n_rows of theta) those of users, then those of items
    n_user_features: int
    prior: RowPrior
    noise: RatingNoise
    refresh_every: int


class FactorizationWork(NamedTuple):
    """The unknowns that are not part of theta, and buffers."""

    hyper: np.ndarray  # (n_sides, 2, q) m and lambda of users, of items, ...
    mean: np.ndarray  # (n_theta_rows, q) m + B' z_i
    links: np.ndarray  # (p, q) B
    kappa: np.ndarray  # (2,) precision of B of users, of items, relative to lambda
    noise: np.ndarray  # (1 + n_theta_rows,) alpha, s, t, 1
    count: np.ndarray  # (1,) int64: refreshes so far
    residual: np.ndarray  # (CHUNK,)
    alpha: np.ndarray  # (CHUNK,)
    block: np.ndarray  # (CHUNK,) row indices
    moments: np.ndarray  # (2, q) float64
    sums: np.ndarray  # (2, max(n_users, n_items)) float64


class FactorizationAnchor(NamedTuple):
    """What a control variate remembers of its center."""

    theta: np.ndarray
    r: np.ndarray  # (N,) scores there


@n_parameters.register(MatrixFactorization)
def _(model):
    return n_theta_rows(model) * width(model)


@n_rows.register(MatrixFactorization)
def _(model):
    return model.y.size


@parameter_dtype.register(MatrixFactorization)
def _(model):
    return model.y.dtype


@init_work.register(MatrixFactorization)
def _(model):
    dtype, q, start = model.y.dtype, width(model), model.prior.start
    return FactorizationWork(
        hyper=start.astype(dtype),
        mean=np.repeat(start[:, 0], np.diff(model.firsts), axis=0).astype(dtype),
        links=np.zeros((model.features.indptr.size - 1, q), dtype),
        kappa=np.ones(2, dtype),
        noise=np.append(model.noise.precision, model.noise.own).astype(dtype),
        count=np.zeros(1, np.int64),
        residual=np.zeros(CHUNK, dtype),
        alpha=np.zeros(CHUNK, dtype),
        block=row_buffer()[:CHUNK],
        moments=np.zeros((2, q)),
        sums=np.zeros((2, max(model.n_users, model.n_items))),
    )


@add_gradient.register(MatrixFactorization)
def _(model, work, theta, idx, scale, out):
    q = width(model)
    x, g = as_matrix(theta, q), as_matrix(out, q)
    for first in range(0, idx.size, CHUNK):
        block = idx[first : first + CHUNK]
        r = scores(model, work, x, block)
        for b in range(block.size):
            r[b] *= theta.dtype.type(scale)
        add_slopes(model, x, block, r, g)


@add_difference.register(MatrixFactorization)
def _(model, work, theta, anchor, idx, scale, out):
    # The anchor's scores keep the noise precisions that it was made with: its full
    # gradient did, and the two must cancel in the mean, whatever alpha is now.
    q, kind = width(model), theta.dtype.type
    x, g, center = as_matrix(theta, q), as_matrix(out, q), as_matrix(anchor.theta, q)
    r_center = anchor.r
    for first in range(0, idx.size, CHUNK):
        block = idx[first : first + CHUNK]
        r, r0 = scores(model, work, x, block), work.alpha[: block.size]
        for b in range(block.size):
            r[b] *= kind(scale)
            r0[b] = -kind(scale) * r_center[block[b]]
        add_slopes(model, x, block, r, g)
        add_slopes(model, center, block, r0, g)


@init_anchor.register(MatrixFactorization)
def _(model, work, theta):
    r = np.empty(model.y.size, theta.dtype)
    _fill_scores(model, work, theta, r)
    return FactorizationAnchor(theta.copy(), r)


@log_likelihood.register(MatrixFactorization)
def _(model, work, theta, idx):
    weights, x, total = model.weights, as_matrix(theta, width(model)), 0.0
    for first in range(0, idx.size, CHUNK):
        block = idx[first : first + CHUNK]
        residual, alpha = residuals(model, work, x, block)
        for b in range(block.size):
            w = weights[block[b]] if weights.size else 1.0
            total += 0.5 * w * (math.log(alpha[b]) - alpha[b] * residual[b] ** 2)
    return total


@add_hessian_diagonal.register(MatrixFactorization)
def _(model, work, theta, idx, scale, out):
    # Exact: the mean of a rating is linear in each entry alone.
    q, weights = width(model), model.weights
    x, diagonal = as_matrix(theta, q), as_matrix(out, q)
    for first in range(0, idx.size, CHUNK):
        block = idx[first : first + CHUNK]
        alpha = residuals(model, work, x, block)[1]
        for b in range(block.size):
            w = scale * alpha[b]
            if weights.size:
                w *= weights[block[b]]
            add_squared_slope(model, work, block[b], x, w, diagonal)


@add_prior_gradient.register(MatrixFactorization)
def _(model, work, theta, out):
    q = width(model)
    add_row_prior_gradient(model, work, as_matrix(theta, q), as_matrix(out, q))


@blocks_of.register(MatrixFactorization)
def _(model, i):
    return model.pairs[i, 0], model.pairs[i, 1]


@block_width.register(MatrixFactorization)
def _(model):
    return width(model)


@block_prior.register(MatrixFactorization)
def _(model, work, block, mean, precision):
    side = 0 if block < model.n_users else 1  # there are no further rows in blocks
    for f in range(mean.size):
        mean[f] = work.mean[block, f]
        precision[f] = work.hyper[side, 1, f]


@log_prior.register(MatrixFactorization)
def _(model, work, theta):
    return row_log_prior(model, work, as_matrix(theta, width(model)))


@add_prior_hessian_diagonal.register(MatrixFactorization)
def _(model, work, theta, out):
    add_row_prior_hessian(model, work, as_matrix(out, width(model)))


@needs_refresh.register(MatrixFactorization)
def _(model, t):
    return (t + 1) % model.refresh_every == 0


@n_recorded.register(MatrixFactorization)
def _(model):
    rows, n_sides = n_theta_rows(model), model.firsts.size - 1
    links = model.features.indptr.size - 1
    return (rows + 2 * n_sides + links) * width(model) + 1 + rows


@record.register(MatrixFactorization)
def _(model, work, theta, out):
    record_all(model, work, theta, out)


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
def residuals(model, work, x, block):
    """Return y_k less its mean, and alpha s_i t_j, of a block of ratings."""
    pairs, y, d, q = model.pairs, model.y, model.n_factors, x.shape[1]
    common, own = work.noise[0], work.noise[1:]
    residual, alpha = work.residual[: block.size], work.alpha[: block.size]
    for b in range(block.size):
        i, j = pairs[block[b], 0], pairs[block[b], 1]
        u, v = x[i], x[j]
        total = x.dtype.type(0.0)
        for f in range(d):
            total += u[f] * v[f]
        for f in range(d, q):
            total += u[f] + v[f]
        residual[b] = y[block[b]] - total
        alpha[b] = common * own[i] * own[j]
    subtract_further_means(model, x, block, residual)
    return residual, alpha


@helper
def add_slopes(model, x, block, r, out):
    """Add r_k times the derivative of the mean of rating k to `out`, for a block."""
    pairs, d, q = model.pairs, model.n_factors, x.shape[1]
    for b in range(block.size):
        i, j, rb = pairs[block[b], 0], pairs[block[b], 1], r[b]
        u, v, gu, gv = x[i], x[j], out[i], out[j]
        for f in range(d):
            uf, vf = u[f], v[f]
            gu[f] += rb * vf
            gv[f] += rb * uf
        for f in range(d, q):  # a branch here would keep LLVM from vectorizing
            gu[f] += rb
            gv[f] += rb
    add_further_slopes(model, x, block, r, out)


@kernel_op
def subtract_further_means(model, x, block, residual):
    """Subtract what columns after user and item add to the means of a block."""
    raise NotImplementedError


@subtract_further_means.register(MatrixFactorization)
def _(model, x, block, residual):
    pass


@kernel_op
def add_further_means(model, x, v, block, out):
    """Add the derivatives of these means in direction v to `out`."""
    raise NotImplementedError


@add_further_means.register(MatrixFactorization)
def _(model, x, v, block, out):
    pass


@kernel_op
def add_further_slopes(model, x, block, r, out):
    """Add r_k times the derivatives of these means to the rows of `out`."""
    raise NotImplementedError


@add_further_slopes.register(MatrixFactorization)
def _(model, x, block, r, out):
    pass


@kernel_op
def add_squared_slope(model, work, k, x, w, out):
    """Add w times the squared derivatives of the mean of rating k to `out`."""
    raise NotImplementedError


@add_squared_slope.register(MatrixFactorization)
def _(model, work, k, x, w, out):
    d, i, j = model.n_factors, model.pairs[k, 0], model.pairs[k, 1]
    for f in range(d):
        out[i, f] += w * x[j, f] * x[j, f]
        out[j, f] += w * x[i, f] * x[i, f]
    for f in range(d, x.shape[1]):
        out[i, f] += w
        out[j, f] += w


@kernel_op
def scores(model, work, x, block):
    """Return the weighted d log f_k / d mean_k of a block of ratings."""
    raise NotImplementedError


@scores.register(MatrixFactorization)
def _(model, work, x, block):
    residual, alpha = residuals(model, work, x, block)
    weights = model.weights
    for b in range(block.size):
        residual[b] *= alpha[b]
        if weights.size:
            residual[b] *= weights[block[b]]
    return residual


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
def links_of(model, work, side):
    """Return B of a side, without rows for further columns, and its kappa."""
    p, end = model.n_user_features, work.links.shape[0]
    first, last = (0, p) if side == 0 else (p, end)
    if side > 1:
        first = last
    return work.links[first:last], work.kappa[min(side, 1)]


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


@helper
def record_all(model, work, theta, out):
    """Write a draw: the rows in theta, and what the work holds."""
    rows = theta[: n_theta_rows(model) * width(model)]
    hyper, links, first = work.hyper.reshape(-1), work.links.reshape(-1), 0
    for part in (rows, hyper, work.noise, links):
        for j in range(part.size):
            out[first + j] = part[j]
        first += part.size


@entry_point
def _fill_scores(model, work, theta, out):
    x = as_matrix(theta, width(model))
    for first in range(0, out.size, CHUNK):
        block = fill_rows(work.block, first, out.size)
        r = scores(model, work, x, block)
        for b in range(block.size):
            out[first + b] = r[b]


@entry_point
def largest_curvature(model, work, theta, unit, guess, n_iter):
    """Return the largest eigenvalue of the Hessian of -log p in `unit`, by iteration.

    The Gauss-Newton Hessian of the rows; other parameters, which touch every row, are
    left out. `guess`, where the iteration starts, becomes the eigenvector.
    """
    n, q = n_theta_rows(model), width(model)
    v = guess[: n * q]
    direction, out = np.zeros_like(theta), np.empty_like(theta)
    for _ in range(n_iter):
        size = math.sqrt(np.sum(v * v))
        out[:] = 0.0
        add_row_prior_hessian(model, work, as_matrix(out, q))
        for k in range(v.size):
            direction[k] = unit[k] * v[k] / size
            out[k] *= direction[k]
        apply_curvature(model, work, theta, direction, out)
        for k in range(v.size):
            v[k] = unit[k] * out[k]
    return math.sqrt(np.sum(v * v))


@kernel_op
def apply_curvature(model, work, theta, direction, out):
    """Add the Gauss-Newton Hessian of the log-likelihood times `direction` to `out`."""
    raise NotImplementedError


@apply_curvature.register(MatrixFactorization)
def _(model, work, theta, direction, out):
    q, weights = width(model), model.weights
    x, v, g = as_matrix(theta, q), as_matrix(direction, q), as_matrix(out, q)
    common, own, pairs = work.noise[0], work.noise[1:], model.pairs
    for first in range(0, model.y.size, CHUNK):
        block = fill_rows(work.block, first, model.y.size)
        change = mean_changes(model, work, x, v, block)
        for b in range(block.size):
            change[b] *= common * own[pairs[block[b], 0]] * own[pairs[block[b], 1]]
            if weights.size:
                change[b] *= weights[block[b]]
        add_slopes(model, x, block, change, g)


@helper
def mean_changes(model, work, x, v, block):
    """Return the derivatives in direction v of the means of a block."""
    pairs, d, q, out = model.pairs, model.n_factors, x.shape[1], work.residual
    for b in range(block.size):
        i, j = pairs[block[b], 0], pairs[block[b], 1]
        total = x.dtype.type(0.0)
        for f in range(d):
            total += x[i, f] * v[j, f] + v[i, f] * x[j, f]
        for f in range(d, q):
            total += v[i, f] + v[j, f]
        out[b] = total
    add_further_means(model, x, v, block, out[: block.size])
    return out[: block.size]
