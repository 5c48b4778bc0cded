"""A GLM whose coefficients have bounds: a change of variables, number by number."""

import numpy as np

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.maps.bounds import Bounds, derivatives
from skbayes_sg.kernels.models.glm_mapped import (
    MappedGLM,
    inner_gradient,
    inner_hessian,
)
from skbayes_sg.kernels.passes import (
    hessian,
    hessian_diagonal,
    prior_hessian_diagonal,
)
from skbayes_sg.kernels.protocol.model import init_work, n_parameters


class BoundedGLM(MappedGLM):
    """A GLM in free coordinates; its fields are those of `Transformed`."""

    __slots__ = ()
    __annotations__ = MappedGLM.__annotations__


def bounded_glm(model, low, high):
    """Return the model with bounds of theta, (n_parameters,) each, infinite if none.

    The units of the free coordinates are about the coefficients' standard deviations.
    """
    start = np.clip(np.zeros(n_parameters(model)), low, high)
    start = start.astype(model.y.dtype)
    (data, prior), work = np.zeros((2, start.size)), init_work(model)
    hessian_diagonal(model, work, start, data)
    prior_hessian_diagonal(model, work, start, prior)
    # Where many rows are far off, Student's law bends upwards.
    curvature = np.maximum(np.abs(data + prior), prior)
    unit, bounded = np.ones(start.size), np.isfinite(low) | np.isfinite(high)
    unit[bounded] = 1.0 / np.sqrt(curvature[bounded])
    return BoundedGLM(model, Bounds(low, high, unit))


@hessian.register(BoundedGLM)
def _(model, work, theta, out):
    g = inner_gradient(model, work, theta)
    each = _derivatives(model, theta)
    matrix = inner_hessian(model, work)
    out += each[0][:, None] * matrix * each[0] - np.diag(g * each[1] + each[3])


@hessian_diagonal.register(BoundedGLM)
def _(model, work, theta, out):
    g = inner_gradient(model, work, theta)
    each = _derivatives(model, theta)
    diagonal = np.zeros(theta.size)
    hessian_diagonal(model.model, work.inner, work.x, diagonal)
    prior_hessian_diagonal(model.model, work.inner, work.x, diagonal)
    out += each[0] ** 2 * diagonal - g * each[1] - each[3]


def _derivatives(model, theta):
    """Return derivatives of the map, (4, d)."""
    each = np.empty((4, theta.size))
    _all_derivatives(model.map, np.array(theta), each)
    return each


@entry_point
def _all_derivatives(map_, u, out):
    for j in range(u.size):
        out[0, j], out[1, j], out[2, j], out[3, j] = derivatives(map_, u, j)
