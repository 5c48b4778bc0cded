"""Control variates by a Taylor expansion of each row's gradient about the mode.

    g = grad log p(theta) + G - H (theta - mode)
        + N/n sum_{i in S} [g_i(theta) - g_i(mode) - H_i (theta - mode)]

G and -H are gradient and Hessian of the whole log-likelihood at the mode (Quiroz, Kohn,
Villani & Tran, 2019). What is left to the minibatch is of second order in the distance.
H_i is never formed: a model gives its product with a vector, or two more gradients do.
So no table of rows is needed, unlike `LinearControlVariate`, and any model will do.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import anchored
from skbayes_sg.kernels.capabilities.expansion import add_beyond_linear, init_expansion
from skbayes_sg.kernels.capabilities.linearization import Linearized
from skbayes_sg.kernels.data.minibatch import INDEX, draw_minibatch
from skbayes_sg.kernels.gradients.blocked import terms_of
from skbayes_sg.kernels.gradients.control_variate import ControlVariate
from skbayes_sg.kernels.gradients.linear_control_variate import (
    MAX_PARAMETERS,
    write_linear,
)
from skbayes_sg.kernels.passes import hessian, row_gradient
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_prior_gradient, init_work, n_rows


class TaylorControlVariate(NamedTuple):
    """Differences to linear functions, on a fresh minibatch at every step.

    A model of over `MAX_PARAMETERS` parameters gets `ControlVariate`.
    """

    batch_size: int = None  # n; None: to be chosen
    mode: np.ndarray = None  # (d,) in the model's coordinates; None: to be found
    linear: Linearized = None  # the sum of the linear functions of all rows


class TaylorMemory(NamedTuple):
    """The permutation whose head is the minibatch, and the model's expansion."""

    permutation: np.ndarray  # (N,)
    expansion: NamedTuple


@anchored.register(TaylorControlVariate)
def _(gradient, model):
    mode = gradient.mode
    if gradient.linear is not None:
        return gradient
    if mode.size > MAX_PARAMETERS:
        return ControlVariate(gradient.batch_size, mode)
    work, total = init_work(model), np.zeros_like(mode)
    row_gradient(model, work, mode, total)
    matrix = np.zeros((mode.size, mode.size))
    hessian(model, work, mode, matrix)
    none = np.empty((0, 0)), np.empty(0)
    linear = Linearized(mode.copy(), total, matrix.astype(mode.dtype), *none)
    return gradient._replace(linear=linear)


@prepare.register(TaylorControlVariate)
def _(gradient, model):
    gradient, n = anchored(gradient, model), gradient.batch_size
    if isinstance(gradient, ControlVariate):
        return prepare(gradient, model)
    terms = terms_of(model, n)
    return terms.estimator(gradient._replace(batch_size=terms.size(n)), n)


@init_memory.register(TaylorControlVariate)
def _(gradient, model, theta, rng):
    rows = np.arange(n_rows(model), dtype=INDEX)
    return TaylorMemory(rows, init_expansion(model, gradient.mode))


@estimate.register(TaylorControlVariate)
def _(gradient, memory, model, work, theta, rng, out):
    idx = draw_minibatch(memory.permutation, gradient.batch_size, rng)
    scale = n_rows(model) / idx.size
    write_linear(gradient.linear, theta, out)
    add_prior_gradient(model, work, theta, out)
    add_beyond_linear(model, work, theta, memory.expansion, idx, scale, out)
