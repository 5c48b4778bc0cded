"""Implicit feedback: the likelihood of all pairs, by enumeration of them."""

import numpy as np
import pytest

from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models.matrix_factorization_curvature import apply_curvature
from skbayes_sg.kernels.protocol.model import log_likelihood, log_prior, refresh
from tests.kernels.test_matrix_factorization import (
    KINDS,
    N_ITEMS,
    N_USERS,
    all_rows,
    factorization,
    random_theta,
    random_work,
)
from tests.kernels.test_models import assert_close


@pytest.fixture
def model():
    return factorization(**KINDS["implicit"])


def cells(model):
    """Return outcomes and weights of all pairs, (n_users, n_items)."""
    y = np.zeros((N_USERS, N_ITEMS))
    w = np.full(y.shape, model.noise.unobserved)
    i, j = model.pairs.T
    y[i, j - N_USERS], w[i, j - N_USERS] = model.y, model.weights
    return y, w


def rows_of(model, theta):
    x = theta.reshape(-1, model.n_factors)
    return x[:N_USERS], x[N_USERS:]


def test_the_log_posterior_is_that_of_all_pairs(model, uncompiled):
    work, (y, w) = random_work(model), cells(model)
    side = np.repeat([0, 1], [N_USERS, N_ITEMS])
    values = []
    for seed in (0, 1):
        theta = random_theta(model, seed)
        work.noise[0] = 1.0 + seed
        U, V = rows_of(model, theta)
        expected = 0.5 * np.sum(w * np.log(work.noise[0]))
        expected -= 0.5 * work.noise[0] * np.sum(w * (y - U @ V.T) ** 2)
        deviation = np.concatenate([U, V]) - work.mean
        expected -= 0.5 * np.sum(work.hyper[side, 1] * deviation**2)
        ours = log_prior(model, work, theta)
        ours += log_likelihood(model, work, theta, all_rows(model))
        values.append(ours - expected)
    assert values[0] == pytest.approx(values[1], rel=1e-12)  # the same constant


def test_curvature_is_that_of_all_pairs(model, uncompiled):
    work, theta, (_, w) = random_work(model), random_theta(model), cells(model)
    U, V = rows_of(model, theta)
    v = random_theta(model, 2)
    dU, dV = rows_of(model, v)
    slope = work.noise[0] * w * (dU @ V.T + U @ dV.T)
    out = np.zeros_like(theta)
    apply_curvature(model, work, theta, v, out)
    assert_close(out, np.concatenate([slope @ V, slope.T @ U]).ravel(), 1e-12)


def test_the_noise_has_the_conditional_of_all_pairs(model, uncompiled):
    # Gamma(1 + sum(w) / 2, rate + squares / 2): 4 Monte Carlo errors of 400 draws.
    theta, rng, (y, w) = random_theta(model), np.random.default_rng(0), cells(model)
    target, draws = make_target(model, Full(), Identity(), rng), []
    for _ in range(400):
        refresh(model, target, theta, rng)
        draws.append(target.work.noise[0])
    U, V = rows_of(model, theta)
    rate = model.noise.rate + 0.5 * np.sum(w * (y - U @ V.T) ** 2)
    expected = (1.0 + 0.5 * w.sum()) / rate
    assert abs(np.mean(draws) - expected) < 4 * np.std(draws) / 20
