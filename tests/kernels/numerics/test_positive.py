"""The transitions of a positive process have Gamma laws, for every step and shape."""

import numpy as np
import pytest
from scipy import stats

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.numerics.positive import (
    cir_step,
    draw_gamma,
    draw_log_small_gamma,
    draw_poisson,
    draw_small_gamma,
)


@entry_point
def run(start, shape, rate, h, rng, out):
    theta = start
    for k in range(out.size):
        theta = cir_step(theta, shape, rate, h, rng)
        out[k] = theta


@entry_point
def gammas(shape, rng, out):
    for k in range(out.size):
        out[k] = draw_gamma(shape, rng)


@entry_point
def log_gammas(shape, rng, out):
    for k in range(out.size):
        out[k] = draw_log_small_gamma(shape, rng)


@entry_point
def small_gammas(shape, negligible, rng, out):
    for k in range(out.size):
        out[k] = draw_small_gamma(shape, negligible, rng)


@entry_point
def poissons(mean, rng, out):
    for k in range(out.size):
        out[k] = draw_poisson(mean, rng)


@pytest.mark.parametrize("h", [0.5, 4.0, 40.0])
@pytest.mark.parametrize(("shape", "rate"), [(0.3, 1.0), (5.0, 2.5)])
def test_every_step_size_leaves_the_gamma_law_invariant(shape, rate, h):
    """40,000 effective draws: 2 % of the variance of a Gamma(0.3) law, 4 allowed."""
    every = 1 + int(10 / (rate * h))
    out = np.empty(40_000 * every)
    run(1.0, shape, rate, h, np.random.default_rng(0), out)
    draws = out[every - 1 :: every]
    exact = stats.gamma(shape, scale=1 / rate)
    assert stats.kstest(draws, exact.cdf).pvalue > 1e-3
    assert abs(draws.mean() / exact.mean() - 1) < 4 * exact.std() / exact.mean() / 200
    assert abs(draws.var() / exact.var() - 1) < 0.15


def test_a_transition_has_the_law_of_a_noncentral_chi_square():
    """Given theta, 4 theta' / ((1 - r) / c * 2) is chi-square with 2 b degrees."""
    theta, shape, rate, h, n = 0.8, 1.5, 2.0, 0.7, 20_000
    out, rng = np.empty(1), np.random.default_rng(1)
    draws = np.empty(n)
    for k in range(n):
        run(theta, shape, rate, h, rng, out)
        draws[k] = out[0]
    decay = np.exp(-rate * h / 2)
    scale = (1 - decay) / (2 * rate)
    exact = stats.ncx2(2 * shape, theta * decay / scale, scale=scale)
    assert stats.kstest(draws, exact.cdf).pvalue > 1e-3


@pytest.mark.parametrize("shape", [1e-4, 0.05, 0.5, 30.0])
def test_gamma_draws_of_any_shape(shape):
    out = np.empty(20_000)
    gammas(shape, np.random.default_rng(2), out)
    assert (out > 0).all() and np.isfinite(out).all()
    # The law of log Gamma(a), a small, is that of log(U) / a next to zero.
    some = out[out > 1e-290]
    if some.size > 1000:
        exact = stats.gamma(shape)
        low = exact.cdf(1e-290)
        uniform = (exact.cdf(some) - low) / (1 - low)
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3
    assert abs(np.mean(out <= 1e-290) - stats.gamma(shape).cdf(1e-290)) < 0.015


@pytest.mark.parametrize("shape", [1e-3, 0.04, 0.3, 0.9])
def test_logs_of_gamma_draws_of_small_shapes(shape):
    """By the law of log x: exp(a log x) is almost uniform where shapes are small."""
    out = np.empty(20_000)
    log_gammas(shape, np.random.default_rng(4), out)
    exact = stats.loggamma(shape)
    assert stats.kstest(out, exact.cdf).pvalue > 1e-3
    error = exact.std() / np.sqrt(out.size)
    assert abs(out.mean() - exact.mean()) < 4 * error


@pytest.mark.parametrize("mean", [0.0, 3.0, 1e10])
def test_poisson_draws_of_any_mean(mean):
    out = np.empty(20_000)
    poissons(mean, np.random.default_rng(3), out)
    assert abs(out.mean() - mean) <= 4 * np.sqrt(mean / out.size)
    assert abs(out.var() - mean) <= 0.05 * mean


@pytest.mark.parametrize("shape", [0.01, 0.4])
def test_small_gamma_draws_leave_out_those_that_are_negligible(shape):
    """40,000 draws: zeros as often as draws below e, the law of others above it."""
    least, out = 1e-25, np.empty(40_000)
    small_gammas(shape, least**shape, np.random.default_rng(0), out)
    exact, found = stats.gamma(shape), out[out > 0]
    share = exact.cdf(least)
    error = np.sqrt(share * (1 - share) / out.size)
    assert abs(np.mean(out == 0) - share) <= 4 * error
    above = stats.kstest((exact.cdf(found) - share) / (1 - share), "uniform")
    assert above.pvalue > 1e-3
