"""Passes of a GLM with bounds against differences of one another."""

import numpy as np
import pytest

from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.glm_bounds import bounded_glm
from skbayes_sg.kernels.passes import hessian, hessian_diagonal, log_posterior
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    record,
    theta_of,
)
from tests.kernels.examples import glm, noisy_glm


def bounded(name):
    model = glm(name) if name == "logistic" else noisy_glm(name)
    d = n_parameters(model)
    low, high = np.full(d, -np.inf), np.full(d, np.inf)
    low[0], high[1], low[2], high[2] = 0.0, 0.5, -1.0, 1.0
    return for_kernels(bounded_glm(model, low, high))


@pytest.mark.parametrize("name", ["logistic", "linear"])
def test_passes_are_derivatives_of_one_another(name):
    model = bounded(name)
    work, d = init_work(model), n_parameters(model)
    u = np.linspace(-1.0, 1.5, d)
    g, matrix, diagonal = np.empty(d), np.zeros((d, d)), np.zeros(d)
    log_posterior(model, work, u, g)
    hessian(model, work, u, matrix)
    hessian_diagonal(model, work, u, diagonal)
    np.testing.assert_allclose(diagonal, np.diag(matrix), rtol=1e-6)
    values, slopes = np.empty((2, d)), np.empty((2, d, d))
    for j, step in enumerate(1e-5 * np.eye(d)):
        for i, end in enumerate((u + step, u - step)):
            values[i, j] = log_posterior(model, work, end, slopes[i, j])
    np.testing.assert_allclose((values[0] - values[1]) / 2e-5, g, rtol=1e-5, atol=1e-6)
    expected = (slopes[1] - slopes[0]) / 2e-5
    np.testing.assert_allclose(matrix, expected, rtol=1e-4, atol=1e-4)


def test_units_where_the_density_bends_upwards():
    """All rows are far from the line at which units are measured."""
    model = noisy_glm("student")
    model = model._replace(y=model.y + 4.0)
    low, high = np.full((2, n_parameters(model)), [[-np.inf], [np.inf]])
    low[:3] = 0.0
    units = bounded_glm(model, low, high).map.unit
    assert np.isfinite(units).all() and (units > 0).all()


def test_draws_are_within_their_bounds():
    model = bounded("linear")
    work, d = init_work(model), n_parameters(model)
    u = np.linspace(-2.0, 2.0, d)
    draw = np.empty(d)
    record(model, work, u, draw)
    np.testing.assert_allclose(theta_of(model, draw), u)
