"""Matrix factorization of what users chose: every pair of user and item is an outcome.

    y_ij ~ N(U_i . V_j, 1 / (alpha w_ij)),   y_ij = 1 if i chose j, with weight w_ij,
                                             else 0, with weight c

Rows of the data are the choices. What all n m pairs would add to the log posterior if
none were chosen needs no loop over them (Hu, Koren & Volinsky, 2008),

    c sum_ij (U_i . V_j)^2 = c trace(U'U V'V),

so it belongs to the part that does not depend on the rows, the prior's, and a row adds
the difference that its choice makes. Draws are those of `matrix_factorization` without
biases, and with one alpha for all pairs.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.data.minibatch import fill_rows
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_conditionals import (
    draw_links,
    draw_row_priors,
)
from skbayes_sg.kernels.models.matrix_factorization_curvature import apply_curvature
from skbayes_sg.kernels.models.matrix_factorization_ratings import (
    CHUNK,
    add_slopes,
    mean_changes,
    residuals,
    scores,
)
from skbayes_sg.kernels.models.matrix_factorization_rows import (
    add_row_prior_gradient,
    add_row_prior_hessian,
    as_matrix,
    row_log_prior,
    width,
)
from skbayes_sg.kernels.protocol.model import (
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    refresh,
)
from skbayes_sg.kernels.protocol.target import locate


class ImplicitFactorization(MatrixFactorization):
    """The same data and priors; `noise.unobserved` is c, `weights` are those of 1s."""


class ImplicitWork(NamedTuple):
    """`FactorizationWork`, and buffers for sums over all pairs."""

    hyper: np.ndarray
    mean: np.ndarray
    links: np.ndarray
    kappa: np.ndarray
    noise: np.ndarray
    squares: np.ndarray
    residual: np.ndarray
    alpha: np.ndarray
    block: np.ndarray
    moments: np.ndarray
    sums: np.ndarray
    gram: np.ndarray  # (3, d, d)
    product: np.ndarray  # (max(n_users, n_items), d)


@init_work.register(ImplicitFactorization)
def _(model):
    d, dtype = model.n_factors, model.y.dtype
    work = init_work.dispatch(MatrixFactorization)(model)
    product = np.zeros((max(model.n_users, model.n_items), d), dtype)
    return ImplicitWork(*work, np.zeros((3, d, d), dtype), product)


@scores.register(ImplicitFactorization)
def _(model, work, x, block):
    residual, alpha = residuals(model, work, x, block)
    weights, y, c = model.weights, model.y, model.noise.unobserved
    for b in range(block.size):
        w = weights[block[b]] if weights.size else 1.0
        fit = y[block[b]] - residual[b]
        residual[b] = alpha[b] * (w * residual[b] + c * fit)
    return residual


@log_likelihood.register(ImplicitFactorization)
def _(model, work, theta, idx):
    c, weights, total = model.noise.unobserved, model.weights, 0.0
    x = as_matrix(theta, model.n_factors)
    for first in range(0, idx.size, CHUNK):
        block = idx[first : first + CHUNK]
        residual, alpha = residuals(model, work, x, block)
        for b in range(block.size):
            w = weights[block[b]] if weights.size else 1.0
            fit = model.y[block[b]] - residual[b]
            total += 0.5 * (w - c) * math.log(alpha[b])
            total -= 0.5 * alpha[b] * (w * residual[b] ** 2 - c * fit**2)
    return total


@add_hessian_diagonal.register(ImplicitFactorization)
def _(model, work, theta, idx, scale, out):
    pairs, d, weights = model.pairs, model.n_factors, model.weights
    x, diagonal = as_matrix(theta, d), as_matrix(out, d)
    for b in range(idx.size):
        i, j = pairs[idx[b], 0], pairs[idx[b], 1]
        w = weights[idx[b]] if weights.size else 1.0
        w = scale * work.noise[0] * (w - model.noise.unobserved)
        for f in range(d):
            diagonal[i, f] += w * x[j, f] * x[j, f]
            diagonal[j, f] += w * x[i, f] * x[i, f]


@add_prior_gradient.register(ImplicitFactorization)
def _(model, work, theta, out):
    d = model.n_factors
    x, g = as_matrix(theta, d), as_matrix(out, d)
    add_row_prior_gradient(model, work, x, g)
    _grams(model, work, x)
    _add_products(model, work, x, -_strength(model, work), g)


@log_prior.register(ImplicitFactorization)
def _(model, work, theta):
    x, d = as_matrix(theta, model.n_factors), model.n_factors
    _grams(model, work, x)
    value = row_log_prior(model, work, x)
    for a in range(d):
        for b in range(d):
            product = work.gram[0, a, b] * work.gram[1, a, b]
            value -= 0.5 * _strength(model, work) * product
    pairs = model.noise.unobserved * model.n_users * model.n_items
    return value + 0.5 * pairs * math.log(work.noise[0])


@add_prior_hessian_diagonal.register(ImplicitFactorization)
def _(model, work, theta, out):
    d, n = model.n_factors, model.n_users
    x, diagonal = as_matrix(theta, d), as_matrix(out, d)
    add_row_prior_hessian(model, work, diagonal)
    _grams(model, work, x)
    for i in range(n + model.n_items):
        for f in range(d):
            other = work.gram[1 if i < n else 0, f, f]
            diagonal[i, f] += _strength(model, work) * other


@apply_curvature.register(ImplicitFactorization)
def _(model, work, theta, direction, out):
    weights, d = model.weights, model.n_factors
    x, v, g = as_matrix(theta, d), as_matrix(direction, d), as_matrix(out, d)
    n, c = model.n_users, model.noise.unobserved
    for first in range(0, model.y.size, CHUNK):
        block = fill_rows(work.block, first, model.y.size)
        change = mean_changes(model, work, x, v, block)
        for b in range(block.size):
            w = weights[block[b]] if weights.size else theta.dtype.type(1.0)
            change[b] *= work.noise[0] * (w - c)
        add_slopes(model, x, block, change, g)
    # Of all pairs: sum_j (dU_i . V_j + U_i . dV_j) V_j, and the same for items.
    _grams(model, work, x)
    strength, cross = _strength(model, work), work.gram[2]
    _add_products(model, work, v, strength, g)
    np.dot(v[n:].T, x[n:], cross)
    _add_product(x[:n], cross, strength, work.product, g[:n])
    np.dot(v[:n].T, x[:n], cross)
    _add_product(x[n:], cross, strength, work.product, g[n:])


@refresh.register(ImplicitFactorization)
def _(model, target, position, rng):
    work, beta = target.work, target.inverse_temperature
    x = as_matrix(locate(target, position), width(model))
    draw_row_priors(model, work, x, beta, rng)
    draw_links(model, work, x, beta, rng)
    if model.noise.learns:
        total, count = _squares(model, work, x)
        rate = beta * (model.noise.rate + 0.5 * total)
        work.noise[0] = rng.standard_gamma(1.0 + 0.5 * beta * count) / rate


@helper
def _squares(model, work, x):
    """Return the weighted squares of all residuals, and the sum of all weights."""
    c, weights, d = model.noise.unobserved, model.weights, model.n_factors
    count = c * model.n_users * model.n_items
    total = 0.0
    _grams(model, work, x)
    for a in range(d):
        for b in range(d):
            total += c * work.gram[0, a, b] * work.gram[1, a, b]
    for first in range(0, model.y.size, CHUNK):
        block = fill_rows(work.block, first, model.y.size)
        residual, _ = residuals(model, work, x, block)
        for b in range(block.size):
            w = weights[block[b]] if weights.size else 1.0
            fit = model.y[block[b]] - residual[b]
            total += w * residual[b] ** 2 - c * fit**2
            count += w - c
    return total, count


@helper
def _strength(model, work):
    """Return alpha c, of the dtype of theta."""
    return work.noise.dtype.type(work.noise[0] * model.noise.unobserved)


@helper
def _grams(model, work, x):
    """Write U'U and V'V to the work."""
    n, end = model.n_users, model.n_users + model.n_items
    np.dot(x[:n].T, x[:n], work.gram[0])
    np.dot(x[n:end].T, x[n:end], work.gram[1])


@helper
def _add_products(model, work, v, scale, out):
    """Add scale * v_i (V'V) to the users' rows of `out`, v_j (U'U) to the items'."""
    n = model.n_users
    _add_product(v[:n], work.gram[1], scale, work.product, out[:n])
    _add_product(v[n:], work.gram[0], scale, work.product, out[n:])


@helper
def _add_product(rows, matrix, scale, buffer, out):
    """Add scale * rows @ matrix to `out`."""
    product = buffer[: rows.shape[0]]
    np.dot(rows, matrix, product)
    for i in range(rows.shape[0]):
        for f in range(rows.shape[1]):
            out[i, f] += scale * product[i, f]
