"""Linear Gaussian state-space models: parameters, forecasts and bad input."""

import numpy as np
import pytest
from scipy.linalg import toeplitz
from scipy.stats import multivariate_normal

from skbayes_sg import SGMCMCLinearGaussianSSM

A, Q, R = 0.8, 1.0, 0.3
RNG = np.random.default_rng(0)


def series(n, rng):
    x = np.empty(n)
    x[0] = rng.normal(0, np.sqrt(Q / (1 - A**2)))
    for t in range(1, n):
        x[t] = A * x[t - 1] + np.sqrt(Q) * rng.normal()
    return (x + np.sqrt(R) * rng.normal(size=n))[:, None]


X = series(2000, RNG)


@pytest.fixture(scope="module")
def model():
    return SGMCMCLinearGaussianSSM(n_draws=200, n_chains=2, random_state=0).fit(X)


def law(model, n):
    """Return mean and covariance of n points at the posterior means."""
    a, q, r = model.A_[0, 0], model.Q_[0, 0], model.R_[0, 0]
    cov = toeplitz(q / (1 - a**2) * a ** np.arange(n)) + r * np.eye(n)
    return np.full(n, model.level_[0]), cov


def test_parameters_are_within_four_standard_deviations(model):
    for name, truth in (("A", A), ("Q", Q), ("R", R)):
        mean, sd = getattr(model, f"{name}_"), getattr(model, f"{name}_std_")
        assert abs(mean[0, 0] - truth) < 4 * sd[0, 0] and sd[0, 0] < 0.2 * truth
    assert model.buffer_bias_ <= 0.02


def test_forecasts_are_conditional_expectations(model):
    """Against conditioning by matrices, at the posterior means."""
    seen, steps = X[-30:, 0], 5
    mean, cov = law(model, 35)
    gain = np.linalg.solve(cov[:30, :30], cov[:30, 30:]).T
    expected = mean[30:] + gain @ (seen - mean[:30])
    spread = np.sqrt(np.diag(cov[30:, 30:] - gain @ cov[:30, 30:]))
    found, std = model.forecast(steps, return_std=True)
    np.testing.assert_allclose(found[:, 0], expected, atol=0.1)
    np.testing.assert_allclose(std[:, 0], spread, rtol=0.05)


def test_score_is_the_density_of_all_points(model):
    rows = X[:50]
    expected = multivariate_normal(*law(model, 50)).logpdf(rows[:, 0])
    assert model.score(rows) == pytest.approx(expected, abs=0.5)


def test_missing_numbers_are_filled_in(model):
    rows = X[:60].copy()
    rows[20:25] = np.nan
    mean, std = model.smooth(rows, return_std=True)
    assert np.isfinite(mean).all() and std[22, 0] > 1.2 * std[10, 0]
    with_gaps = X[:400].copy()
    with_gaps[::7] = np.nan
    fitted = SGMCMCLinearGaussianSSM(n_draws=20, n_chains=2, random_state=0)
    assert np.isfinite(fitted.fit(with_gaps).A_).all()


@pytest.mark.parametrize(
    ("rows", "lengths", "words"),
    [
        (np.where(X > 2, np.inf, X), None, "infinity|inf"),
        (X, [100, 100], "lengths"),
        (X, [-5, 2005], "lengths"),
        (np.full_like(X, np.nan), None, "NaN|missing"),
        (X[:, 0], None, "2D|dimension"),
        (X[:1], None, "points|length|sample"),
    ],
)
def test_bad_input(rows, lengths, words):
    model = SGMCMCLinearGaussianSSM(n_draws=2, n_chains=1)
    with pytest.raises(ValueError, match=words):
        model.fit(rows, lengths)
    assert not hasattr(model, "A_")


@pytest.mark.parametrize(
    "options",
    [
        {"transition_prior_scale": 0.0},
        {"observation_matrix": [[0.0]]},
        {"noise_prior": (-1.0, 1.0)},
        {"buffer_length": -1},
        {"block_length": 0},
        {"step_size": -1.0},
    ],
)
def test_bad_parameters(options):
    (name,) = options
    with pytest.raises(ValueError, match=name):
        SGMCMCLinearGaussianSSM(n_draws=2, n_chains=1, **options).fit(X[:100])
