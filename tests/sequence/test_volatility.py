"""Stochastic volatility: parameters, volatilities, densities and bad input."""

import numpy as np
import pytest

from skbayes_sg import SGMCMCStochasticVolatility
from skbayes_sg.inference.volatility import grid_log_likelihoods, state_grid
from tests.kernels.test_volatility_grid import quadrature
from tests.sequence.exact import exact_draws

PHI, SIGMA, TAU = 0.95, 0.3, 0.7


def returns(n, seed=0):
    """Return returns and their standard deviations."""
    rng = np.random.default_rng(seed)
    x = np.empty(n)
    x[0] = rng.normal(0, SIGMA / np.sqrt(1 - PHI**2))
    for t in range(1, n):
        x[t] = PHI * x[t - 1] + SIGMA * rng.normal()
    sd = TAU * np.exp(x / 2)
    return (sd * rng.normal(size=n))[:, None], sd


X, SD = returns(300)


@pytest.fixture(scope="module")
def model():
    return SGMCMCStochasticVolatility(n_draws=60, n_chains=2, random_state=0).fit(X)


def test_parameters_are_within_four_standard_deviations(model):
    assert abs(model.phi_ - PHI) < 4 * model.phi_std_ and model.phi_std_ < 0.15
    assert abs(model.sigma_ - SIGMA) < 4 * model.sigma_std_ and model.sigma_std_ < 0.2
    assert abs(model.tau_ - TAU) < 4 * model.tau_std_ and model.tau_std_ < 0.3
    assert model.samples_.shape == (2, 60, 3)
    assert model.buffer_bias_ < 1e-6  # the whole series is one block


def test_intervals_cover_the_volatilities(model):
    low, middle, high = model.volatility(X, level=0.9)
    assert 0.8 < np.mean((low < SD) & (SD < high)) < 0.98
    assert np.corrcoef(np.log(middle), np.log(SD))[0, 1] > 0.7
    wide = model.volatility(X, level=0.99)
    assert (wide[0] < low).all() and (wide[2] > high).all()


def test_forecasts_tend_to_the_stationary_law(model):
    low, middle, high = model.forecast(200)
    assert low.shape == (200,) and (low < middle).all() and (middle < high).all()
    assert high[150:].mean() / low[150:].mean() > high[0] / low[0]
    assert middle[150:].mean() == pytest.approx(model.tau_, rel=0.3)


def test_log_likelihoods_are_those_of_a_fine_quadrature():
    y = X[:40, 0].copy()
    y[5] = np.nan
    draws = np.array([[0.9, 0.2, 0.7], [0.5, 0.8, 1.1]])
    prior = SGMCMCStochasticVolatility()._build(y, [40])[0].model.prior
    expected = [
        quadrature(y[:25], theta) + quadrature(y[25:], theta) for theta in draws
    ]
    found = grid_log_likelihoods(y, [25, 15], draws, prior)
    np.testing.assert_allclose(found, expected, atol=2e-3)
    grid = state_grid(y, [25, 15], draws)
    assert np.diff(grid).max() <= 1.25 * 0.2 + 1e-12


def test_same_seed_same_draws_and_missing_returns():
    y = X[:80].copy()
    y[20:25] = np.nan
    fits = [
        SGMCMCStochasticVolatility(n_draws=10, n_chains=2, random_state=1).fit(
            y, lengths=[50, 30]
        )
        for _ in range(2)
    ]
    np.testing.assert_array_equal(fits[0].samples_, fits[1].samples_)
    low, _, high = fits[0].volatility(y, lengths=[50, 30])
    inside = high / low
    assert inside[22] > inside[[10, 40]].mean()


@pytest.mark.long
def test_blocks_give_the_posterior_of_the_whole_series():
    y, _ = returns(3000, seed=1)
    model = SGMCMCStochasticVolatility(n_draws=200, random_state=0).fit(y)
    assert model.block_length_ < 1000 and model.buffer_bias_ <= 0.02
    exact = exact_draws(model._model, model.mode_, 400, 1)
    drawn, mean, sd = (
        model.samples_.reshape(-1, 3),
        exact.mean(axis=0),
        exact.std(axis=0),
    )
    # The Monte Carlo error of 400 exact draws, 0.05 sd and 4 %, is part of the bounds.
    assert np.all(abs(drawn.mean(axis=0) - mean) < 0.2 * sd)
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.15)


@pytest.mark.long
def test_particles_give_the_posterior_of_the_grid():
    y, _ = returns(300, seed=2)
    grid = SGMCMCStochasticVolatility(n_draws=300, random_state=0).fit(y)
    particles = SGMCMCStochasticVolatility(
        n_particles=100, n_draws=100, thin=20, burn_in=300, random_state=0
    ).fit(y)
    exact = grid.samples_.reshape(-1, 3)
    away = particles.samples_.mean(axis=(0, 1)) - exact.mean(axis=0)
    # 400 correlated draws, with noise in their gradients that widens the posterior.
    assert np.all(abs(away) < 0.5 * exact.std(axis=0))


@pytest.mark.parametrize(
    ("rows", "lengths", "words"),
    [
        (np.where(X > 2, np.inf, X), None, "infinity|inf"),
        (X, [100, 100], "lengths"),
        (np.full_like(X, np.nan), None, "NaN|missing"),
        (np.full_like(X, 0.3), None, "constant"),
        (np.c_[X, X], None, "2 features"),
        (X[:, 0], None, "2D|dimension"),
        (X[:2], None, "fewer than 3"),
    ],
)
def test_bad_input(rows, lengths, words):
    model = SGMCMCStochasticVolatility(n_draws=2, n_chains=1)
    with pytest.raises(ValueError, match=words):
        model.fit(rows, lengths)
    assert not hasattr(model, "phi_")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("n_particles", 1),
        ("n_particles", 2.5),
        ("n_paths", 0),
        ("persistence_prior", (1.0,)),
        ("persistence_prior", (1.0, -1.0)),
        ("variance_prior", 3.0),
        ("buffer_length", -1),
        ("block_length", 0),
        ("step_size", -1.0),
    ],
)
def test_bad_parameters(name, value):
    model = SGMCMCStochasticVolatility(n_draws=2, n_chains=1, **{name: value})
    with pytest.raises((ValueError, TypeError), match=name):
        model.fit(X[:100])


def test_bad_questions(model):
    with pytest.raises(ValueError, match="level"):
        model.volatility(X, level=1.0)
    with pytest.raises(ValueError, match="steps"):
        model.forecast(0)
