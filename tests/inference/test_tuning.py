"""Modes, curvatures and what is chosen from them."""

import numpy as np
import pytest
from scipy.linalg import eigvalsh

from skbayes_sg.inference import tuning
from skbayes_sg.inference.curvature import (
    curvature_diagonal,
    curvature_matrix,
    largest_curvature,
    whitening,
)
from skbayes_sg.inference.optimize import adam, find_mode, lbfgs
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.models import GLM, GaussianMean, Logistic
from skbayes_sg.kernels.ops import accurate_step, init_work, typed
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.samplers import HMC, SGHMC, SGLD, LeimkuhlerMatthews


@pytest.fixture(scope="module")
def logistic():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 4)) * [1.0, 1e3, 1e-3, 1.0]
    X[:, 3] += X[:, 0]
    y = (rng.random(2000) < 1 / (1 + np.exp(-X[:, 0]))).astype(float)
    return typed(GLM(Logistic(), X, y, np.empty(0), 0.1, True, 1))


@pytest.fixture(scope="module")
def gaussian():
    rng = np.random.default_rng(1)
    root = rng.normal(size=(3, 3))
    return typed(GaussianMean(rng.normal(size=(50, 3)), root @ root.T + np.eye(3)))


@pytest.mark.parametrize("max_dense", [500, 0])
def test_lbfgs_finds_the_mode(logistic, max_dense):
    mode = lbfgs(logistic, np.zeros(5), max_dense=max_dense)
    g = np.empty(5)
    log_posterior(logistic, init_work(logistic), mode, g)
    # The gradient in whitened units is the distance from the mode in posterior sds.
    distance = whitening(curvature_matrix(logistic, mode)).T @ g
    assert np.abs(distance).max() < 0.02


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
    where = tuning.geometry(gaussian, mode, preconditioner)
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
    assert np.isclose(tuning.stiffness(gaussian, where, 0), 1.0)


def test_gradient_noise_is_the_variance(gaussian):
    where = tuning.geometry(gaussian, find_mode(gaussian), "none")
    noise = tuning.gradient_noise(gaussian, Minibatch(10), where, 0)
    covariance = np.cov((gaussian.y @ gaussian.precision).T) * (1 / 10 - 1 / 50)
    exact = np.diag(covariance) / np.diag(gaussian.precision)
    # 128 pairs: a relative error of sqrt(2 / 128).
    assert np.abs(noise / exact - 1).max() < 4 * np.sqrt(2 / 128)
    differences = ControlVariate(10, find_mode(gaussian))
    assert tuning.gradient_noise(gaussian, differences, where, 0).max() < 1e-20


def test_batch_size_follows_the_noise(logistic):
    sampler = LeimkuhlerMatthews()
    sizes = [
        tuning.automatic_batch_size(logistic, sampler, np.array([noise]), 100)
        for noise in (0.001, 0.1, 10.0)
    ]
    assert tuning.MIN_BATCH <= sizes[0] < sizes[1] < sizes[2] <= 2000


def test_lengths_follow_the_step():
    where = tuning.Geometry(np.zeros(1), None, 1.0, 1.0, *[np.ones(1)] * 3)
    short = tuning.automatic_lengths(SGLD(), where, 1.0)
    long = tuning.automatic_lengths(SGLD(), where, 0.05)
    assert short[0] <= long[0] and short[1] < long[1] <= tuning.MAX_THIN
