"""A GLM whose coefficients have bounds: a change of variables, see `transformed`.

Its passes are those of the GLM inside. With x = T(u), number by number, and the
gradient g of log p(x), the Hessian of -log p(u) is

    J H J - diag(g T'') - diag((log T')''),    J = diag(T')
"""

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
)
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.maps.bounds import Bounds, derivatives
from skbayes_sg.kernels.models.transformed import Transformed
from skbayes_sg.kernels.passes import (
    hessian,
    hessian_diagonal,
    log_posterior,
    prior_hessian,
    prior_hessian_diagonal,
)
from skbayes_sg.kernels.protocol.model import has_one_mode, init_work, n_parameters


class BoundedGLM(Transformed):
    """A GLM in free coordinates; its fields are those of `Transformed`."""

    __slots__ = ()
    __annotations__ = Transformed.__annotations__


def bounded_glm(model, low, high):
    """Return the model with bounds of theta, (n_parameters,) each, infinite if none.

    The units of the free coordinates are about the coefficients' standard deviations.
    """
    start = np.clip(np.zeros(n_parameters(model)), low, high)
    start = start.astype(model.y.dtype)
    diagonal, work = np.zeros(start.size), init_work(model)
    hessian_diagonal(model, work, start, diagonal)
    prior_hessian_diagonal(model, work, start, diagonal)
    return BoundedGLM(model, Bounds(low, high, 1.0 / np.sqrt(diagonal)))


@has_one_mode.register(BoundedGLM)
def _(model):
    return True


@log_posterior.register(BoundedGLM)
def _(model, work, theta, out):
    theta = np.array(theta)
    value = _log_jacobian(model.map, theta, work.x)
    value += log_posterior(model.model, work.inner, work.x, work.g)
    out[:] = 0.0
    _pull_back(model.map, theta, work.x, work.g, out)
    return value


@prior_hessian.register(BoundedGLM)
@prior_hessian_diagonal.register(BoundedGLM)
def _(model, work, theta, out):
    pass  # `hessian` has it: the gradients of prior and likelihood bend together


@hessian.register(BoundedGLM)
def _(model, work, theta, out):
    each, g = _at(model, work, theta)
    inside = work.inner
    matrix = np.zeros_like(out)
    hessian(model.model, inside, work.x, matrix)
    prior = np.zeros(theta.size)
    prior_hessian_diagonal(model.model, inside, work.x, prior)
    matrix += np.diag(prior)
    out += each[0][:, None] * matrix * each[0] - np.diag(g * each[1] + each[3])


@hessian_diagonal.register(BoundedGLM)
def _(model, work, theta, out):
    each, g = _at(model, work, theta)
    inside = work.inner
    diagonal = np.zeros(theta.size)
    hessian_diagonal(model.model, inside, work.x, diagonal)
    prior_hessian_diagonal(model.model, inside, work.x, diagonal)
    out += each[0] ** 2 * diagonal - g * each[1] - each[3]


def _at(model, work, theta):
    """Return derivatives of the map, (4, d), and the gradient of log p(x), (d,)."""
    x = np.array(theta)
    _log_jacobian(model.map, x, work.x)
    log_posterior(model.model, work.inner, work.x, work.g)
    each = np.empty((4, theta.size))
    _all_derivatives(model.map, x, each)
    return each, work.g.astype(np.float64)


@entry_point
def _log_jacobian(map_, u, x):
    constrain(map_, u, x)
    return log_jacobian(map_, u, x)


@entry_point
def _pull_back(map_, u, x, g, out):
    add_pulled_back(map_, u, x, g, 1.0, out)


@entry_point
def _all_derivatives(map_, u, out):
    for j in range(u.size):
        out[0, j], out[1, j], out[2, j], out[3, j] = derivatives(map_, u, j)
