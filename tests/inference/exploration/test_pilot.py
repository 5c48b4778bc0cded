"""Typical draws of Gaussian and skewed posteriors."""

import numpy as np
import pytest
from scipy.special import expit, gamma

from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.inference.curvature import whitening
from skbayes_sg.inference.exploration.pilot import (
    SKEWED,
    difference_of_scores,
    hamiltonian_chain,
    pilot,
    rare_value,
    whitened_density,
)
from skbayes_sg.inference.exploration.region import geometry
from skbayes_sg.inference.exploration.unimodal import step_limit
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM, GaussianMean
from skbayes_sg.kernels.samplers import SGLD


@pytest.fixture(scope="module")
def gaussian():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    return for_kernels(
        GaussianMean(rng.normal(size=(50, 3)), root @ root.T + np.eye(3))
    )


def test_pilot_of_a_gaussian(gaussian):
    where = geometry(gaussian, find_mode(gaussian))
    typical = pilot(gaussian, where, 0)
    assert typical.steepness == 1.0 and not typical.is_skewed
    assert typical.region is where
    whitened = whitening(gaussian.precision)
    z = np.linalg.solve(whitened, (typical.draws - where.mode).T)
    # 128 draws: a variance has an error of sqrt(2 / 128), a mean of sqrt(1 / 128).
    assert np.abs(z.var(axis=1) - 1).max() < 4 * np.sqrt(2 / 128)
    assert np.abs(z.mean(axis=1)).max() < 4 * np.sqrt(1 / 128)


@pytest.fixture(scope="module")
def skewed():
    """Features that are seldom there, and never with the second class."""
    X = np.kron(np.eye(30), np.ones((20, 1)))
    y = np.zeros(600)
    return for_kernels(
        GLM(Bernoulli(), X, y, np.empty(0), np.full(X.shape[1], 0.02), False, 1)
    )


def exact_moments():
    """Mean, sd and mean curvature of one coefficient: all are independent, alike."""
    x = np.linspace(-120, 15, 40_001)
    log_p = -20 * np.logaddexp(0, x) - 0.01 * x**2
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = p @ x
    curvature = 0.02 + 20 * p @ (expit(x) * expit(-x))
    return mean, np.sqrt(p @ (x - mean) ** 2), curvature


@pytest.mark.parametrize("preconditioner", ["dense", "none"])
def test_pilot_of_a_skewed_posterior(skewed, preconditioner):
    at_mode = geometry(skewed, find_mode(skewed), preconditioner)
    mean, sd, curvature = exact_moments()
    draws, region, steepness, bend, _ = pilot(skewed, at_mode, 0)
    # 30 independent coefficients, and at least 30 effective draws of each.
    assert abs(draws.mean() - mean) < 4 * sd / np.sqrt(900)
    assert abs(draws.std() / sd - 1) < 0.1
    # The coordinates are those of the mean curvature.
    whitened = np.diag(region.unit.T @ region.unit)
    expected = 1 / curvature if preconditioner == "dense" else 1.0
    assert abs(np.median(whitened) / expected - 1) < 0.25
    assert abs(np.median(region.theta_sd) / sd - 1) < 0.25
    # The steepest of 16 draws of 30 coefficients lies far above the mean: the curvature
    # is at most 20 / 4 more than that of the prior.
    assert 0.5 * 5.02 < steepness * region.largest / expected < 3 * 5.02
    assert bend > 1.5
    limit = step_limit(SGLD(), region, steepness)
    assert np.isclose(limit, 4.0 / (region.largest * steepness))


def test_one_skewed_coordinate_is_seen_among_many():
    # exp(b - e^b) in one of 200 coordinates, as of a class that is seen once.
    def density(z):
        g = -z.copy()
        g[17] = 1.0 - np.exp(z[17])
        return 0.0, g

    rng = np.random.default_rng(0)
    assert difference_of_scores(density, 200, rng) > 2 * SKEWED

    def moved(z):  # a Gaussian whose center is not where it was thought to be
        return 0.0, 0.7 - z

    assert difference_of_scores(moved, 200, rng) < 1e-12


def test_whitened_density_is_that_of_the_model(skewed):
    where = geometry(skewed, find_mode(skewed))
    density = whitened_density(skewed, where.mode, where.factor)
    z, e = np.linspace(-1, 1, 30), 1e-5 * np.eye(30)[3]
    slope = (density(z + e)[0] - density(z - e)[0]) / 2e-5
    assert np.isclose(slope, density(z)[1][3], rtol=1e-5)


def test_chain_of_the_pilot_is_exact():
    # Its acceptance test makes up for steps far too large for the curvature.
    def density(z):
        return -0.25 * np.sum(z**4), -(z**3)

    rng = np.random.default_rng(0)
    chains = [hamiltonian_chain(density, 3, 300, rng, 2.0)[0][50:] for _ in range(30)]
    squares = np.mean(np.square(chains), axis=(1, 2))
    expected = 2 * gamma(0.75) / gamma(0.25)  # E z^2 under exp(-z^4 / 4)
    error = squares.std() / np.sqrt(len(squares))
    assert abs(squares.mean() - expected) < 4 * error < 0.1 * expected


TAILS = {  # with the exact value of one in a thousand, and the spread of estimates
    "Pareto 0.1": (lambda rng: rng.pareto(10.0, 256) + 1, 1e3**0.1, 1.5),
    "Pareto 0.5": (lambda rng: rng.pareto(2.0, 256) + 1, 1e3**0.5, 4.0),
    "exponential": (lambda rng: rng.exponential(size=256) + 1, 1 + np.log(1e3), 2.0),
    "bounded": (lambda rng: rng.uniform(1, 2, 256), 1.999, 1.1),
    "mostly one": (
        lambda rng: np.maximum(1.0, 8 * rng.exponential(size=256) - 8),
        8 * np.log(1e3) - 8,
        3.0,
    ),
}


@pytest.mark.parametrize("name", TAILS)
def test_rare_value_of_any_tail(name):
    """Hill's estimator answers 8 times too much where most values are one."""
    draw, exact, spread = TAILS[name]
    rng = np.random.default_rng(0)
    found = np.array([rare_value(draw(rng)) for _ in range(100)])
    assert 0.8 < np.median(found) / exact < 1.25
    low, high = np.quantile(found / exact, [0.05, 0.95])
    assert 1 / spread < low and high < spread


def test_rare_value_of_few_or_equal_values():
    assert rare_value([1.0, 3.0, 2.0]) == 3.0
    assert rare_value(np.ones(256)) == 1.0
    assert rare_value(-np.ones(256)) == -1.0


def test_many_equal_eigenvalues():
    """One label is left: only the intercept's direction is not that of the prior."""
    X, y = np.random.RandomState(0).uniform(size=(10, 10)), np.arange(10) % 2
    estimator = SGLDLogisticRegression(n_draws=50, n_chains=2, random_state=0)
    assert np.isfinite(estimator.fit(X, y, sample_weight=y).samples_).all()
