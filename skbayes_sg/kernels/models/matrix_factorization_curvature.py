"""Curvature of matrix factorization: diagonals, and products with the Hessian."""

import math

import numpy as np

from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.data.minibatch import fill_rows
from skbayes_sg.kernels.generic import entry_point, kernel_op
from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_ratings import (
    CHUNK,
    add_slopes,
    mean_changes,
    residuals,
)
from skbayes_sg.kernels.models.matrix_factorization_rows import (
    add_row_prior_hessian,
    as_matrix,
    n_theta_rows,
    width,
)


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


@add_prior_hessian_diagonal.register(MatrixFactorization)
def _(model, work, theta, out):
    add_row_prior_hessian(model, work, as_matrix(out, width(model)))


@kernel_op
def add_squared_slope(model, work, k, x, w, out):
    """Add w times the squared derivatives of the mean of rating k to `out`."""
    d, i, j = model.n_factors, model.pairs[k, 0], model.pairs[k, 1]
    for f in range(d):
        out[i, f] += w * x[j, f] * x[j, f]
        out[j, f] += w * x[i, f] * x[i, f]
    for f in range(d, x.shape[1]):
        out[i, f] += w
        out[j, f] += w


@kernel_op
def apply_curvature(model, work, theta, direction, out):
    """Add the Gauss-Newton Hessian of the log-likelihood times `direction` to `out`."""
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
