"""Positive numbers with a milder tail: x = log(1 + exp(u)), s = dx/du = sigmoid(u)."""

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
from skbayes_sg.kernels.numerics.logistic import log1p_exp, sigmoid


class Softplus(NamedTuple):
    """Positive numbers, on a scale that is linear where they are large."""

    size: int


@n_free.register(Softplus)
def _(map_):
    return map_.size


@constrain.register(Softplus)
def _(map_, u, out):
    for j in range(u.size):
        out[j] = log1p_exp(u[j])


@add_pulled_back.register(Softplus)
def _(map_, u, x, g, share, out):
    for j in range(u.size):
        s = sigmoid(u[j])
        out[j] += s * g[j] + share * (1.0 - s)


@log_jacobian.register(Softplus)
def _(map_, u, x):
    total = 0.0
    for j in range(u.size):
        total -= log1p_exp(-u[j])
    return total


@add_map_metric.register(Softplus)
def _(map_, u, out):
    for j in range(u.size):
        out[j] += sigmoid(-u[j]) ** 2  # where u is like log x


@unconstrain.register(Softplus)
def _(map_, x):
    return x + np.log(-np.expm1(-x))
