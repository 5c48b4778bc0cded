"""Sweeps of Gibbs sampling: all users, all items, and all other unknowns, in turn.

    x_i | rest ~ N(A^-1 b, A^-1),    A = diag(lambda) + sum_k w_k v_k v_k',
    b = lambda mean_i + sum_k w_k (y_k - c_j) v_k,

over the ratings k of user i, with v_k = (V_j, 1) and w_k = alpha s_i t_j, and the same
for items. A sweep costs a few times as much as a gradient, but takes chains much
further: from random factors to the posterior in a few sweeps.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import entry_point, helper
from skbayes_sg.kernels.models.matrix_factorization_conditionals import (
    draw_links_and_noise,
    draw_row_priors,
)
from skbayes_sg.kernels.models.matrix_factorization_rows import as_matrix, width
from skbayes_sg.kernels.numerics.short_rows import add_row, dot_rows

BLOCK = 256  # ratings whose products are summed at once


class Side(NamedTuple):
    """The ratings in the order of users, or of items, in which memory reads them."""

    others: np.ndarray  # (N,) int32: rows of the items, or of the users
    y: np.ndarray  # (N,)
    weights: np.ndarray  # (N,), or (0,)
    starts: np.ndarray  # (n + 1,) where those of each user or item start, and the end


@entry_point
def draw_rows(model, work, theta, side, rated, first, last, rng):
    """Draw rows `first` to `last` of theta, of users (side 0) or items (side 1).

    `rated` is the `Side` of these. Rows of one side are independent, so that several
    threads may draw parts of them at the same time.
    """
    x, q = as_matrix(theta, width(model)), width(model)
    moments = np.zeros((2, q + 1, q + 1), theta.dtype)
    block = np.zeros((BLOCK, q + 1), theta.dtype)
    for row in range(first, last):
        _condition(model, work, x, side, row, rated, block, moments)
        _draw(moments[0], rng, x[row])


@entry_point
def draw_others(model, work, theta, rng):
    """Draw all other unknowns of a model without further columns."""
    x = as_matrix(theta, width(model))
    draw_row_priors(model, work, x, 1.0, rng)
    draw_links_and_noise(model, work, x, 1.0, rng)


@helper
def _condition(model, work, x, side, row, rated, block, moments):
    """Write A, and b as its last row, of a row of theta to moments[0].

    They are the sum of products of the rows sqrt(w) (v, y - c) of a block.
    """
    q, d, weights, own = x.shape[1], model.n_factors, rated.weights, work.noise[1:]
    total, product = moments[0], moments[1]
    place = row if side == 0 else row - model.n_users
    begin, end = rated.starts[place], rated.starts[place + 1]
    total[:] = 0.0
    for f in range(q):
        inverse = work.hyper[side, 1, f]
        total[f, f] = inverse
        total[q, f] = inverse * work.mean[row, f]
    strength = work.noise[0] * own[row]
    for first in range(begin, end, BLOCK):
        size = min(BLOCK, end - first)
        part = block[:size]
        part[:] = 0.0
        for b in range(size):
            j, r = rated.others[first + b], rated.y[first + b]
            w = strength * own[j]
            if weights.size:
                w *= weights[first + b]
            root = math.sqrt(w)
            add_row(root, x, j, d, part, b)
            for f in range(d, q):
                part[b, f] = root
                r -= x[j, f]
            part[b, q] = root * r
        np.dot(part.T, part, product)
        for f in range(q + 1):
            for g in range(q + 1):
                total[f, g] += product[f, g]


@helper
def _draw(moments, rng, out):
    """Write a draw from N(A^-1 b, A^-1); A becomes its Cholesky factor."""
    q = out.size
    for i in range(q + 1):
        for j in range(min(i, q)):
            value = moments[i, j] - dot_rows(moments, i, moments, j, j)
            moments[i, j] = value / moments[j, j]
        if i < q:
            square = dot_rows(moments, i, moments, i, i)
            moments[i, i] = math.sqrt(moments[i, i] - square)
    for f in range(q):
        out[f] = moments[q, f] + rng.standard_normal()
    for i in range(q - 1, -1, -1):
        out[i] /= moments[i, i]
        for j in range(i):
            out[j] -= moments[i, j] * out[i]
