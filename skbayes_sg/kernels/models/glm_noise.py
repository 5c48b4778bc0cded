"""A GLM of few rows, with coefficients in units of its noise, see `noise_units`."""

import numpy as np

from skbayes_sg.kernels.data.rows import shape_rows
from skbayes_sg.kernels.maps.noise_units import noise_units
from skbayes_sg.kernels.models.glm_mapped import (
    MappedGLM,
    inner_gradient,
    inner_hessian,
)
from skbayes_sg.kernels.passes import hessian
from skbayes_sg.kernels.protocol.model import n_parameters

MAX_NUMBERS = 10**6  # in the rows; beyond, decompositions take longer than chains


class NoiseScaledGLM(MappedGLM):
    """A GLM in units of its noise; its fields are those of `Transformed`."""

    __slots__ = ()
    __annotations__ = MappedGLM.__annotations__


@hessian.register(NoiseScaledGLM)
def _(model, work, theta, out):
    map_, u = model.map, np.asarray(theta, np.float64)
    g = inner_gradient(model, work, theta)
    n_outputs, m = map_.center.shape
    jacobian, bend = np.eye(u.size), np.zeros_like(out)  # the second: sum_k g_k T_k''
    for k in range(n_outputs):
        here, t = slice(k * m, (k + 1) * m), n_outputs * m + k
        s = np.exp(-0.5 * u[t])
        known = (map_.right @ u[here]) @ map_.left  # Q u
        jacobian[here, here] += (s - 1.0) * map_.left.T @ map_.right
        jacobian[here, t] = -0.5 * s * known
        bend[here, t] = bend[t, here] = -0.5 * s * (map_.left @ g[here]) @ map_.right
        bend[t, t] = 0.25 * s * known @ g[here]
    out += jacobian.T @ inner_hessian(model, work) @ jacobian - bend


def has_few_rows(model):
    """Whether rows are so few that coefficients can fit all of them."""
    n, p = shape_rows(model.rows)
    return n <= p + int(model.intercept) and n * p <= MAX_NUMBERS


def in_noise_units(model, X):
    """Return the model of rows X, (n, p), in units of its noise."""
    A = np.asarray(X, np.float64)
    y = model.y.reshape(model.n_outputs, -1).astype(np.float64)
    if model.intercept:
        A = np.column_stack([A, np.ones(len(A))])
    if model.weights.size:
        root = np.sqrt(model.weights)
        A, y = root[:, None] * A, root * y
    precision = model.prior_precision[: A.shape[1]]
    return NoiseScaledGLM(model, noise_units(A, y, precision, n_parameters(model)))
