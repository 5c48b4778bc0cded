"""Particle gradients of stochastic volatility: the Kalman score, and the filter."""

from typing import NamedTuple

import numpy as np
import pytest

from skbayes_sg.kernels.capabilities.buffers import no_messages
from skbayes_sg.kernels.capabilities.local_variables import add_fresh_gradient
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import entry_point, for_kernels
from skbayes_sg.kernels.models import LinearGaussianSSM, StochasticVolatility
from skbayes_sg.kernels.models.linear_gaussian_ssm import InverseWishart
from skbayes_sg.kernels.models.particles import (
    Scaled,
    log_observation,
    scale_score,
)
from skbayes_sg.kernels.models.stochastic_volatility import VolatilityPrior
from skbayes_sg.kernels.models.volatility_laplace import laplace_log_likelihood
from skbayes_sg.kernels.passes import row_gradient
from skbayes_sg.kernels.protocol.model import (
    add_prior_gradient,
    init_work,
    log_prior,
    n_rows,
)
from tests.kernels.test_volatility_grid import quadrature

PRIOR = VolatilityPrior(20.0, 1.5, 2.5, 0.025, 0.1, 2.0)
THETA = np.array([0.8, 0.7, 0.9])


class Shifted(NamedTuple):
    """A linear observation, y ~ N(x, tau^2), whose score is known."""


@log_observation.register(Shifted)
def _(law, y, x, tau):
    return -0.5 * ((y - x) / tau) ** 2 - np.log(tau)


@scale_score.register(Shifted)
def _(law, y, x, tau):
    return (((y - x) / tau) ** 2 - 1.0) / tau


def make_model(law, n_particles, blocks, y, n_paths=20):
    return for_kernels(
        StochasticVolatility(y, blocks, law, n_particles, n_paths, PRIOR)
    )


@entry_point
def gradients(model, work, theta, idx, rng, out):
    for i in range(len(out)):
        add_fresh_gradient(model, work, theta, idx, 1.0, rng, out[i])


def mean_gradient(model, count, seed=0):
    """Return mean and standard error of gradient estimates."""
    out, rng = np.zeros((count, 3)), np.random.default_rng(seed)
    idx = np.arange(n_rows(model), dtype=np.int32)
    gradients(model, init_work(model), THETA, idx, rng, out)
    return out.mean(axis=0), out.std(axis=0) / np.sqrt(count)


def series(n=60, law="linear"):
    rng = np.random.default_rng(3)
    x = np.zeros(n)
    for t in range(n):
        before = x[t - 1] * THETA[0] if t else 0.0
        x[t] = before + THETA[1] * rng.normal()
    noise = THETA[2] * rng.normal(size=n)
    y = x + noise if law == "linear" else np.exp(x / 2) * noise
    y[10] = np.nan
    return y


def kalman_score(y, lengths):
    one = InverseWishart(3.0, np.eye(1))
    model = LinearGaussianSSM(
        y[:, None], make_blocks(lengths), no_messages(2), np.eye(1), np.zeros(1),
        np.ones(1), 1.0, one, one,
    )  # fmt: skip
    phi, sigma, tau = THETA
    x, g = np.array([0.0, phi, sigma**2, tau**2]), np.zeros(4)
    model = for_kernels(model)
    row_gradient(model, init_work(model), x, g)
    return np.array([g[1], 2 * sigma * g[2], 2 * tau * g[3]])


def test_particle_gradients_approach_the_kalman_score():
    y, lengths = series(), [40, 20]
    exact, errors = kalman_score(y, lengths), []
    for n in (4, 16, 256):
        model = make_model(Shifted(), n, make_blocks(lengths), y)
        mean, se = mean_gradient(model, 1500)
        errors.append(np.abs(mean - exact).max())
    assert errors[0] > 2 * errors[1] > 4 * errors[2]
    np.testing.assert_array_less(np.abs(mean - exact), 4 * se + 0.02)


def test_blocks_with_long_buffers_have_the_same_gradient():
    y, lengths = series(), [40, 20]
    model = make_model(Shifted(), 256, make_blocks(lengths, 13, 20), y)
    mean, se = mean_gradient(model, 600)
    error = np.abs(mean - kalman_score(y, lengths))
    np.testing.assert_array_less(error, 4 * se + 0.05)


def test_laplace_is_close_to_the_likelihood_of_a_grid():
    """The filter on a grid of states is exact up to its width."""
    y = series(law="volatility")
    phi, sigma, tau = 0.9, 0.3, 0.9
    value = quadrature(y, (phi, sigma, tau))
    buffers = np.zeros((2, y.size))
    found = laplace_log_likelihood(
        y, 0, y.size, phi, sigma, tau, np.zeros(y.size), buffers
    )
    assert abs(found - value) < 0.02


def test_prior():
    model = make_model(Scaled(), 4, make_blocks([60]), series())
    work, g = init_work(model), np.zeros(3)
    add_prior_gradient(model, work, THETA, g)
    steps = 1e-6 * np.eye(3)
    expected = [
        (log_prior(model, work, THETA + e) - log_prior(model, work, THETA - e)) / 2e-6
        for e in steps
    ]
    np.testing.assert_allclose(g, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["log_observation", "scale_score"])
def test_volatility_observations(name):
    y, x, tau = 0.7, -0.4, 1.3
    if name == "log_observation":
        sd = tau * np.exp(x / 2)
        expected = -0.5 * (y / sd) ** 2 - np.log(sd)
        np.testing.assert_allclose(log_observation(Scaled(), y, x, tau), expected)
    else:
        ahead = log_observation(Scaled(), y, x, tau + 1e-6)
        behind = log_observation(Scaled(), y, x, tau - 1e-6)
        expected = (ahead - behind) / 2e-6
        np.testing.assert_allclose(scale_score(Scaled(), y, x, tau), expected)
