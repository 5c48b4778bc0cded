"""Coefficients in units of the noise, where rows are too few to tell its size.

With as many coefficients as rows, the noise may be of any size up to that of y: the
less there is of it, the narrower is the posterior around a fit c of all rows. A chain
that moves the coefficients themselves would need tiny steps where it is narrow. Here

    beta = c + u + (s - 1) Q u,    s = exp(-t / 2) the noise's sd,    rest as it is

where the projection Q takes what rows determine. J is triangular: log|J| = r log s, r
the rank of Q.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
    n_free,
    unconstrain,
)
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.exponential import tame_exp

INFORMED = 0.05  # information of a direction, relative to the prior's, if s = 1
FAR = 10.0  # prior sds beyond which noise is the better explanation of a row


class NoiseUnits(NamedTuple):
    """Deviations of K outputs' coefficients, log precisions t_k and others after them.

    Q is left' right.
    """

    size: int  # of theta
    center: np.ndarray  # (K, m) c
    left: np.ndarray  # (r, m)
    right: np.ndarray  # (r, m)


def noise_units(A, y, precision, size):
    """Return the map for rows A, (n, m), targets y, (K, n), prior precisions, (m,)."""
    root = np.sqrt(precision)
    U, d, V = np.linalg.svd(A / root, full_matrices=False)
    known = d**2 > INFORMED
    U, d, V = U[:, known], d[known], V[known]
    center = (y @ U) / d  # in prior sds, along V
    near = (np.abs(center) < FAR).all(axis=0)
    center, V = center[:, near], V[near]
    return NoiseUnits(size, (center @ V) / root, V / root, V * root)


@n_free.register(NoiseUnits)
def _(map_):
    return map_.size


@helper
def _along(rows, i, vector):
    total = 0.0
    for j in range(rows.shape[1]):
        total += rows[i, j] * vector[j]
    return total


@constrain.register(NoiseUnits)
def _(map_, u, out):
    n_outputs, m = map_.center.shape
    for j in range(n_outputs * m, u.size):
        out[j] = u[j]
    for k in range(n_outputs):
        here, there = u[k * m : (k + 1) * m], out[k * m : (k + 1) * m]
        s = tame_exp(-0.5 * u[n_outputs * m + k])
        for j in range(m):
            there[j] = map_.center[k, j] + here[j]
        for i in range(map_.left.shape[0]):
            factor = (s - 1.0) * _along(map_.right, i, here)
            for j in range(m):
                there[j] += factor * map_.left[i, j]


@add_pulled_back.register(NoiseUnits)
def _(map_, u, x, g, share, out):
    n_outputs, m = map_.center.shape
    rank = map_.left.shape[0]
    for j in range(u.size):
        out[j] += g[j]
    for k in range(n_outputs):
        here, t = slice(k * m, (k + 1) * m), n_outputs * m + k
        s = tame_exp(-0.5 * u[t])
        out[t] -= 0.5 * share * rank
        for i in range(rank):
            slope = _along(map_.left, i, g[here])
            out[t] -= 0.5 * s * slope * _along(map_.right, i, u[here])
            for j in range(m):
                out[k * m + j] += (s - 1.0) * slope * map_.right[i, j]


@log_jacobian.register(NoiseUnits)
def _(map_, u, x):
    n_outputs, m = map_.center.shape
    total = 0.0
    for k in range(n_outputs):
        total += u[n_outputs * m + k]
    return -0.5 * map_.left.shape[0] * total


@unconstrain.register(NoiseUnits)
def _(map_, x):
    u = np.array(x)
    n_outputs, m = map_.center.shape
    for k in range(n_outputs):
        away = x[k * m : (k + 1) * m] - map_.center[k]
        stretch = math.exp(0.5 * x[n_outputs * m + k]) - 1.0
        u[k * m : (k + 1) * m] = away + stretch * (map_.right @ away) @ map_.left
    return u
