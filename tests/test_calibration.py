"""Simulation-based calibration: over the prior, posteriors are right on average."""

import numpy as np
import pytest
from scipy.stats import chisquare

from skbayes_sg import SGLDLogisticRegression

PRIOR_VARIANCE = 1.0


def simulate(seed, n_rows=100):
    """Return data with coefficients from the prior, the intercept last."""
    rng = np.random.default_rng(seed)
    theta = rng.normal(0.0, np.sqrt(PRIOR_VARIANCE), 3)
    X = rng.normal(size=(n_rows, 2))
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X @ theta[:2] - theta[2]))).astype(int)
    return X, y, theta


def draws_of(seed):
    """Return 99 draws that are nearly independent, and the truth."""
    X, y, theta = simulate(seed)
    if len(np.unique(y)) < 2:
        return None
    model = SGLDLogisticRegression(
        prior_variance=PRIOR_VARIANCE,
        intercept_variance=PRIOR_VARIANCE,
        n_draws=99,
        n_chains=1,
        thin=8,
        random_state=seed,
    )
    return model.fit(X, y).samples_[0], theta


def results(count):
    found = [draws_of(seed) for seed in range(count)]
    return [pair for pair in found if pair is not None]


def ranks(pairs):
    return np.array([(draws < theta).sum(axis=0) for draws, theta in pairs])


@pytest.fixture(scope="module")
def smoke():
    return results(200)


def assert_uniform(values):
    for column in values.T:
        counts = np.histogram(column, bins=20, range=(0, 100))[0]
        assert chisquare(counts).pvalue > 1e-3


def test_ranks_are_uniform(smoke):
    assert_uniform(ranks(smoke))


def test_intervals_cover(smoke):
    """600 intervals of 90 %; their standard error is 1.2 %."""
    inside = [
        (np.quantile(draws, 0.05, axis=0) < theta)
        & (theta < np.quantile(draws, 0.95, axis=0))
        for draws, theta in smoke
    ]
    assert 0.85 <= np.mean(inside) <= 0.95


@pytest.mark.long
def test_ranks_of_many_are_uniform():
    values = ranks(results(1000))
    assert_uniform(values)
    # The test sees an sd that is wrong by a fifth.
    centered = np.clip(50 + (values - 49.5) * 1.2, 0, 99.9)
    with pytest.raises(AssertionError):
        assert_uniform(centered)
