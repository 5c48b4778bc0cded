"""Chains of a recommender that are too short, or that have left for a while."""

from types import SimpleNamespace

import numpy as np
import pytest

from skbayes_sg import DivergenceError, SGBPMFRecommender
from skbayes_sg.datasets import make_ratings
from skbayes_sg.inference.exploration import Settings, check_fit, longer_thin
from skbayes_sg.inference.mixing import effective_sample_size
from skbayes_sg.inference.monitoring import monitored

FOUND = SimpleNamespace(thin=5, step_size=0.1)


@pytest.fixture(scope="module")
def fitted():
    X, y = make_ratings(8, 6, 40, random_state=0)
    return SGBPMFRecommender(n_factors=1, n_draws=100, random_state=0).fit(X, y)


def test_chains_of_few_ratings_are_long_enough(fitted):
    """With the lengths of the step alone, 200 draws hold some ten effective ones."""
    values = monitored(fitted._model, fitted.samples_)
    assert effective_sample_size(values).min() >= 50


def test_chains_are_lengthened_where_that_costs_little(fitted):
    model, draws = fitted._model, fitted.samples_
    flat = np.random.default_rng(0).permutation(np.concatenate(draws))
    slow = np.repeat(draws[:, ::20], 20, axis=1)
    assert longer_thin(model, FOUND, Settings(), slow) == 20
    for settings in (Settings(thin=5), Settings(burn_in=5), Settings(keep="moments")):
        assert longer_thin(model, FOUND, settings, slow) is None
    assert longer_thin(model, SimpleNamespace(thin=10**7), Settings(), slow) is None
    assert longer_thin(model, FOUND, Settings(), flat.reshape(draws.shape)) is None


def test_excursions_are_found(fitted):
    model, draws = fitted._model, fitted.samples_.copy()
    check_fit(model, FOUND, draws)
    draws[0, 20:25] *= 10.0
    with pytest.raises(DivergenceError, match="was .* away for a while.*try step_size"):
        check_fit(model, FOUND, draws)


def test_excursions_are_not_sought_among_few_draws(fitted):
    draws = fitted.samples_[:, :3].copy()
    draws[0, 1] *= 10.0
    check_fit(fitted._model, FOUND, draws)
