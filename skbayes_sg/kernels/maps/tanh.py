"""Coefficients between -1 and 1, as of a stationary autoregression: x = tanh(u)."""

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
from skbayes_sg.kernels.numerics.logistic import log1p_exp


class Tanh(NamedTuple):
    """Numbers between -1 and 1 on Fisher's z scale."""

    size: int


@n_free.register(Tanh)
def _(map_):
    return map_.size


@constrain.register(Tanh)
def _(map_, u, out):
    for j in range(u.size):
        out[j] = math.tanh(u[j])


@add_pulled_back.register(Tanh)
def _(map_, u, x, g, share, out):
    for j in range(u.size):
        out[j] += (1.0 - x[j] * x[j]) * g[j] - share * 2.0 * x[j]


@log_jacobian.register(Tanh)
def _(map_, u, x):
    total = 0.0
    for j in range(u.size):  # 1 - tanh(u)^2 = 4 sigmoid(2 u) sigmoid(-2 u)
        total += math.log(4.0) - log1p_exp(2.0 * u[j]) - log1p_exp(-2.0 * u[j])
    return total


@unconstrain.register(Tanh)
def _(map_, x):
    return np.arctanh(x)
