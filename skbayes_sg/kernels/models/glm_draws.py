"""Recorded draws of a GLM, in the units of the user's data; see `glm_units`."""

import numpy as np

from skbayes_sg.kernels.data.rows import shape_rows
from skbayes_sg.kernels.likelihoods.protocol import natural_noise, noise_of_natural
from skbayes_sg.kernels.models.glm import GLM, n_coefficients, n_scores
from skbayes_sg.kernels.priors.protocol import n_scales
from skbayes_sg.kernels.protocol.model import (
    n_parameters,
    parameter_dtype,
    record,
    theta_of,
)


@record.register(GLM)
def _(model, work, theta, out):
    p, end, units = shape_rows(model.rows)[1], n_coefficients(model), model.units
    width = p + int(model.intercept)
    for k in range(model.n_outputs):
        scale = units.scale[k] if units.scale.size > 0 else 1.0
        here, there = theta[k * width : (k + 1) * width], out[k * width :]
        for j in range(width):
            there[j] = scale * here[j]
        if units.shift.size > 0:
            there[p] += units.shift[k]
        moved = 0.0
        for j in range(units.center.size):
            moved += scale * here[j] * units.center[j]
        if units.center.size > 0:
            there[p] -= moved
    if n_scores(model) > model.n_outputs:
        natural_noise(model.likelihood, theta[end:], units.scale, out[end:])
    for k in range(n_scales(model.prior, model.n_outputs)):
        unit = units.scale[k] if units.scale.size > 0 else 1.0
        out[theta.size + k] = unit * work.scale[k]


@theta_of.register(GLM)
def _(model, draw):
    end, units = n_coefficients(model), model.units
    theta = draw[: n_parameters(model)].astype(np.float64)
    coef = theta[:end].reshape(model.n_outputs, -1)
    if units.center.size:
        coef[:, -1] += coef[:, : units.center.size] @ units.center
    if units.shift.size:
        coef[:, -1] -= units.shift
    if units.scale.size:
        coef /= units.scale[:, None]
    theta[end:] = noise_of_natural(model.likelihood, theta[end:], units.scale)
    return theta.astype(parameter_dtype(model))
