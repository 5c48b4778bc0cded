"""Real numbers, as they are: x = u."""

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
from skbayes_sg.kernels.numerics.vectors import copy_to


class Real(NamedTuple):
    """No constraint, for the free part of a `joined` map."""

    size: int


@n_free.register(Real)
def _(map_):
    return map_.size


@constrain.register(Real)
def _(map_, u, out):
    copy_to(u, out)


@add_pulled_back.register(Real)
def _(map_, u, x, g, share, out):
    for j in range(u.size):
        out[j] += g[j]


@log_jacobian.register(Real)
def _(map_, u, x):
    return 0.0


@add_map_metric.register(Real)
def _(map_, u, out):
    pass  # no border, and x says all


@unconstrain.register(Real)
def _(map_, x):
    return np.array(x)


@is_affine.register(Real)
def _(map_):
    return True
