"""Separable classes of many rows: trajectories along the prior where it pays."""

import numpy as np
import pytest

from skbayes_sg import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
)
from skbayes_sg.inference.exploration import predictors
from skbayes_sg.kernels.samplers import SplitHMC
from tests.linear_model.test_posteriors import (
    fits,
    quadrature,
    rare_of_few,
    separable,
    separable_flat_prior,
    worst,
)


@pytest.fixture
def any_size(monkeypatch):
    monkeypatch.setattr(predictors, "MIN_PARAMETERS", 1)
    monkeypatch.setattr(predictors, "PRIORS_OWN", 0.0)
    monkeypatch.setattr(predictors, "MANY_GRADIENTS", 0.0)
    monkeypatch.setattr(predictors, "BIAS", 100.0)


@pytest.mark.parametrize("problem", [separable, separable_flat_prior, rare_of_few])
def test_draws_are_exact(problem, any_size):
    (model,) = fits(SGHMCLogisticRegression, *problem())
    assert isinstance(model.sampler_, SplitHMC)
    low, high, error = worst([model], *quadrature(problem))
    # 4,000 draws with little autocorrelation: errors of 0.03 sd and 3 %
    assert 0.94 < low and high < 1.06 and error < 0.1
    assert model.sampler_stats_[0]["acceptance"] > 0.6


@pytest.mark.long
def test_all_classes_and_weights(any_size):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.arange(60) % 3
    X[:, 0] += 8.0 * y
    weights = rng.uniform(0.5, 2.0, 60)
    model = SGLDLogisticRegression(random_state=0).fit(X, y, weights)
    assert isinstance(model.sampler_, SplitHMC)
    named = SGMCMCLogisticRegression(random_state=0, sampler="hmc").fit(X, y, weights)
    a, b = (one.samples_.reshape(-1, 9) for one in (model, named))
    np.testing.assert_allclose((a.mean(0) - b.mean(0)) / b.std(0), 0.0, atol=0.15)
    np.testing.assert_allclose(a.std(axis=0) / b.std(axis=0), 1.0, atol=0.08)


def test_rows_that_tell_much_of_every_direction_leave_nothing_to_the_prior(
    any_size, monkeypatch
):
    monkeypatch.setattr(predictors, "PRIORS_OWN", 0.5)
    X, y, _ = separable()
    model = SGLDLogisticRegression(random_state=0, n_draws=20).fit(X, y)
    assert not isinstance(model.sampler_, SplitHMC)
