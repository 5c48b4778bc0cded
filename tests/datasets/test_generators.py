"""The generators follow the laws that their docstrings state."""

import numpy as np
import pytest
from scipy.special import expit

from skbayes_sg.datasets import make_logistic, make_ratings
from skbayes_sg.datasets._generators import _draw_pairs, _random_correlation


def test_logistic_arrays():
    X, y, coef = make_logistic(500, 7, random_state=0, return_coef=True)
    assert X.shape == (500, 7) and y.shape == (500,) and coef.shape == (7,)
    assert X.dtype == np.float64 and X.flags.c_contiguous
    assert set(y) == {0, 1}


@pytest.mark.parametrize("make", [make_logistic, make_ratings])
def test_random_state(make):
    first, again = make(random_state=3), make(random_state=np.random.RandomState(3))
    other = make(random_state=4)
    for a, b, c in zip(first, again, other, strict=True):
        np.testing.assert_array_equal(a, b)
        assert not np.array_equal(a, c)


def test_logistic_labels_follow_the_model():
    X, y, coef = make_logistic(
        50_000, 4, intercept=0.7, random_state=0, return_coef=True
    )
    # Each score component sum_i (y_i - p_i) x_ij has mean 0 and this variance.
    p = expit(X @ coef + 0.7)
    rows = np.column_stack((X, np.ones(len(X))))
    z = rows.T @ (y - p) / np.sqrt((rows**2).T @ (p * (1 - p)))
    assert np.all(abs(z) < 4)


def test_logistic_coefficient_scales():
    draws = [make_logistic(1, 300, random_state=s, return_coef=True) for s in range(10)]
    coef = np.concatenate([draw[2] for draw in draws])
    # Standard errors of 3,000 draws: 1.72 for the second moment, 0.009 for the share.
    assert np.mean(coef**2) == pytest.approx((0.01 + 1 + 100) / 3, abs=4 * 1.72)
    assert np.mean(abs(coef) < 0.3) == pytest.approx(0.419, abs=4 * 0.009)


@pytest.mark.parametrize("rho", [0.0, 0.4, 0.99])
@pytest.mark.parametrize("n_features", [1, 2, 60])
def test_correlation(rho, n_features):
    for seed in range(5):
        rng = np.random.RandomState(seed)
        S = _random_correlation(n_features, rho, rng)
        np.testing.assert_array_equal(S, S.T)
        np.testing.assert_allclose(np.diag(S), 1, rtol=1e-12)
        assert np.linalg.eigvalsh(S)[0] >= 0.9e-3
        lag = abs(np.subtract.outer(np.arange(n_features), np.arange(n_features)))
        assert np.all(abs(S) <= rho**lag + 1e-12)


def test_correlation_is_a_power_of_a_uniform():
    S = _random_correlation(400, 0.4, np.random.RandomState(0))
    assert np.mean(abs(np.diag(S, 1))) == pytest.approx(0.2, abs=4 * 0.116 / 20)
    assert np.mean(np.diag(S, 2)) == pytest.approx(0.16 / 3, abs=4 * 0.048 / 20)
    assert np.diag(S, 1).min() < 0 <= np.diag(S, 2).min()


def test_ratings_arrays():
    X, y, truth = make_ratings(50, 30, 400, random_state=0, return_truth=True)
    assert X.shape == (400, 2) and X.dtype.kind == "i"
    assert len(np.unique(X, axis=0)) == 400
    assert X.min() >= 0 and np.all(X.max(axis=0) < (50, 30))
    assert set(y) == {1, 2, 3, 4, 5}
    i, j = X.T
    np.testing.assert_allclose(
        truth.signal,
        truth.mean
        + truth.user_bias[i]
        + truth.item_bias[j]
        + np.sum(truth.user_factors[i] * truth.item_factors[j], axis=1),
    )


def test_ratings_noise_and_scales():
    X, y, truth = make_ratings(
        3000, 2000, 100_000, levels=None, random_state=0, return_truth=True
    )
    noise = y - truth.signal
    assert np.std(noise) == pytest.approx(0.9, abs=4 * 0.9 / np.sqrt(2e5))
    assert np.std(truth.user_bias) == pytest.approx(0.4, abs=4 * 0.4 / np.sqrt(6000))
    interaction = truth.user_factors @ truth.item_factors.T
    assert np.std(interaction) == pytest.approx(0.5, rel=0.05)


@pytest.mark.parametrize("n_pairs", [3, 6])
def test_pairs_follow_successive_sampling(n_pairs):
    """Both branches include each pair as often as a direct simulation does."""
    p_user, p_item = np.array([0.6, 0.3, 0.1]), np.array([0.5, 0.2, 0.2, 0.05, 0.05])
    weights = np.outer(p_user, p_item).ravel()
    rng, n_repeats = np.random.default_rng(0), 4000
    got, expected = np.zeros(15), np.zeros(15)
    for _ in range(n_repeats):
        i, j = _draw_pairs(p_user, p_item, n_pairs, rng).T
        got[5 * i + j] += 1
        expected[rng.choice(15, n_pairs, replace=False, p=weights)] += 1
    p = (got + expected) / (2 * n_repeats)
    z = (got - expected) / np.sqrt(2 * n_repeats * p * (1 - p))
    assert np.all(abs(z) < 4)


def test_full_and_flat_ratings():
    X, _ = make_ratings(20, 10, 200, random_state=0)
    assert len(np.unique(X, axis=0)) == 200
    X, _ = make_ratings(
        100, 400, 8000, user_exponent=0, item_exponent=0, random_state=0
    )
    counts = np.bincount(X[:, 0], minlength=100)
    assert counts.std() < 2 * np.sqrt(80 * 0.8)


@pytest.mark.parametrize(
    ("make", "params"),
    [
        (make_logistic, {"n_samples": 0}),
        (make_logistic, {"n_features": 2.5}),
        (make_logistic, {"rho": 1.0}),
        (make_logistic, {"rho": -0.1}),
        (make_logistic, {"coef_scales": ()}),
        (make_logistic, {"coef_scales": (1.0, -1.0)}),
        (make_logistic, {"intercept": np.nan}),
        (make_ratings, {"n_users": 0}),
        (make_ratings, {"n_ratings": 500_001}),
        (make_ratings, {"noise_std": -1.0}),
        (make_ratings, {"user_exponent": 1.5}),
        (make_ratings, {"levels": (1, 1, 2)}),
        (make_ratings, {"levels": ()}),
    ],
)
def test_bad_parameters_are_named(make, params):
    with pytest.raises((ValueError, TypeError), match=next(iter(params))):
        make(**params)
