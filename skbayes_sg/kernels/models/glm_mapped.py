"""A GLM in free coordinates, see `transformed`, with the passes of the GLM inside.

They are matrix products; those of `Transformed` would be compiled from operations on
rows before a first fit. With x = T(u) and the gradient g of log p(x),

    Hessian of -log p(u) = J' H J - sum_k g_k T_k'' - (log|J|)''
"""

import numpy as np

from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
)
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.models.transformed import Transformed
from skbayes_sg.kernels.passes import (
    hessian,
    hessian_diagonal,
    log_posterior,
    prior_hessian,
    prior_hessian_diagonal,
)
from skbayes_sg.kernels.protocol.model import has_one_mode


class MappedGLM(Transformed):
    """A GLM in free coordinates; its fields are those of `Transformed`.

    A subclass implements `hessian`, that of the prior included: the gradients of prior
    and likelihood bend together.
    """

    __slots__ = ()
    __annotations__ = Transformed.__annotations__


@has_one_mode.register(MappedGLM)
def _(model):
    return True


@log_posterior.register(MappedGLM)
def _(model, work, theta, out):
    theta = np.array(theta)
    value = write_constrained(model.map, theta, work.x)
    value += log_posterior(model.model, work.inner, work.x, work.g)
    out[:] = 0.0
    _pull_back(model.map, theta, work.x, work.g, out)
    return value


@prior_hessian.register(MappedGLM)
@prior_hessian_diagonal.register(MappedGLM)
def _(model, work, theta, out):
    pass


@hessian_diagonal.register(MappedGLM)
def _(model, work, theta, out):
    matrix = np.zeros((theta.size, theta.size))
    hessian(model, work, theta, matrix)
    out += np.diag(matrix)


def inner_hessian(model, work):
    """Return the Hessian of -log p(x) at x = `work.x`, (d, d)."""
    matrix = np.zeros((work.x.size, work.x.size))
    prior = np.zeros(work.x.size)
    hessian(model.model, work.inner, work.x, matrix)
    prior_hessian_diagonal(model.model, work.inner, work.x, prior)
    return matrix + np.diag(prior)


def inner_gradient(model, work, theta):
    """Write x = T(theta) to `work.x`; return the gradient of log p(x), (d,)."""
    write_constrained(model.map, np.array(theta), work.x)
    log_posterior(model.model, work.inner, work.x, work.g)
    return work.g.astype(np.float64)


@entry_point
def write_constrained(map_, u, x):
    """Write T(u) to x; return log|J|."""
    constrain(map_, u, x)
    return log_jacobian(map_, u, x)


@entry_point
def _pull_back(map_, u, x, g, out):
    add_pulled_back(map_, u, x, g, 1.0, out)
