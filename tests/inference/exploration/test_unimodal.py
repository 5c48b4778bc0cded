"""Modes, curvatures and what is chosen from them."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from skbayes_sg.inference import optimize
from skbayes_sg.inference.curvature import (
    curvature_diagonal,
    curvature_matrix,
    largest_curvature,
    whitening,
)
from skbayes_sg.inference.exploration import unimodal as tuning
from skbayes_sg.inference.exploration.gradients import MIN_BATCH, automatic_batch_size
from skbayes_sg.inference.exploration.pilot import pilot
from skbayes_sg.inference.exploration.region import Region, geometry
from skbayes_sg.inference.optimize import adam, find_mode, lbfgs
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM, GaussianMean
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import init_work, n_rows
from skbayes_sg.kernels.protocol.sampler import accurate_step
from skbayes_sg.kernels.samplers import (
    BADODAB,
    HMC,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)


@pytest.fixture(scope="module")
def logistic():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4)) * [1.0, 1e3, 1e-3, 1.0]
    X[:, 3] += X[:, 0]
    y = (rng.random(2000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    return for_kernels(
        GLM(Bernoulli(), X, y, np.empty(0), np.full(X.shape[1] + 1, 0.1), True, 1)
    )


@pytest.fixture(scope="module")
def gaussian():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    return for_kernels(
        GaussianMean(rng.normal(size=(50, 3)), root @ root.T + np.eye(3))
    )


@pytest.mark.parametrize("max_dense", [500, 0])
def test_lbfgs_finds_the_mode(logistic, max_dense):
    mode = lbfgs(logistic, np.zeros(5), max_dense=max_dense)
    g = np.empty(5)
    log_posterior(logistic, init_work(logistic), mode, g)
    # The gradient in whitened units is the distance from the mode in posterior sds.
    distance = whitening(curvature_matrix(logistic, mode)).T @ g
    assert np.abs(distance).max() < 0.02


def test_a_mode_of_many_rows_takes_few_passes(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200_000, 4))
    y = (rng.random(200_000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    model = for_kernels(GLM(Bernoulli(), X, y, np.empty(0), np.full(5, 0.1), True, 1))
    passes = []

    def counted(model, *arguments):
        passes.append(n_rows(model))
        return log_posterior(model, *arguments)

    monkeypatch.setattr(optimize, "log_posterior", counted)
    mode, g = find_mode(model), np.empty(5)
    assert passes.count(200_000) <= 4
    log_posterior(model, init_work(model), mode, g)
    distance = whitening(curvature_matrix(model, mode)).T @ g
    assert np.abs(distance).max() < 0.002


@pytest.mark.parametrize("distance", [0.1, 3.0, 30.0])
def test_newtons_steps_stop_where_they_do_not_help(distance):
    """At the minimum of cosh, or where they begin if that is too far away."""

    def negative(phi):
        return np.cosh(phi).sum(), np.sinh(phi)

    start = np.full(2, distance)
    phi, g = optimize._approached(negative, start)
    np.testing.assert_array_equal(g, np.sinh(phi))
    if distance > 1.0:
        np.testing.assert_array_equal(phi, start)
    else:
        assert np.abs(g).max() <= optimize.NEAR


def test_adam_comes_close(gaussian):
    mode = adam(gaussian, np.zeros(3), n_iter=3000, batch_size=10)
    sd = np.sqrt(np.diag(np.linalg.inv(gaussian.precision)))
    assert np.abs((mode - gaussian.y.mean(axis=0)) / sd).max() < 0.2


def test_curvature(logistic, gaussian):
    np.testing.assert_allclose(
        curvature_matrix(gaussian, np.ones(3)), gaussian.precision
    )
    theta = np.array([0.5, 1e-4, 2.0, -0.3, 0.1])
    matrix = curvature_matrix(logistic, theta)
    np.testing.assert_allclose(np.diag(matrix), curvature_diagonal(logistic, theta))
    unit = 1 / np.sqrt(np.diag(matrix))
    exact = eigvalsh(matrix * np.outer(unit, unit))[-1]
    assert exact <= largest_curvature(logistic, theta, unit) <= 1.1 * exact
    factor = whitening(matrix)
    np.testing.assert_allclose(factor @ factor.T, np.linalg.inv(matrix), rtol=1e-6)
    assert np.array_equal(factor, np.triu(factor))


@pytest.mark.parametrize("preconditioner", ["none", "diagonal", "dense"])
def test_steps_have_the_same_meaning_in_all_coordinates(gaussian, preconditioner):
    mode = find_mode(gaussian)
    where = geometry(gaussian, mode, preconditioner)
    unit = {
        "none": np.ones(3),
        "diagonal": 1 / np.sqrt(np.diag(gaussian.precision)),
    }.get(preconditioner)
    largest = 1.0
    if unit is not None:
        largest = eigvalsh(gaussian.precision * np.outer(unit, unit))[-1]
    assert np.isclose(where.largest, largest)
    still = np.zeros(3)
    for sampler, power in ((SGLD(), 1.0), (SGHMC(), 0.5), (HMC(), 1.0)):
        step = accurate_step(sampler, 0.0, tuning.TOLERANCE) / largest**power
        assert np.isclose(tuning.automatic_step(sampler, where, still), step)


def test_gradient_noise_is_the_variance(gaussian):
    where = geometry(gaussian, find_mode(gaussian), "none")
    draws = pilot(gaussian, where, 0).draws
    noise = tuning.gradient_noise(gaussian, Minibatch(10), where, draws, 0)
    covariance = np.cov((gaussian.y @ gaussian.precision).T) * (1 / 10 - 1 / 50)
    exact = np.diag(covariance) / np.diag(gaussian.precision)
    # 128 pairs: a relative error of sqrt(2 / 128).
    assert np.abs(noise / exact - 1).max() < 4 * np.sqrt(2 / 128)
    differences = ControlVariate(10, find_mode(gaussian))
    still = tuning.gradient_noise(gaussian, differences, where, draws, 0)
    assert still.max() < 1e-20


@pytest.mark.parametrize("power", [1.0, 1.5])  # preferential minibatches gain more
def test_batch_size_follows_the_noise(power):
    sampler, n = LeimkuhlerMatthews(), 100_000

    def size_for(level, steepness=1.0):
        def noise_of(size):
            return np.array([0.0, level * 1000**power / size**power * (1 - size / n)])

        size = automatic_batch_size(n, sampler, noise_of, steepness)
        full = tuning.exact_step(sampler, steepness, tuning.TOLERANCE)
        step = accurate_step(sampler, noise_of(size)[1], tuning.TOLERANCE)
        assert size <= MIN_BATCH or 0.5 * full < step < 0.9 * full
        return size

    sizes = [size_for(level) for level in (0.0, 0.05, 1.0, 20.0)]
    assert sizes[0] == MIN_BATCH
    assert sizes[0] < sizes[1] < 1000 < sizes[2] < sizes[3] <= n
    assert size_for(1.0, 8.0) < sizes[2]


def test_short_chains_get_larger_steps():
    where = Region(np.zeros(1), "dense", None, 1.0, 1.0, *[np.ones(1)] * 3)
    noise = np.array([10.0])
    steps = [
        tuning.automatic_step(SGLD(), where, noise, 1.0, n_draws, thin)
        for n_draws, thin in ((4000, 10_000), (4000, None), (4000, 1), (400, 1))
    ]
    assert np.all(np.diff(steps) > 0)
    assert steps[0] == accurate_step(SGLD(), 10.0, tuning.TOLERANCE)
    # The best of all steps, by the errors of an autoregression of 4000 draws:
    # variance (1 + h V / 4) / (1 - h / 4), autocorrelation 1 - h / 2.
    h = np.geomspace(1e-3, 1, 1000)
    bias = (1 + 2.5 * h) / (1 - h / 4) - 1
    error = (bias / 4) ** 2 + (4 / h - 1) / 4000
    assert abs(np.log(steps[2] / h[np.argmin(error)])) < np.log(1.1)


def test_lengths_follow_the_step():
    where = Region(np.zeros(1), "dense", None, 1.0, 1.0, *[np.ones(1)] * 3)
    short = tuning.automatic_lengths(SGLD(), where, 1.0)
    long = tuning.automatic_lengths(SGLD(), where, 0.05)
    assert short[0] <= long[0] and short[1] < long[1] <= tuning.MAX_THIN


def test_noise_that_a_thermostat_absorbs():
    where = Region(np.zeros(4), "dense", None, 1.0, 1.0, *[np.ones(4)] * 3)
    alike, uneven = np.full(4, 100.0), np.array([0.0, 0.0, 0.0, 400.0])
    for sampler in (SGNHT(), BADODAB()):
        steps = [
            tuning.automatic_step(sampler, where, noise, 1.0, 1000, 10)
            for noise in (alike, uneven)
        ]
        assert steps[0] > 2 * steps[1]
        # More friction: slower, and stable up to smaller steps.
        calm, noisy = (
            tuning.automatic_lengths(sampler, where, 0.05, noise)
            for noise in (0.0 * alike, 10.0 * alike)
        )
        assert noisy[0] > 1.5 * calm[0]
        limit = tuning.step_limit(sampler, where, 1.0, alike)
        assert steps[0] < limit < 0.2 * tuning.step_limit(sampler, where)
        assert limit > 0.1
    assert tuning.step_limit(SGLD(), where, 1.0, alike) == 4.0


def test_extremes_of_the_noise_are_those_of_the_curvature():
    ones = np.ones(3)
    where = Region(np.zeros(3), "dense", None, 0.5, 8.0, 2.0 * ones, ones, ones)
    noise = tuning._at_largest(where, np.array([9.0, 10.0, 11.0]))
    np.testing.assert_allclose(noise, [9 / 16, 10 / 4, 11])


def test_scatter_of_measured_variances():
    rng = np.random.default_rng(0)
    measured = rng.chisquare(128, 1000) / 128  # all are 1
    assert tuning._without_scatter(measured, 128).std() < 0.4 * measured.std()
    differ = measured * np.repeat([1.0, 2.0], 500)
    corrected = tuning._without_scatter(differ, 128)
    # Half of them 1, half 2: an sd of 1/2.
    assert abs(corrected.std() - 0.5) < 0.02 < differ.std() - 0.5
    assert np.isclose(corrected.mean(), differ.mean())
