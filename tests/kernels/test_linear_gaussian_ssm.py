"""Kalman gradients: the exact likelihood, conjugacy, and sums over blocks."""

import numpy as np
import pytest
from scipy.stats import multivariate_normal

from skbayes_sg.kernels.capabilities.buffers import no_messages, with_messages
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import entry_point, for_kernels
from skbayes_sg.kernels.models import LinearGaussianSSM
from skbayes_sg.kernels.models.linear_gaussian_ssm import InverseWishart
from skbayes_sg.kernels.models.linear_gaussian_ssm_series import run_states
from skbayes_sg.kernels.protocol.model import (
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_rows,
)

LENGTHS = [9, 1, 5]
STEP = 1e-5


def make_model(d, m, block, buffer, seed=0, complete=False):
    """Return a model of three short sequences, with missing values."""
    rng = np.random.default_rng(seed)
    X = 1.0 + 2.0 * rng.normal(size=(sum(LENGTHS), m))
    if not complete:
        X[rng.random(X.shape) < 0.2] = np.nan
        X[3] = np.nan
    model = LinearGaussianSSM(
        X=X,
        blocks=make_blocks(LENGTHS, block, buffer),
        messages=no_messages(d + d * d),
        C=rng.normal(size=(m, d)),
        level_mean=np.zeros(m),
        level_precision=np.full(m, 0.1),
        transition_precision=0.5,
        state_prior=InverseWishart(d + 2.0, 0.7 * np.eye(d)),
        noise_prior=InverseWishart(m + 3.0, 0.6 * np.eye(m) + 0.1),
    )
    return for_kernels(model)


def make_point(d, m, seed=1):
    """Return parameters of a stable system."""
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(d, d))
    A *= 0.8 / np.abs(np.linalg.eigvals(A)).max()
    roots = rng.normal(size=(d, d)), rng.normal(size=(m, m))
    Q, R = (root @ root.T + 0.3 * np.eye(len(root)) for root in roots)
    return np.concatenate([rng.normal(size=m), A.ravel(), Q.ravel(), R.ravel()])


def unpack(x, m, d):
    q, r = m + d * d, m + 2 * d * d
    Q, R = x[q:r].reshape(d, d), x[r:].reshape(m, m)
    return x[:m], x[m:q].reshape(d, d), 0.5 * (Q + Q.T), 0.5 * (R + R.T)


def exact_log_likelihood(model, x):
    """Return the density of all numbers together, by their covariance matrix."""
    m, d = model.C.shape
    level, A, Q, R = unpack(x, m, d)
    G = np.linalg.solve(np.eye(d * d) - np.kron(A, A), Q.ravel()).reshape(d, d)
    begin, value = 0, 0.0
    for n in LENGTHS:
        K = np.zeros((n, d, n, d))
        for i in range(n):
            for j in range(i, n):
                K[j, :, i] = np.linalg.matrix_power(A, j - i) @ G
                K[i, :, j] = K[j, :, i].T
        seen = np.kron(np.eye(n), model.C)
        S = seen @ K.reshape(n * d, n * d) @ seen.T + np.kron(np.eye(n), R)
        y = (model.X[begin : begin + n] - level).ravel()
        known = ~np.isnan(y)
        if known.any():
            S = S[np.ix_(known, known)]
            value += multivariate_normal(np.zeros(len(S)), S).logpdf(y[known])
        begin += n
    return value


def differences(function, x):
    steps = STEP * np.eye(x.size)
    return np.array([(function(x + e) - function(x - e)) / (2 * STEP) for e in steps])


def symmetric(g, m, d):
    return np.concatenate([part.ravel() for part in unpack(g, m, d)])


@entry_point
def value_and_gradient(model, work, theta, idx, out):
    return add_value_and_gradient(model, work, theta, idx, 1.0, out)


@entry_point
def prior_and_gradient(model, work, theta, out):
    add_prior_gradient(model, work, theta, out)
    return log_prior(model, work, theta)


@entry_point
def likelihood(model, work, theta, idx):
    return log_likelihood(model, work, theta, idx)


def evaluate(model, x):
    out = np.zeros(x.size)
    idx = np.arange(n_rows(model), dtype=np.int32)
    return value_and_gradient(model, init_work(model), x, idx, out), out


@pytest.mark.parametrize("d, m", [(1, 1), (2, 3), (3, 3)])
@pytest.mark.parametrize("complete", [True, False])
def test_rows_add_up_to_the_exact_likelihood_and_score(d, m, complete):
    model, x = make_model(d, m, 4, 50, complete=complete), make_point(d, m)
    value, g = evaluate(model, x)
    np.testing.assert_allclose(value, exact_log_likelihood(model, x), rtol=1e-12)
    idx = np.arange(n_rows(model), dtype=np.int32)
    again = likelihood(model, init_work(model), x, idx)
    np.testing.assert_allclose(value, again, rtol=1e-12)
    expected = differences(lambda z: exact_log_likelihood(model, z), x)
    g, expected = symmetric(g, m, d), symmetric(expected, m, d)
    np.testing.assert_allclose(g, expected, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("block, buffer", [(1, 0), (3, 0), (4, 2), (50, 0)])
def test_messages_make_any_block_exact(block, buffer):
    x = make_point(2, 3)
    value, g = evaluate(make_model(2, 3, 4, 50), x)
    model = for_kernels(with_messages(make_model(2, 3, block, buffer), x))
    found, rows = evaluate(model, x)
    np.testing.assert_allclose(found, value, rtol=1e-10)
    np.testing.assert_allclose(rows, g, rtol=1e-10, atol=1e-10)


def test_short_buffers_without_messages_are_biased():
    x = make_point(2, 3)
    errors = []
    exact = evaluate(make_model(2, 3, 4, 50), x)[1]
    for buffer in (0, 2, 4):
        g = evaluate(make_model(2, 3, 4, buffer), x)[1]
        errors.append(np.abs(g - exact).max())
    assert errors[0] > 3 * errors[1] > 9 * errors[2] > 1e-8


def test_prior():
    model, x = make_model(2, 3, 4, 0), make_point(2, 3)
    work, g = init_work(model), np.zeros(x.size)
    prior_and_gradient(model, work, x, g)
    expected = differences(
        lambda z: prior_and_gradient(model, work, z, np.zeros(x.size)), x
    )
    g, expected = symmetric(g, 3, 2), symmetric(expected, 3, 2)
    np.testing.assert_allclose(g, expected, rtol=1e-6, atol=1e-6)


def test_without_transitions_states_have_a_conjugate_posterior():
    """With A = 0 the points are independent, and states given y regressions."""
    model, x = make_model(2, 3, None, 0), make_point(2, 3)
    x[3:7] = 0.0
    level, _, Q, R = unpack(x, 3, 2)
    work = init_work(model)
    work.x[:] = x
    run_states(model, work, 0, True)
    for t in range(LENGTHS[0]):
        known = ~np.isnan(model.X[t])
        C, noise = model.C[known], np.linalg.inv(R[np.ix_(known, known)])
        precision = np.linalg.inv(Q) + C.T @ noise @ C
        cov = np.linalg.inv(precision)
        mean = cov @ C.T @ noise @ (model.X[t] - level)[known]
        np.testing.assert_allclose(work.states.smooth_cov[t + 1], cov, atol=1e-12)
        np.testing.assert_allclose(work.states.smooth_mean[t + 1], mean, atol=1e-12)
