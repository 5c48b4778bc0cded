"""Intervals: x = low + (high - low) s, s = sigmoid(u), so u is the logit of x.

Langevin in u is mirrored Langevin on the box, see `models.mirrored`.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
    n_free,
    unconstrain,
)
from skbayes_sg.kernels.numerics.logistic import log1p_exp, sigmoid


class Interval(NamedTuple):
    """Numbers between two bounds each."""

    low: np.ndarray  # (n,)
    high: np.ndarray  # (n,)


@n_free.register(Interval)
def _(map_):
    return map_.low.size


@constrain.register(Interval)
def _(map_, u, out):
    for j in range(u.size):
        out[j] = map_.low[j] + (map_.high[j] - map_.low[j]) * sigmoid(u[j])


@add_pulled_back.register(Interval)
def _(map_, u, x, g, share, out):
    for j in range(u.size):
        s, rest = sigmoid(u[j]), sigmoid(-u[j])
        out[j] += (map_.high[j] - map_.low[j]) * s * rest * g[j] + share * (rest - s)


@log_jacobian.register(Interval)
def _(map_, u, x):
    total = 0.0
    for j in range(u.size):
        total += np.log(map_.high[j] - map_.low[j])
        total -= log1p_exp(u[j]) + log1p_exp(-u[j])
    return total


@unconstrain.register(Interval)
def _(map_, x):
    return np.log(x - map_.low) - np.log(map_.high - x)
