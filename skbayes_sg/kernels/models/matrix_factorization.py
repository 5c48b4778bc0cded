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
from skbayes_sg.kernels.capabilities.theta_blocks import (
    block_prior,
    block_width,
    blocks_of,
)
from skbayes_sg.kernels.data.minibatch import fill_rows, row_buffer
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.models.matrix_factorization_ratings import (
    CHUNK,
    add_slopes,
    residuals,
    scores,
)
from skbayes_sg.kernels.models.matrix_factorization_rows import (
    add_row_prior_gradient,
    as_matrix,
    n_theta_rows,
    row_log_prior,
    width,
)
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    needs_refresh,
    parameter_dtype,
)


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
    squares: np.ndarray  # (N,) of residuals, weighted
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
        squares=np.zeros(model.y.size, dtype),
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


@add_prior_gradient.register(MatrixFactorization)
def _(model, work, theta, out):
    q = width(model)
    add_row_prior_gradient(model, work, as_matrix(theta, q), as_matrix(out, q))


@log_prior.register(MatrixFactorization)
def _(model, work, theta):
    return row_log_prior(model, work, as_matrix(theta, width(model)))


@needs_refresh.register(MatrixFactorization)
def _(model, t):
    return (t + 1) % model.refresh_every == 0


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


@entry_point
def _fill_scores(model, work, theta, out):
    x = as_matrix(theta, width(model))
    for first in range(0, out.size, CHUNK):
        block = fill_rows(work.block, first, out.size)
        r = scores(model, work, x, block)
        for b in range(block.size):
            out[first + b] = r[b]
