"""The simplex by log ratios to the last part: u_l = log(x_l / x_K), l = 1 ... K - 1.

    log|det J| = sum_k log x_k,    (J' g)_l = x_l (g_l - sum_k x_k g_k)

The log density of Dirichlet(b) becomes sum_l b_l u_l - (sum b) log(1 + sum_l exp u_l),
concave for every b > 0. This is the dual of the entropic mirror map of Hsieh et al.
(2018), so that Langevin in u is their mirrored Langevin on the simplex.
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


class AdditiveLogRatio(NamedTuple):
    """K positive parts that sum to one, K - 1 of them free."""

    n_parts: int  # K


@n_free.register(AdditiveLogRatio)
def _(map_):
    return map_.n_parts - 1


@n_constrained.register(AdditiveLogRatio)
def _(map_):
    return map_.n_parts


@constrain.register(AdditiveLogRatio)
def _(map_, u, out):
    largest, total = 0.0, 0.0
    for j in range(u.size):
        largest = max(largest, u[j])
    for j in range(out.size):
        out[j] = math.exp((u[j] if j < u.size else 0.0) - largest)
        total += out[j]
    for j in range(out.size):
        out[j] /= total


@add_pulled_back.register(AdditiveLogRatio)
def _(map_, u, x, g, share, out):
    mean = 0.0
    for j in range(x.size):
        mean += x[j] * g[j]
    for j in range(u.size):
        out[j] += x[j] * (g[j] - mean) + share * (1.0 - x.size * x[j])


@log_jacobian.register(AdditiveLogRatio)
def _(map_, u, x):
    largest, total, linear = 0.0, 0.0, 0.0
    for j in range(u.size):
        largest = max(largest, u[j])
        linear += u[j]
    for j in range(x.size):
        total += math.exp((u[j] if j < u.size else 0.0) - largest)
    return linear - x.size * (largest + math.log(total))


@unconstrain.register(AdditiveLogRatio)
def _(map_, x):
    return np.log(x[:-1]) - np.log(x[-1])
