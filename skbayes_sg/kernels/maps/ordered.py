"""Increasing numbers: x_1 = u_1, x_k = x_{k-1} + exp(u_k)."""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_map_metric,
    add_pulled_back,
    constrain,
    log_jacobian,
    n_free,
    unconstrain,
)


class Ordered(NamedTuple):
    """Numbers in increasing order."""

    size: int


@n_free.register(Ordered)
def _(map_):
    return map_.size


@constrain.register(Ordered)
def _(map_, u, out):
    out[0] = u[0]
    for j in range(1, u.size):
        out[j] = out[j - 1] + math.exp(u[j])


@add_pulled_back.register(Ordered)
def _(map_, u, x, g, share, out):
    later = 0.0  # the sum of g from j on
    for j in range(u.size - 1, 0, -1):
        later += g[j]
        out[j] += math.exp(u[j]) * later + share
    out[0] += later + g[0]


@log_jacobian.register(Ordered)
def _(map_, u, x):
    total = 0.0
    for j in range(1, u.size):
        total += u[j]
    return total


@add_map_metric.register(Ordered)
def _(map_, u, out):
    for j in range(1, u.size):
        out[j] += 1.0


@unconstrain.register(Ordered)
def _(map_, x):
    return np.concatenate([x[:1], np.log(np.diff(x))])
