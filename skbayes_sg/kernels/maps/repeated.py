"""One map of many slices of equal length, as of the rows of a stochastic matrix."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_map_metric,
    add_pulled_back,
    constrain,
    is_affine,
    log_jacobian,
    n_constrained,
    n_free,
    n_redundant,
    unconstrain,
)


class Repeated(NamedTuple):
    """The same map `count` times."""

    each: NamedTuple
    count: int


@n_free.register(Repeated)
def _(map_):
    return map_.count * n_free(map_.each)


@n_constrained.register(Repeated)
def _(map_):
    return map_.count * n_constrained(map_.each)


@n_redundant.register(Repeated)
def _(map_):
    return map_.count * n_redundant(map_.each)


@constrain.register(Repeated)
def _(map_, u, out):
    k, m = n_free(map_.each), n_constrained(map_.each)
    for i in range(map_.count):
        constrain(map_.each, u[i * k : (i + 1) * k], out[i * m : (i + 1) * m])


@add_pulled_back.register(Repeated)
def _(map_, u, x, g, share, out):
    k, m = n_free(map_.each), n_constrained(map_.each)
    for i in range(map_.count):
        free, slots = slice(i * k, (i + 1) * k), slice(i * m, (i + 1) * m)
        add_pulled_back(map_.each, u[free], x[slots], g[slots], share, out[free])


@log_jacobian.register(Repeated)
def _(map_, u, x):
    k, m, total = n_free(map_.each), n_constrained(map_.each), 0.0
    for i in range(map_.count):
        free, slots = slice(i * k, (i + 1) * k), slice(i * m, (i + 1) * m)
        total += log_jacobian(map_.each, u[free], x[slots])
    return total


@add_map_metric.register(Repeated)
def _(map_, u, out):
    k = n_free(map_.each)
    for i in range(map_.count):
        add_map_metric(map_.each, u[i * k : (i + 1) * k], out[i * k : (i + 1) * k])


@unconstrain.register(Repeated)
def _(map_, x):
    return np.concatenate(
        [unconstrain(map_.each, part) for part in np.split(x, map_.count)]
    )


@is_affine.register(Repeated)
def _(map_):
    return is_affine(map_.each)
