"""Fits of many ratings, whose chains start by sweeps."""

import numpy as np
import pytest

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import make_ratings
from skbayes_sg.inference.exploration import rating_sweeps


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(150, 80, 4000, n_factors=2, random_state=0)


def fit(X, y, n_jobs=None):
    model = SGBPMFRecommender(2, n_draws=100, n_jobs=n_jobs, random_state=0)
    return model.fit(X, y)


def test_predictions_are_those_of_other_fits(ratings, monkeypatch):
    usual = fit(*ratings).predict(ratings[0])
    monkeypatch.setattr(rating_sweeps, "MANY", 0)
    swept = fit(*ratings, n_jobs=2)
    found = swept.predict(ratings[0])
    assert np.corrcoef(usual, found)[0, 1] > 0.99
    np.testing.assert_array_equal(swept.samples_, fit(*ratings).samples_)
