"""Positive numbers: x = exp(u)."""

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


class Exp(NamedTuple):
    """Positive numbers on the log scale."""

    size: int


@n_free.register(Exp)
def _(map_):
    return map_.size


@constrain.register(Exp)
def _(map_, u, out):
    for j in range(u.size):
        out[j] = math.exp(u[j])


@add_pulled_back.register(Exp)
def _(map_, u, x, g, share, out):
    for j in range(u.size):
        out[j] += pulled_through_exp(x[j], g[j], share)


@log_jacobian.register(Exp)
def _(map_, u, x):
    total = 0.0
    for j in range(u.size):
        total += u[j]
    return total


@unconstrain.register(Exp)
def _(map_, x):
    return np.log(x)


@helper
def pulled_through_exp(x, g, share):
    """Return dx/du g + share * d log(dx/du) / du of one number x = exp(u)."""
    return x * g + share
