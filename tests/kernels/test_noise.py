"""Regressions whose likelihoods have parameters of their own."""

import numpy as np
import pytest
from scipy import special, stats

from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.capabilities.anchors import add_difference, init_anchor
from skbayes_sg.kernels.capabilities.linearization import add_remainder, linearize
from skbayes_sg.kernels.capabilities.row_blocks import in_blocks
from skbayes_sg.kernels.capabilities.tables import init_table, replace_gradients
from skbayes_sg.kernels.data.rows import rows_at_index
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import NegativeBinomial, StudentT
from skbayes_sg.kernels.likelihoods.protocol import log_density
from skbayes_sg.kernels.numerics.gamma import digamma, log_rising
from skbayes_sg.kernels.passes import hessian, hessian_diagonal, log_posterior
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    init_work,
    is_log_concave,
    n_parameters,
    n_rows,
    record,
    theta_of,
    thinned,
)
from tests.kernels.examples import NOISY, noisy_glm
from tests.kernels.test_models import (
    ROWS,
    all_rows,
    assert_close,
    central_differences,
    gradient,
    random_theta,
    value,
)

MODELS = pytest.mark.parametrize("name", NOISY)


def likelihood_gradient(model, theta, idx):
    out = np.zeros_like(theta)
    add_gradient(model, init_work(model), theta, idx, 1.0, out)
    return out


def test_functions_around_gamma():
    x = np.geomspace(1e-3, 1e8, 200)
    ours = [digamma(value) for value in x]
    np.testing.assert_allclose(ours, special.digamma(x), rtol=1e-12)
    for y in (0.0, 1.0, 7.5, 1e3):
        exact = [  # a sum of logarithms, which loses no digits
            np.log1p(np.arange(y) / v).sum()
            if y == int(y)
            else special.gammaln(v + y) - special.gammaln(v) - y * np.log(v)
            for v in x[x < 1e5]
        ]
        ours = [log_rising(v, y) for v in x[x < 1e5]]
        np.testing.assert_allclose(ours, exact, rtol=1e-6, atol=1e-9)


def test_densities_are_those_of_scipy():
    rng = np.random.default_rng(0)
    eta, y = rng.normal(size=(1, 6)), rng.poisson(4.0, (1, 6)).astype(float)
    out, alpha, mu = np.empty(6), 0.3, np.exp(eta[0])
    log_density(NegativeBinomial(), eta, y, np.log([alpha]), out)
    law = stats.nbinom(1 / alpha, 1 / (1 + alpha * mu))
    exact = law.logpmf(y[0]) + special.gammaln(y[0] + 1)
    np.testing.assert_allclose(out, exact, rtol=1e-10)

    noise, df = np.array([1.2, 0.4]), 2 + np.exp(0.4)
    exact = stats.t.logpdf(y[0], df, eta[0], np.exp(-0.6)) + 0.5 * np.log(np.pi)
    for law, own in ((StudentT(), noise), (StudentT(df), noise[:1])):
        log_density(law, eta, y, own, out)
        np.testing.assert_allclose(out, exact, rtol=1e-10)


@MODELS
def test_gradient_by_central_differences(name):
    model = noisy_glm(name)
    assert not is_log_concave(model)
    theta = random_theta(model)
    numeric = central_differences(lambda t: value(model, t, ROWS, 4.0), theta)
    assert_close(gradient(model, theta, ROWS, 4.0), numeric, 1e-6)


@MODELS
def test_passes_and_their_hessian(name):
    model = noisy_glm(name)
    theta, work, d = random_theta(model), init_work(model), n_parameters(model)
    out = np.empty(d)
    at = log_posterior(model, work, theta, out)
    assert_close(at, value(model, theta, all_rows(model)), 1e-12)
    assert_close(out, gradient(model, theta, all_rows(model)), 1e-12)

    def slope(theta):
        return likelihood_gradient(model, theta, all_rows(model))

    matrix, diagonal = np.zeros((d, d)), np.zeros(d)
    hessian(model, work, theta, matrix)
    hessian_diagonal(model, work, theta, diagonal)
    assert_close(matrix, -central_differences(slope, theta), 1e-6)
    assert_close(diagonal, np.diag(matrix), 1e-12)


@MODELS
def test_differences_and_remainders_complete_the_gradient(name):
    model = noisy_glm(name)
    work, theta, center = init_work(model), random_theta(model, 1), random_theta(model)
    exact = likelihood_gradient(model, theta, ROWS)
    out = likelihood_gradient(model, center, ROWS)
    add_difference(model, work, theta, init_anchor(model, work, center), ROWS, 1.0, out)
    assert_close(out, exact, 1e-12)

    draws = np.array([random_theta(model, seed) for seed in range(4)])
    linear, idx = linearize(model, draws), all_rows(model)
    out = linear.total - linear.matrix @ (theta - linear.center)
    add_remainder(model, work, theta, linear.table, idx, np.ones(idx.size), out)
    assert_close(out, likelihood_gradient(model, theta, idx), 1e-10)

    table, out = init_table(model), np.zeros_like(theta)
    replace_gradients(model, work, center, table, ROWS, out)
    replace_gradients(model, work, theta, table, ROWS, out)
    assert_close(out, exact, 1e-12)


@MODELS
def test_linear_functions_touch_the_gradient_at_one_draw(name):
    """Of a single draw they are Taylor expansions: the rest is of second order."""
    model = noisy_glm(name)
    center, idx = random_theta(model), all_rows(model)
    linear, step = linearize(model, center[None]), 1e-3
    theta = center + step * random_theta(model, 1)
    out = np.zeros_like(theta)
    args = linear.table, idx, np.ones(idx.size), out
    add_remainder(model, init_work(model), theta, *args)
    change = likelihood_gradient(model, theta, idx) - linear.total
    assert np.abs(out).max() < 20 * step * np.abs(change).max()


@MODELS
@pytest.mark.parametrize("weighted", [True, False])
def test_other_forms_of_the_rows(name, weighted):
    model = noisy_glm(name, weighted=weighted)
    theta, idx = random_theta(model), all_rows(model)
    expected = likelihood_gradient(model, theta, idx)
    sparse = noisy_glm(name, weighted=weighted, sparse=True)
    assert_close(likelihood_gradient(sparse, theta, idx), expected, 1e-12)

    rng = np.random.default_rng(0)
    blocked = for_kernels(in_blocks(model, rng.permutation(n_rows(model))))
    assert rows_at_index(blocked.rows) > 1 and n_rows(blocked) < n_rows(model)
    actual = likelihood_gradient(blocked, theta, all_rows(blocked))
    assert_close(actual, expected, 1e-12)

    every = for_kernels(thinned(model, 2))
    twice = 2 * likelihood_gradient(model, theta, idx[::2])
    assert_close(likelihood_gradient(every, theta, all_rows(every)), twice, 1e-12)


@MODELS
def test_recorded_draws_are_in_the_units_of_the_data(name):
    model = noisy_glm(name)
    theta = random_theta(model)
    draw, units, K = np.empty_like(theta), model.units, model.n_outputs
    record(model, init_work(model), theta, draw)
    assert_close(theta_of(model, draw), theta, 1e-12)
    coef, inner = (x[: 4 * K].reshape(K, 4) for x in (draw, theta))
    X = model.rows + units.center
    eta = (model.rows @ inner[:, :3].T + inner[:, 3]) * units.scale + units.shift
    assert_close(X @ coef[:, :3].T + coef[:, 3], eta, 1e-12)


@MODELS
def test_mode(name):
    model = noisy_glm(name, n=60)
    mode = find_mode(model)
    g = np.empty_like(mode)
    best = log_posterior(model, init_work(model), mode, g)
    assert np.abs(g).max() < 0.02
    for seed in range(5):
        other = mode + 0.3 * random_theta(model, seed)
        assert log_posterior(model, init_work(model), other, g) < best
