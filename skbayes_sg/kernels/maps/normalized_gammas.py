"""Simplexes as shares of positive numbers: x_j = v_j / R, R = sum_j v_j.

Each v_j = s_j^2 / 2 with s_j = log(1 + exp u_j), so that all K parts are free, one more
than a simplex has. R, which says nothing of x, is given the law Gamma(S), and

    log|det J| = (S - K) log R - R + sum_j log dv_j / du_j

stands for the density of R and the Jacobian. If x has the law Dirichlet(a), and S is
the sum of all a_j, then the v_j are independent Gamma(a_j). The root of a Gamma
variable is close to Gaussian even where a_j is 1, the law of a transition that was
never seen under a flat prior, whereas its logarithm, as in `AdditiveLogRatio`, is
skewed: Langevin dynamics with step sizes that are stable need 24 relaxation times of
the Gaussian for a_j = 1 in logarithms, and 1.4 in u. A total S that is wrong by a
factor of two or three costs little.
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
    n_redundant,
    unconstrain,
)
from skbayes_sg.kernels.numerics.logistic import log1p_exp, sigmoid

LEAST_PART = 1e-100


class NormalizedGammas(NamedTuple):
    """Simplexes of K positive parts each, with K free numbers each."""

    n_parts: int  # K
    totals: np.ndarray  # (n_simplexes,) S, the counts and prior weights of a simplex


@n_free.register(NormalizedGammas)
def _(map_):
    return map_.n_parts * map_.totals.size


@n_constrained.register(NormalizedGammas)
def _(map_):
    return map_.n_parts * map_.totals.size


@n_redundant.register(NormalizedGammas)
def _(map_):
    return map_.totals.size


@constrain.register(NormalizedGammas)
def _(map_, u, out):
    k = map_.n_parts
    for first in range(0, u.size, k):
        total = 0.0
        for j in range(first, first + k):
            s = log1p_exp(u[j])
            out[j] = 0.5 * s * s
            total += out[j]
        for j in range(first, first + k):
            out[j] /= total


@add_pulled_back.register(NormalizedGammas)
def _(map_, u, x, g, share, out):
    k = map_.n_parts
    for i in range(map_.totals.size):
        total, mean = 0.0, 0.0
        for j in range(i * k, i * k + k):
            s = log1p_exp(u[j])
            total += 0.5 * s * s
            mean += x[j] * g[j]
        of_total = share * ((map_.totals[i] - k) / total - 1.0)
        for j in range(i * k, i * k + k):
            s, slope = log1p_exp(u[j]), sigmoid(u[j])
            out[j] += s * slope * ((g[j] - mean) / total + of_total)
            out[j] += share * (slope / s + 1.0 - slope)


@log_jacobian.register(NormalizedGammas)
def _(map_, u, x):
    k, value = map_.n_parts, 0.0
    for i in range(map_.totals.size):
        total = 0.0
        for j in range(i * k, i * k + k):
            s = log1p_exp(u[j])
            total += 0.5 * s * s
            value += math.log(s) - log1p_exp(-u[j])
        value += (map_.totals[i] - k) * math.log(total) - total
    return value


@unconstrain.register(NormalizedGammas)
def _(map_, x):
    parts = np.maximum(x.reshape(-1, map_.n_parts), LEAST_PART)
    s = np.sqrt(2.0 * map_.totals[:, None] * parts).ravel()
    return s + np.log(-np.expm1(-s))
