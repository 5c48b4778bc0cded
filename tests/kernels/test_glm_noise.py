"""A GLM of few rows, with coefficients in units of its noise."""

import numpy as np
import pytest

from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import Gaussian, StudentT
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.models.glm_noise import has_few_rows, in_noise_units
from skbayes_sg.kernels.passes import hessian, log_posterior
from skbayes_sg.kernels.protocol.model import init_work, n_parameters
from tests.kernels.test_models import central_differences

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(4, 5)), RNG.normal(size=8)


def few(likelihood, n_outputs, weights=()):
    y, precision = Y[: 4 * n_outputs], np.full(6 * n_outputs, 0.5)
    return GLM(likelihood, X, y, np.array(weights), precision, True, n_outputs)


MODELS = {
    "two outputs": few(Gaussian(1.0, 1.0), 2),
    "weights": few(Gaussian(1.0, 1.0), 1, [1.0, 2.0, 0.5, 1.0]),
    "robust": few(StudentT(4.0), 1),
}


@pytest.mark.parametrize("name", MODELS)
def test_derivatives_by_differences(name, uncompiled):
    inside = MODELS[name]
    model = for_kernels(in_noise_units(inside, X))
    assert has_few_rows(inside) and model.map.left.shape[0] == 4
    u = 0.5 * np.random.default_rng(1).normal(size=n_parameters(inside))

    def value_and_slope(u):
        out = np.zeros(u.size)
        return log_posterior(model, init_work(model), u, out), out

    slopes = central_differences(lambda v: value_and_slope(v)[0], u)
    np.testing.assert_allclose(value_and_slope(u)[1], slopes, rtol=1e-5, atol=1e-7)
    matrix = np.zeros((u.size, u.size))
    hessian(model, init_work(model), u, matrix)
    bends = -central_differences(lambda v: value_and_slope(v)[1], u)
    np.testing.assert_allclose(matrix, bends, rtol=1e-4, atol=1e-5)


def test_many_rows_are_left_alone():
    rows = RNG.normal(size=(7, 5))
    model = MODELS["robust"]._replace(rows=rows, y=RNG.normal(size=7))
    assert not has_few_rows(model)
