"""Correlation matrices by a Cholesky factor with rows of length one.

Row i of L is (u_i1, ..., u_i,i-1, 1) / s_i with s_i^2 = 1 + sum_j u_ij^2, and R = L L',

    log|det J| = -(d + 1) sum_i log s_i

so that a flat density of R is a product of Student-like densities of the rows of u.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
    n_constrained,
    n_free,
    unconstrain,
)
from skbayes_sg.kernels.generic import helper


class Correlation(NamedTuple):
    """A d x d correlation matrix, its d^2 numbers by rows."""

    dim: int  # d


@n_free.register(Correlation)
def _(map_):
    return map_.dim * (map_.dim - 1) // 2


@n_constrained.register(Correlation)
def _(map_):
    return map_.dim * map_.dim


@helper
def _raw(u, i, j):
    """Return s_i L_ij, j <= i."""
    return u[i * (i - 1) // 2 + j] if j < i else 1.0


@helper
def _length(u, i):
    """Return s_i."""
    total = 1.0
    for j in range(i):
        total += _raw(u, i, j) ** 2
    return math.sqrt(total)


@constrain.register(Correlation)
def _(map_, u, out):
    d = map_.dim
    for i in range(d):
        for j in range(i):
            total = 0.0
            for k in range(j + 1):
                total += _raw(u, i, k) * _raw(u, j, k)
            out[i * d + j] = total / (_length(u, i) * _length(u, j))
            out[j * d + i] = out[i * d + j]
        out[i * d + i] = 1.0


@helper
def _slope(d, u, g, i, j):
    """Return the derivative in L_ij, ((G + G') L)_ij."""
    total = 0.0
    for k in range(j, d):
        total += (g[i * d + k] + g[k * d + i]) * _raw(u, k, j) / _length(u, k)
    return total


@add_pulled_back.register(Correlation)
def _(map_, u, x, g, share, out):
    d = map_.dim
    for i in range(1, d):
        s, along = _length(u, i), 0.0
        for j in range(i + 1):
            along += _slope(d, u, g, i, j) * _raw(u, i, j) / s
        for j in range(i):
            unit = _raw(u, i, j) / s
            slope = _slope(d, u, g, i, j) - along * unit
            out[i * (i - 1) // 2 + j] += (slope - share * (d + 1) * unit) / s


@log_jacobian.register(Correlation)
def _(map_, u, x):
    total = 0.0
    for i in range(1, map_.dim):
        total -= (map_.dim + 1) * math.log(_length(u, i))
    return total


@unconstrain.register(Correlation)
def _(map_, x):
    factor = np.linalg.cholesky(x.reshape(map_.dim, map_.dim))
    return (factor / np.diag(factor)[:, None])[np.tril_indices(map_.dim, -1)]
