"""Numbers of which each has its own bounds, or one, or none.

    none      x = u
    lower     x = low + unit log(1 + exp(u))
    upper     x = high - unit log(1 + exp(u))
    both      x = low + (high - low) sigmoid(u)

Far from a single bound, the map is linear: what was Gaussian stays so.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_map_metric,
    add_pulled_back,
    constrain,
    is_affine,
    log_jacobian,
    n_free,
    unconstrain,
)
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.logistic import log1p_exp, sigmoid


class Bounds(NamedTuple):
    """Bounds of each number, infinite where there are none, and its unit."""

    low: np.ndarray  # (n,)
    high: np.ndarray  # (n,)
    unit: np.ndarray  # (n,)


@n_free.register(Bounds)
def _(map_):
    return map_.low.size


@constrain.register(Bounds)
def _(map_, u, out):
    for j in range(u.size):
        low, high, unit = map_.low[j], map_.high[j], map_.unit[j]
        if low > -np.inf and high < np.inf:
            out[j] = low + (high - low) * sigmoid(u[j])
        elif low > -np.inf:
            out[j] = low + unit * log1p_exp(u[j])
        elif high < np.inf:
            out[j] = high - unit * log1p_exp(u[j])
        else:
            out[j] = u[j]


@helper
def derivatives(map_, u, j):
    """Return dx/du, its derivative, and those of log|dx/du|, of number j."""
    low, high, unit = map_.low[j], map_.high[j], map_.unit[j]
    s, rest = sigmoid(u[j]), sigmoid(-u[j])
    if low > -np.inf and high < np.inf:
        first = (high - low) * s * rest
        return first, first * (rest - s), rest - s, -2.0 * s * rest
    if low == -np.inf and high == np.inf:
        return 1.0, 0.0, 0.0, 0.0
    if low == -np.inf:
        unit = -unit
    return unit * s, unit * s * rest, rest, -s * rest


@add_pulled_back.register(Bounds)
def _(map_, u, x, g, share, out):
    for j in range(u.size):
        first, _, slope, _ = derivatives(map_, u, j)
        out[j] += first * g[j] + share * slope


@log_jacobian.register(Bounds)
def _(map_, u, x):
    total = 0.0
    for j in range(u.size):
        low, high = map_.low[j], map_.high[j]
        if low > -np.inf and high < np.inf:
            total += math.log(high - low) - log1p_exp(u[j]) - log1p_exp(-u[j])
        elif low > -np.inf or high < np.inf:
            total += math.log(map_.unit[j]) - log1p_exp(-u[j])
    return total


@add_map_metric.register(Bounds)
def _(map_, u, out):
    for j in range(u.size):
        if map_.low[j] > -np.inf and map_.high[j] < np.inf:
            out[j] += 1.0
        elif map_.low[j] > -np.inf or map_.high[j] < np.inf:
            out[j] += sigmoid(-u[j]) ** 2  # where u is like a logarithm


@unconstrain.register(Bounds)
def _(map_, x):
    u, tiny = np.array(x, np.float64), 1e-300
    low, high, unit = (np.asarray(field) for field in map_)
    below, above = np.isfinite(low), np.isfinite(high)
    both, one = below & above, below ^ above
    u[both] = np.log(np.maximum(x - low, tiny)[both])
    u[both] -= np.log(np.maximum(high - x, tiny)[both])
    away = np.where(below, x - low, high - x)[one] / unit[one]
    away = np.maximum(away, tiny)
    # log(exp(y) - 1), of large y too
    u[one] = away + np.log(-np.expm1(-away))
    return u


@is_affine.register(Bounds)
def _(map_):
    return not (np.isfinite(map_.low).any() or np.isfinite(map_.high).any())
