"""Bayesian probabilistic matrix factorisation (Salakhutdinov & Mnih, 2008).

    y_k ~ N(U_i . V_j + b_i + c_j, 1 / (alpha s_i t_j)),   rating k, of item j by user i
    x_i = (U_i, b_i) ~ N(m + B' z_i, diag(lambda)^-1),     features z_i, if any

Items have a prior of the same form with m, lambda and B of their own. Each rating is a
row of the data, so N/n scales the likelihood alone. Packing of theta, for d factors and
width q = d + 1 (d without biases):

    | block       | shape        |                                              |
    |-------------|--------------|----------------------------------------------|
    | users       | (n_users, q) | U_i, then b_i                                |
    | items       | (n_items, q) | V_j, then c_j                                |
    | hyper       | (2, 2, q)    | m and log lambda of users, of items; only    |
    |             |              | with ``prior.on_log_scale``                  |

The other unknowns live in the work, and are drawn from their conjugate conditionals
every `refresh_every` iterations: see `matrix_factorization_conditionals`. A recorded
draw is

    users, items, (m, lambda) of users and of items, (alpha, s, t), B of users, of items
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.ops import (
    add_difference,
    add_gradient,
    add_hessian_diagonal,
    add_prior_gradient,
    add_prior_hessian_diagonal,
    entry_point,
    helper,
    init_anchor,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    parameter_dtype,
    record,
)
from skbayes_sg.kernels.passes import each_row, fill_rows
from skbayes_sg.kernels.rows import CSRRows

BLOCK = 256  # ratings whose residuals are held at once


class RowPrior(NamedTuple):
    """The prior of the rows of both sides, and where its unknowns start."""

    start: np.ndarray  # (2, 2, q): m and lambda of users, of items
    shape: float  # of lambda ~ Gamma(shape, rate)
    rate: np.ndarray  # (q,)
    learns: bool
    on_log_scale: bool  # m and log lambda are part of theta


class RatingNoise(NamedTuple):
    """The precisions of the ratings."""

    precision: float  # alpha, or where it starts
    rate: float  # of alpha ~ Gamma(1, rate)
    learns: bool
    dof: float  # s_i, t_j ~ Gamma(dof / 2, dof / 2); 0: all are 1


class MatrixFactorization(NamedTuple):
    """Ratings, features of users and items, and priors."""

    pairs: np.ndarray  # (N, 2) int32: the row of the user, n_users + that of the item
    y: np.ndarray  # (N,) ratings, centred
    weights: np.ndarray  # (N,), or (0,) when all are 1
    n_users: int
    n_items: int
    n_factors: int  # d
    biases: bool
    user_features: CSRRows  # transposed, (p, n_users); p = 0 when there are none
    item_features: CSRRows
    prior: RowPrior
    noise: RatingNoise
    refresh_every: int


class FactorizationWork(NamedTuple):
    """The unknowns that are not part of theta."""

    hyper: np.ndarray  # (2, 2, q)
    user_mean: np.ndarray  # (n_users, q) m + B' z_i; no rows without features
    item_mean: np.ndarray
    user_links: np.ndarray  # (p, q) B
    item_links: np.ndarray
    link_precision: np.ndarray  # (2,) kappa
    noise: np.ndarray  # (1 + n_users + n_items,) alpha, s, t
    block: np.ndarray  # (2, BLOCK) buffer: residuals and precisions
    rows: np.ndarray  # (BLOCK,) buffer of row indices
    sums: np.ndarray  # (2, max(n_users, n_items)) float64 buffer
    count: np.ndarray  # (2,) int64: iterations and refreshes so far


class FactorizationAnchor(NamedTuple):
    """What a control variate remembers of its centre."""

    theta: np.ndarray
    r: np.ndarray  # (N,) d log f_k / d mean_k


def no_features(n, dtype=np.float64):
    """Return the features of a side of `n` rows that has none."""
    return CSRRows(np.empty(0, dtype), np.empty(0, np.int32), np.zeros(1, np.int64), n)


@n_parameters.register(MatrixFactorization)
def _(model):
    q = width(model)
    rows = (model.n_users + model.n_items) * q
    return rows + 4 * q if model.prior.on_log_scale else rows


@n_rows.register(MatrixFactorization)
def _(model):
    return model.y.size


@parameter_dtype.register(MatrixFactorization)
def _(model):
    return model.y.dtype


@init_work.register(MatrixFactorization)
def _(model):
    dtype, q = model.y.dtype, width(model)
    links, means = [], []
    for side, features in enumerate((model.user_features, model.item_features)):
        p, n = features.indptr.size - 1, features.n_features
        links.append(np.zeros((p, q), dtype))
        means.append(np.tile(model.prior.start[side, 0], (n if p else 0, 1)))
    return FactorizationWork(
        hyper=model.prior.start.astype(dtype),
        user_mean=means[0].astype(dtype),
        item_mean=means[1].astype(dtype),
        user_links=links[0],
        item_links=links[1],
        link_precision=np.ones(2, dtype),
        noise=np.concatenate(
            ([model.noise.precision], np.ones(model.n_users + model.n_items))
        ).astype(dtype),
        block=np.zeros((2, BLOCK), dtype),
        rows=each_row()[:BLOCK],
        sums=np.zeros((2, max(model.n_users, model.n_items))),
        count=np.zeros(2, np.int64),
    )


@add_gradient.register(MatrixFactorization)
def _(model, work, theta, idx, scale, out):
    pairs, d, q = model.pairs, model.n_factors, width(model)
    x, g = as_rows(model, theta), as_rows(model, out)
    for first in range(0, idx.size, BLOCK):
        block = idx[first : first + BLOCK]
        r = scores(model, work, theta, block)
        for b in range(block.size):
            i, j = pairs[block[b], 0], pairs[block[b], 1]
            u, v, gu, gv = x[i], x[j], g[i], g[j]
            rb = theta.dtype.type(scale) * r[b]
            for f in range(d):
                uf, vf = u[f], v[f]
                gu[f] += rb * vf
                gv[f] += rb * uf
            for f in range(d, q):
                gu[f] += rb
                gv[f] += rb


@add_difference.register(MatrixFactorization)
def _(model, work, theta, anchor, idx, scale, out):
    # The anchor's scores keep the noise precisions that it was made with: its full
    # gradient did, and the two must cancel in the mean, whatever alpha is now.
    pairs, d, q = model.pairs, model.n_factors, width(model)
    x, g = as_rows(model, theta), as_rows(model, out)
    center, r_center = as_rows(model, anchor.theta), anchor.r
    for first in range(0, idx.size, BLOCK):
        block = idx[first : first + BLOCK]
        r = scores(model, work, theta, block)
        for b in range(block.size):
            i, j = pairs[block[b], 0], pairs[block[b], 1]
            rb, r0 = scale * r[b], scale * r_center[block[b]]
            for f in range(d):
                g[i, f] += rb * x[j, f] - r0 * center[j, f]
                g[j, f] += rb * x[i, f] - r0 * center[i, f]
            for f in range(d, q):
                g[i, f] += rb - r0
                g[j, f] += rb - r0


@init_anchor.register(MatrixFactorization)
def _(model, work, theta):
    r = np.empty(model.y.size, theta.dtype)
    _fill_scores(model, work, theta, r)
    return FactorizationAnchor(theta.copy(), r)


@log_likelihood.register(MatrixFactorization)
def _(model, work, theta, idx):
    total = 0.0
    for first in range(0, idx.size, BLOCK):
        block = idx[first : first + BLOCK]
        residual, alpha = residuals(model, work, theta, block)
        for b in range(block.size):
            w = model.weights[block[b]] if model.weights.size else 1.0
            total += 0.5 * w * (math.log(alpha[b]) - alpha[b] * residual[b] ** 2)
    return total


@add_hessian_diagonal.register(MatrixFactorization)
def _(model, work, theta, idx, scale, out):
    # The Gauss-Newton part; that of the residuals has mean zero.
    pairs, d, q = model.pairs, model.n_factors, width(model)
    x, diagonal = as_rows(model, theta), as_rows(model, out)
    for first in range(0, idx.size, BLOCK):
        block = idx[first : first + BLOCK]
        alpha = residuals(model, work, theta, block)[1]
        for b in range(block.size):
            i, j = pairs[block[b], 0], pairs[block[b], 1]
            w = model.weights[block[b]] if model.weights.size else 1.0
            for f in range(d):
                diagonal[i, f] += scale * w * alpha[b] * x[j, f] ** 2
                diagonal[j, f] += scale * w * alpha[b] * x[i, f] ** 2
            for f in range(d, q):
                diagonal[i, f] += scale * w * alpha[b]
                diagonal[j, f] += scale * w * alpha[b]


@add_prior_gradient.register(MatrixFactorization)
def _(model, work, theta, out):
    read_hyper(model, work, theta)
    for side in range(2):
        x, g = side_rows(model, theta, side), side_rows(model, out, side)
        hyper, mean = work.hyper[side], side_mean(work, side)
        for i in range(x.shape[0]):
            m = mean[i] if mean.size else hyper[0]
            for f in range(x.shape[1]):
                g[i, f] += hyper[1, f] * (m[f] - x[i, f])
        if model.prior.on_log_scale:
            tail = _side_hyper(model, out, side)
            for f in range(x.shape[1]):
                m, s, _, _ = _hyper_derivatives(model, work, theta, side, f)
                tail[0, f] += m
                tail[1, f] += s


@log_prior.register(MatrixFactorization)
def _(model, work, theta):
    read_hyper(model, work, theta)
    total = 0.0
    for side in range(2):
        for f in range(width(model)):
            count, _, squares = deviations(model, work, theta, side, f)
            m, inverse = work.hyper[side, 0, f], work.hyper[side, 1, f]
            total += 0.5 * (count * math.log(inverse) - inverse * squares)
            if model.prior.on_log_scale:
                # N(m | 0, 1 / lambda), and the Gamma with the Jacobian of log lambda.
                total += (0.5 + model.prior.shape) * math.log(inverse)
                total -= inverse * (0.5 * m * m + model.prior.rate[f])
    return total


@add_prior_hessian_diagonal.register(MatrixFactorization)
def _(model, work, theta, out):
    read_hyper(model, work, theta)
    for side in range(2):
        part = side_rows(model, out, side)
        for i in range(part.shape[0]):
            for f in range(part.shape[1]):
                part[i, f] += work.hyper[side, 1, f]
        if model.prior.on_log_scale:
            tail = _side_hyper(model, out, side)
            for f in range(part.shape[1]):
                _, _, m, s = _hyper_derivatives(model, work, theta, side, f)
                tail[0, f] += m
                tail[1, f] += s


@n_recorded.register(MatrixFactorization)
def _(model):
    rows = model.n_users + model.n_items
    links = n_links(model.user_features) + n_links(model.item_features)
    return (rows + 4 + links) * width(model) + 1 + rows


@record.register(MatrixFactorization)
def _(model, work, theta, out):
    read_hyper(model, work, theta)
    first = (model.n_users + model.n_items) * width(model)
    out[:first] = theta[:first]
    for part in (
        work.hyper.reshape(-1),
        work.noise,
        work.user_links.reshape(-1),
        work.item_links.reshape(-1),
    ):
        out[first : first + part.size] = part
        first += part.size


@helper
def width(model):
    """Return q, the number of parameters of a user or an item."""
    return model.n_factors + 1 if model.biases else model.n_factors


@helper
def n_links(features):
    """Return p, the number of features of a side."""
    return features.indptr.size - 1


@helper
def as_rows(model, theta):
    """Return theta as the rows of all users, of all items, and of `hyper`, (., q)."""
    q = width(model)
    return theta.reshape(theta.size // q, q)


@helper
def side_rows(model, theta, side):
    """Return the rows of users (side 0) or of items (side 1), (n, q)."""
    x, n = as_rows(model, theta), model.n_users
    return x[:n] if side == 0 else x[n : n + model.n_items]


@helper
def side_mean(work, side):
    """Return m + B' z_i of a side, (n, q), or no rows where there are no features."""
    return work.user_mean if side == 0 else work.item_mean


@helper
def side_links(work, side):
    """Return B of a side, (p, q)."""
    return work.user_links if side == 0 else work.item_links


@helper
def residuals(model, work, theta, block):
    """Return y_k - U_i . V_j - b_i - c_j and alpha s_i t_j of a block of ratings."""
    pairs, d, q, y = model.pairs, model.n_factors, width(model), model.y
    x = as_rows(model, theta)
    residual, alpha = work.block[0, : block.size], work.block[1, : block.size]
    common, own = work.noise[0], work.noise[1:]
    for b in range(block.size):
        i, j = pairs[block[b], 0], pairs[block[b], 1]
        u, v = x[i], x[j]
        total = theta.dtype.type(0.0)
        for f in range(d):
            total += u[f] * v[f]
        for f in range(d, q):  # a branch here would keep LLVM from vectorising
            total += u[f] + v[f]
        residual[b] = y[block[b]] - total
        alpha[b] = common * own[i] * own[j]
    return residual, alpha


@helper
def scores(model, work, theta, block):
    """Return the weighted derivatives of log f_k by its mean, of a block of ratings."""
    residual, alpha = residuals(model, work, theta, block)
    weights = model.weights
    for b in range(block.size):
        residual[b] *= alpha[b]
        if weights.size:
            residual[b] *= weights[block[b]]
    return residual


@helper
def read_hyper(model, work, theta):
    """Bring the work's m and lambda up to date where theta holds them."""
    if not model.prior.on_log_scale:
        return
    for side in range(2):
        tail, hyper, mean = (
            _side_hyper(model, theta, side),
            work.hyper[side],
            side_mean(work, side),
        )
        for f in range(tail.shape[1]):
            for i in range(mean.shape[0]):
                mean[i, f] += tail[0, f] - hyper[0, f]
            hyper[0, f] = tail[0, f]
            hyper[1, f] = math.exp(tail[1, f])


@helper
def deviations(model, work, theta, side, f):
    """Return what column f of a side tells of m and lambda.

    The number of rows and links, the sum of the rows' deviations from their prior mean,
    and the sum of squares of the deviations and of sqrt(kappa) B.
    """
    x, mean, links = (
        side_rows(model, theta, side),
        side_mean(work, side),
        side_links(work, side),
    )
    total, squares = 0.0, 0.0
    for i in range(x.shape[0]):
        m = mean[i, f] if mean.size else work.hyper[side, 0, f]
        total += x[i, f] - m
        squares += (x[i, f] - m) ** 2
    for z in range(links.shape[0]):
        squares += work.link_precision[side] * links[z, f] ** 2
    return x.shape[0] + links.shape[0], total, squares


@helper
def _hyper_derivatives(model, work, theta, side, f):
    """Return d/dm and d/dlog lambda of the log prior, and minus the second ones."""
    n = model.n_users if side == 0 else model.n_items
    count, total, squares = deviations(model, work, theta, side, f)
    m, inverse = work.hyper[side, 0, f], work.hyper[side, 1, f]
    decay = inverse * (0.5 * (squares + m * m) + model.prior.rate[f])
    growth = 0.5 * (count + 1) + model.prior.shape
    return inverse * (total - m), growth - decay, inverse * (n + 1), decay


@helper
def _side_hyper(model, theta, side):
    """Return m and log lambda of a side, (2, q), where theta holds them."""
    first = model.n_users + model.n_items + 2 * side
    return as_rows(model, theta)[first : first + 2]


@entry_point
def _fill_scores(model, work, theta, out):
    for first in range(0, out.size, BLOCK):
        block = fill_rows(work.rows, first, out.size)
        out[first : first + block.size] = scores(model, work, theta, block)
