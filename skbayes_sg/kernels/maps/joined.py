"""Several maps, each of its own slice of the parameters, in their order."""

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


class Joined(NamedTuple):
    """The map of the first slice and that of all others, itself `Joined` as a rule."""

    first: NamedTuple
    rest: NamedTuple


def joined(*maps):
    """Return one map of several, for parameters that follow one another.

    Parameters
    ----------
    *maps : NamedTuple
        Maps of the slices of theta, in their order.

    Returns
    -------
    NamedTuple
        A map of all of them.

    Examples
    --------
    A real number, two positive ones and a simplex of three parts:

    >>> import numpy as np
    >>> from skbayes_sg.kernels.capabilities.maps import n_free, unconstrain
    >>> from skbayes_sg.kernels.maps import AdditiveLogRatio, Exp, Real, joined
    >>> mix = joined(Real(1), Exp(2), AdditiveLogRatio(3))
    >>> n_free(mix)
    5
    >>> unconstrain(mix, np.array([-1.0, 1.0, 1.0, 0.25, 0.25, 0.5])).round(2)
    array([-1.  ,  0.  ,  0.  , -0.69, -0.69])
    """
    if len(maps) == 1:
        return maps[0]
    return Joined(maps[0], joined(*maps[1:]))


@n_free.register(Joined)
def _(map_):
    return n_free(map_.first) + n_free(map_.rest)


@n_constrained.register(Joined)
def _(map_):
    return n_constrained(map_.first) + n_constrained(map_.rest)


@n_redundant.register(Joined)
def _(map_):
    return n_redundant(map_.first) + n_redundant(map_.rest)


@constrain.register(Joined)
def _(map_, u, out):
    k, m = n_free(map_.first), n_constrained(map_.first)
    constrain(map_.first, u[:k], out[:m])
    constrain(map_.rest, u[k:], out[m:])


@add_pulled_back.register(Joined)
def _(map_, u, x, g, share, out):
    k, m = n_free(map_.first), n_constrained(map_.first)
    add_pulled_back(map_.first, u[:k], x[:m], g[:m], share, out[:k])
    add_pulled_back(map_.rest, u[k:], x[m:], g[m:], share, out[k:])


@log_jacobian.register(Joined)
def _(map_, u, x):
    k, m = n_free(map_.first), n_constrained(map_.first)
    first = log_jacobian(map_.first, u[:k], x[:m])
    return first + log_jacobian(map_.rest, u[k:], x[m:])


@add_map_metric.register(Joined)
def _(map_, u, out):
    k = n_free(map_.first)
    add_map_metric(map_.first, u[:k], out[:k])
    add_map_metric(map_.rest, u[k:], out[k:])


@unconstrain.register(Joined)
def _(map_, x):
    m = n_constrained(map_.first)
    return np.concatenate(
        [unconstrain(map_.first, x[:m]), unconstrain(map_.rest, x[m:])]
    )


@is_affine.register(Joined)
def _(map_):
    return is_affine(map_.first) and is_affine(map_.rest)
