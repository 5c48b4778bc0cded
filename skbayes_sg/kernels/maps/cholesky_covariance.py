"""Covariance matrices by their Cholesky factor: S = L L', L_ii = exp(u_ii).

u is the lower triangle of L by rows, with logarithms on its diagonal, and

    log|det J| = d log 2 + sum_i (d - i + 2) u_ii,    i = 1 ... d,    dS -> (G + G') L
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


class CholeskyCovariance(NamedTuple):
    """A d x d covariance matrix, its d^2 numbers by rows."""

    dim: int  # d


@n_free.register(CholeskyCovariance)
def _(map_):
    return map_.dim * (map_.dim + 1) // 2


@n_constrained.register(CholeskyCovariance)
def _(map_):
    return map_.dim * map_.dim


@helper
def _factor(u, i, j):
    """Return L_ij, j <= i."""
    value = u[i * (i + 1) // 2 + j]
    return math.exp(value) if i == j else value


@constrain.register(CholeskyCovariance)
def _(map_, u, out):
    d = map_.dim
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(j + 1):
                total += _factor(u, i, k) * _factor(u, j, k)
            out[i * d + j] = total
            out[j * d + i] = total


@add_pulled_back.register(CholeskyCovariance)
def _(map_, u, x, g, share, out):
    d = map_.dim
    for i in range(d):
        for j in range(i + 1):
            total = 0.0
            for k in range(j, d):
                total += (g[i * d + k] + g[k * d + i]) * _factor(u, k, j)
            if i == j:
                total = total * _factor(u, i, i) + share * (d - i + 1)
            out[i * (i + 1) // 2 + j] += total


@log_jacobian.register(CholeskyCovariance)
def _(map_, u, x):
    d = map_.dim
    total = d * math.log(2.0)
    for i in range(d):
        total += (d - i + 1) * u[i * (i + 1) // 2 + i]
    return total


@unconstrain.register(CholeskyCovariance)
def _(map_, x):
    factor = np.linalg.cholesky(x.reshape(map_.dim, map_.dim))
    np.fill_diagonal(factor, np.log(np.diag(factor)))
    return factor[np.tril_indices(map_.dim)]
