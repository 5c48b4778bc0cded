"""A GLM of few rows, with coefficients in units of its noise, see `noise_units`."""

import numpy as np

from skbayes_sg.kernels.data.rows import shape_rows
from skbayes_sg.kernels.maps.noise_units import noise_units
from skbayes_sg.kernels.models.transformed import Transformed
from skbayes_sg.kernels.protocol.model import has_one_mode, n_parameters

MAX_NUMBERS = 10**6  # in the rows; beyond, decompositions take longer than chains


class NoiseScaledGLM(Transformed):
    """A GLM in units of its noise; its fields are those of `Transformed`."""

    __slots__ = ()
    __annotations__ = Transformed.__annotations__


@has_one_mode.register(NoiseScaledGLM)
def _(model):
    return True


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
