"""The simplex by breaking a stick: x_k = z_k r_k, r_{k+1} = (1 - z_k) r_k, r_1 = 1.

z_k = sigmoid(u_k - log(K - k)), so that u = 0 gives equal parts, and

    log|det J| = sum_k log z_k + (K - k) log(1 - z_k)
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
from skbayes_sg.kernels.numerics.logistic import log1p_exp, sigmoid


class StickBreaking(NamedTuple):
    """K positive parts that sum to one, by shares of what is left."""

    n_parts: int  # K


@n_free.register(StickBreaking)
def _(map_):
    return map_.n_parts - 1


@n_constrained.register(StickBreaking)
def _(map_):
    return map_.n_parts


@constrain.register(StickBreaking)
def _(map_, u, out):
    left = 1.0
    for j in range(u.size):
        v = u[j] - math.log(u.size - j)
        out[j] = sigmoid(v) * left
        left *= sigmoid(-v)
    out[u.size] = left


@add_pulled_back.register(StickBreaking)
def _(map_, u, x, g, share, out):
    left, slope = float(x[u.size]), float(g[u.size])  # of x in the last r
    for j in range(u.size - 1, -1, -1):
        v = u[j] - math.log(u.size - j)
        z, rest = sigmoid(v), sigmoid(-v)
        left += x[j]  # r_j, from the end, where it is smallest
        out[j] += left * z * rest * (g[j] - slope) + share * (rest - (u.size - j) * z)
        slope = z * g[j] + rest * slope


@log_jacobian.register(StickBreaking)
def _(map_, u, x):
    total = 0.0
    for j in range(u.size):
        v = u[j] - math.log(u.size - j)
        total -= log1p_exp(-v) + (u.size - j) * log1p_exp(v)
    return total


@unconstrain.register(StickBreaking)
def _(map_, x):
    rest = np.cumsum(x[::-1])[::-1][1:]  # what is left after each part
    return np.log(x[:-1]) - np.log(rest) + np.log(np.arange(len(x) - 1, 0, -1))
