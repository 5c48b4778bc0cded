"""Trajectories along a Gaussian prior, in the space of a regression's predictors."""

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.inference.exploration.predictors import in_predictors
from skbayes_sg.inference.mixing import standard_error
from skbayes_sg.kernels.capabilities.gaussian_prior import likelihood_force
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import init_work, n_parameters, theta_of
from skbayes_sg.kernels.samplers import SplitHMC
from tests.kernels.examples import FAMILIES, glm

EXACT = dict(n_chains=4, random_state=0, return_info=True)


def reduced(family, n, r, weighted=True):
    """Return a regression of n rows with the prior N(0, I), and its predictors' model.

    The rows have no column of zeros, and nothing but the prior is changed by a scale.
    """
    rng = np.random.default_rng(n)
    likelihood, n_outputs, targets = FAMILIES[family]
    rows, y = rng.normal(size=(n, r)), targets(rng, n).astype(float)
    weights = rng.uniform(0.5, 2.0, n) if weighted else np.empty(0)
    prior = np.ones(n_outputs * r)
    model = GLM(likelihood, rows, y, weights, prior, False, n_outputs)
    return for_kernels(model), for_kernels(in_predictors(model))


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("n, r", [(6, 5), (20, 4)])
def test_predictors_have_the_posterior_of_the_coefficients(family, n, r):
    inner, model = reduced(family, n, r)
    assert (model.covariance.size == 0) == (n == 20)
    rng = np.random.default_rng(0)
    a = rng.normal(size=(2, n_parameters(inner)))
    eta = np.stack([theta_of(model, one) for one in a])
    g, g_eta = np.empty(a.shape[1]), np.empty(eta.shape[1])
    there = [log_posterior(inner, init_work(inner), one, g) for one in a]
    here = [log_posterior(model, init_work(model), one, g_eta) for one in eta]
    assert here[0] - here[1] == pytest.approx(there[0] - there[1])
    pulled = g_eta.reshape(model.n_outputs, -1) @ model.factor
    np.testing.assert_allclose(pulled.ravel(), g, atol=1e-9)


def test_certain_rows_do_not_push():
    _, model = reduced("logistic", 20, 4, weighted=False)
    eta = 50.0 * (2.0 * model.y[0] - 1.0)
    eta[3] = 0.0
    force = np.empty(20)
    likelihood_force(model, init_work(model), eta, force)
    expected = np.zeros(20)
    expected[3] = model.y[0, 3] - 0.5
    np.testing.assert_array_equal(force, expected)


def test_without_data_draws_are_those_of_the_prior():
    _, model = reduced("logistic", 6, 5)
    model = model._replace(weights=np.zeros(6))
    parts = model, SplitHMC(31), Full()
    draws, info = sample(*parts, step_size=0.01, n_draws=2000, **EXACT)
    assert all(stats["acceptance"] == 1.0 for stats in info.stats)
    # 8,000 draws: errors of a variance of 1.6 %, of a covariance of 1.1 %
    covariance = np.cov(draws.reshape(-1, 5).T)
    np.testing.assert_allclose(covariance, np.eye(5), atol=0.08)


@pytest.mark.parametrize("n, r", [(6, 5), (20, 4)])
@pytest.mark.parametrize("temperature", [1.0, 3.0])
def test_gaussian_posteriors_are_exact(n, r, temperature):
    inner, model = reduced("linear", n, r)
    noise = inner.likelihood.noise_precision * inner.weights[:, None]
    precision = (np.eye(r) + inner.rows.T @ (noise * inner.rows)) / temperature
    covariance = np.linalg.inv(precision)
    mean = covariance @ inner.rows.T @ (noise[:, 0] * inner.y) / temperature
    start = theta_of(model, mean)
    options = dict(step_size=0.15**2, temperature=temperature, start=start)
    draws, info = sample(model, SplitHMC(21), Full(), n_draws=2000, **options, **EXACT)
    assert all(0.5 < stats["acceptance"] < 0.999 for stats in info.stats)
    assert (np.abs(draws.mean(axis=(0, 1)) - mean) < 4 * standard_error(draws)).all()
    squares = (draws - mean) ** 2 / np.diag(covariance)
    assert (np.abs(squares.mean(axis=(0, 1)) - 1) < 4 * standard_error(squares)).all()
    assert standard_error(squares).max() < 0.05


def test_only_exact_gradients_and_suitable_models():
    _, model = reduced("logistic", 20, 4)
    with pytest.raises(ValueError, match="needs the exact gradient"):
        sample(model, SplitHMC(5), Minibatch(5), step_size=0.1, n_draws=1)
    with pytest.raises(ValueError, match="a Gaussian prior in its own coordinates"):
        sample(glm("logistic"), SplitHMC(5), Full(), step_size=0.1, n_draws=1)
