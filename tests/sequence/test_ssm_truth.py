"""Posteriors of state-space models against exact gradients; ranks of the truth."""

import numpy as np
import pytest

from skbayes_sg import SGMCMCLinearGaussianSSM, SGMCMCStochasticVolatility
from tests.sequence.exact import are_uniform, exact_moments

N_DRAWS = 19


def linear_series(n, a, q, r, rng):
    x = np.empty(n)
    x[0] = rng.normal(0, np.sqrt(q / (1 - a**2)))
    for t in range(1, n):
        x[t] = a * x[t - 1] + np.sqrt(q) * rng.normal()
    return (x + np.sqrt(r) * rng.normal(size=n))[:, None]


def returns(n, phi, sigma, rng):
    x = np.empty(n)
    x[0] = rng.normal(0, sigma / np.sqrt(1 - phi**2))
    for t in range(1, n):
        x[t] = phi * x[t - 1] + sigma * rng.normal()
    return (np.exp(x / 2) * rng.normal(size=n))[:, None]


@pytest.mark.long
@pytest.mark.parametrize("length, n_exact", [(10_000, 4000), (100_000, 1500)])
def test_linear_posterior_is_that_of_exact_densities(length, n_exact):
    X = linear_series(length, 0.9, 1.0, 0.5, np.random.default_rng(0))
    model = SGMCMCLinearGaussianSSM(n_draws=4000, random_state=0).fit(X)
    mean, sd, effective = exact_moments(model._model, model.mode_, n_exact, 1)
    drawn = model.samples_.reshape(-1, mean.size)
    # Monte Carlo errors of the reference: 0.03 sd and 2 % of the sds at the most.
    assert effective > 1000
    assert np.all(abs(drawn.mean(axis=0) - mean) < 0.1 * sd)
    np.testing.assert_allclose(drawn.std(axis=0), sd, rtol=0.05)


@pytest.mark.long
def test_ranks_of_linear_systems_are_uniform():
    """200 series of 300 points, with parameters from the prior."""
    rng, ranks, prior = np.random.default_rng(0), np.zeros((3, N_DRAWS + 1)), (8.0, 6.0)
    for seed in range(200):
        a = 2.0
        while abs(a) >= 1:
            a = rng.normal(0.0, 0.5)
        q, r = 3.0 / rng.gamma(4.0), 3.0 / rng.gamma(4.0)
        model = SGMCMCLinearGaussianSSM(
            transition_prior_scale=0.5,
            state_prior=prior,
            noise_prior=prior,
            n_chains=1,
            n_draws=N_DRAWS,
            random_state=seed,
        ).fit(linear_series(300, a, q, r, rng))
        below = np.sum(model.samples_[0][:, 1:] < [a, q, r], axis=0)
        ranks[np.arange(3), below] += 1
    assert are_uniform(ranks)


@pytest.mark.long
def test_ranks_of_volatilities_are_uniform():
    """100 series of 200 returns, with parameters from the default prior."""
    rng, ranks = np.random.default_rng(0), np.zeros((2, 10))
    for seed in range(100):
        phi = 2.0 * rng.beta(20.0, 1.5) - 1.0
        sigma = np.sqrt(0.025 / rng.gamma(2.5))
        model = SGMCMCStochasticVolatility(
            n_chains=1, n_draws=N_DRAWS, random_state=seed
        ).fit(returns(200, phi, sigma, rng))
        below = np.sum(model.samples_[0][:, :2] < [phi, sigma], axis=0)
        ranks[np.arange(2), below // 2] += 1
    assert are_uniform(ranks)
