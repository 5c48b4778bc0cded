"""Every model: derivatives, sparse rows, row weights, float32, compiled or not."""

import numba
import numpy as np
import pytest

from skbayes_sg.kernels.capabilities.anchors import add_difference, init_anchor
from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian,
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import FixedGaussian
from skbayes_sg.kernels.likelihoods import protocol as likelihoods
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.passes import hessian, hessian_diagonal, log_posterior
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    is_log_concave,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    parameter_dtype,
)
from tests.kernels.examples import FAMILIES, MODELS, glm, small_model

STEP = 1e-5
ROWS = np.array([3, 0, 17, 4, 10], INDEX)  # in no order; row 10 of a GLM is empty


def all_rows(model):
    return np.arange(n_rows(model), dtype=INDEX)


def random_theta(model, seed=0):
    theta = 0.5 * np.random.default_rng(seed).normal(size=n_parameters(model))
    return theta.astype(parameter_dtype(model))


def value(model, theta, idx, scale=1.0):
    """log p(theta) + scale * log-likelihood of the rows."""
    work = init_work(model)
    likelihood = log_likelihood(model, work, theta, idx)
    return log_prior(model, work, theta) + scale * likelihood


def gradient(model, theta, idx, scale=1.0):
    work, out = init_work(model), np.zeros_like(theta)
    add_prior_gradient(model, work, theta, out)
    add_gradient(model, work, theta, idx, scale, out)
    return out


def curvature(model, theta, idx, scale=1.0):
    """Minus the Hessian of the scaled log-likelihood."""
    out = np.zeros((theta.size, theta.size))
    add_hessian(model, init_work(model), theta, idx, scale, out)
    return out


def central_differences(function, theta):
    steps = STEP * np.eye(theta.size)
    return np.array(
        [(function(theta + e) - function(theta - e)) / (2 * STEP) for e in steps]
    )


def assert_close(actual, expected, tolerance):
    """Compare relative to the largest element."""
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * abs(np.asarray(expected)).max()
    )


@pytest.mark.parametrize("name", MODELS)
def test_gradient_by_central_differences(name):
    model = small_model(name)
    theta = random_theta(model)
    numeric = central_differences(lambda t: value(model, t, ROWS, 4.0), theta)
    assert_close(gradient(model, theta, ROWS, 4.0), numeric, 1e-6)


@pytest.mark.parametrize("name", MODELS)
def test_hessian_by_central_differences(name):
    model = small_model(name)
    theta = random_theta(model)
    likelihood = curvature(model, theta, ROWS, 4.0)
    prior = np.zeros(theta.size)
    add_prior_hessian_diagonal(model, init_work(model), theta, prior)
    numeric = -central_differences(lambda t: gradient(model, t, ROWS, 4.0), theta)
    assert_close(likelihood + np.diag(prior), numeric, 1e-6)

    diagonal = np.zeros(theta.size)
    add_hessian_diagonal(model, init_work(model), theta, ROWS, 4.0, diagonal)
    assert_close(diagonal, np.diag(likelihood), 1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_difference_to_an_anchor(name, uncompiled):
    model = small_model(name)
    work, theta, center = init_work(model), random_theta(model, 1), random_theta(model)
    anchor = init_anchor(model, work, center)
    out = np.zeros_like(theta)
    add_difference(model, work, theta, anchor, ROWS, 4.0, out)
    ends = np.zeros((2, theta.size))
    add_gradient(model, work, theta, ROWS, 4.0, ends[0])
    add_gradient(model, work, center, ROWS, 4.0, ends[1])
    assert_close(out, ends[0] - ends[1], 1e-12)


@pytest.mark.parametrize("name", MODELS)
def test_concave(name):
    model = small_model(name)
    assert is_log_concave(model)
    for seed in range(5):
        theta = random_theta(model, seed)
        matrix = curvature(model, theta, all_rows(model))
        assert np.linalg.eigvalsh(matrix).min() > -1e-10 * abs(matrix).max()


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_sparse_rows_equal_dense_rows(name, intercept):
    options = {"weighted": True, "intercept": intercept}
    dense, sparse = (glm(name, sparse=s, **options) for s in (False, True))
    theta = random_theta(dense)
    for function in (value, gradient, curvature):
        assert_close(
            function(sparse, theta, ROWS, 2.0), function(dense, theta, ROWS, 2.0), 1e-12
        )


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_weights_equal_repetition(name, sparse):
    model = glm(name, sparse=sparse)
    theta, idx = random_theta(model), all_rows(model)
    counts = idx % 4  # 0, 1, 2 or 3 times each row
    weighted = for_kernels(model._replace(weights=counts.astype(np.float64)))
    repeated = np.repeat(idx, counts)
    for function in (value, gradient, curvature):
        assert_close(
            function(weighted, theta, idx), function(model, theta, repeated), 1e-12
        )


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_float32_agrees(name, sparse):
    single, double = (
        glm(name, dtype=dtype, sparse=sparse, weighted=True)
        for dtype in (np.float32, np.float64)
    )
    theta = random_theta(single)
    assert theta.dtype == np.float32
    result = gradient(single, theta, ROWS)
    assert result.dtype == np.float32
    assert_close(result, gradient(double, theta.astype(np.float64), ROWS), 2e-6)
    assert_close(
        value(single, theta, ROWS), value(double, theta.astype(np.float64), ROWS), 2e-6
    )


@pytest.mark.parametrize("name", ["logistic", "gaussian"])
def test_compiled_passes_equal_python(name):
    model = small_model(name)
    theta, idx, work = random_theta(model), all_rows(model), init_work(model)
    out = np.empty_like(theta)
    compiled = log_posterior(model, work, theta, out)
    assert_close(compiled, value(model, theta, idx), 1e-12)
    assert_close(out, gradient(model, theta, idx), 1e-12)

    matrix, diagonal = np.zeros((theta.size, theta.size)), np.zeros(theta.size)
    hessian(model, work, theta, matrix)
    hessian_diagonal(model, work, theta, diagonal)
    assert_close(matrix, curvature(model, theta, idx), 1e-12)
    assert_close(diagonal, np.diag(matrix), 1e-12)


def _likelihood_terms(law, eta, y, noise, scores, densities, curvatures):
    likelihoods.score(law, eta.copy(), y, noise, scores)
    likelihoods.log_density(law, eta, y, noise, densities)
    for k in range(eta.shape[0]):
        for m in range(eta.shape[0]):
            likelihoods.curvature(law, eta, k, m, noise, curvatures[k, m])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("name", FAMILIES)
def test_compiled_families_equal_python(name, dtype):
    model = glm(name, dtype=dtype)
    shape = model.n_outputs, ROWS.size
    eta = np.random.default_rng(0).normal(size=shape).astype(dtype)
    results = []
    y, noise = model.y[ROWS].reshape(1, -1), np.empty(0)
    for terms in (_likelihood_terms, numba.njit(_likelihood_terms)):
        out = np.empty(shape), np.empty(ROWS.size), np.empty((shape[0], *shape))
        terms(model.likelihood, eta, y, noise, *out)
        results.append(out)
    tolerance = 10 * np.finfo(dtype).eps
    for python, compiled in zip(*results, strict=True):
        assert_close(compiled, python, tolerance)


def test_packing_puts_the_intercept_of_each_output_last():
    model = glm("softmax", p=3)
    theta = np.arange(12.0)
    coefficients, intercepts = theta.reshape(3, 4)[:, :3], theta.reshape(3, 4)[:, 3]
    eta = model.rows @ coefficients.T + intercepts
    log_p = eta - np.log(np.exp(eta).sum(axis=1, keepdims=True))
    expected = log_p[all_rows(model), model.y.astype(int)].sum()
    work = init_work(model)
    actual = log_likelihood(model, work, theta, all_rows(model))
    np.testing.assert_allclose(actual, expected, rtol=1e-12)
    np.testing.assert_allclose(
        log_prior(model, work, theta), -0.5 * 0.7 * (theta @ theta), rtol=1e-12
    )


def test_gaussian_posterior_has_the_stated_mean_and_precision():
    model = small_model("gaussian")
    idx = all_rows(model)
    np.testing.assert_allclose(
        gradient(model, model.y.mean(axis=0), idx), 0.0, atol=1e-12
    )
    theta = random_theta(model)
    np.testing.assert_allclose(
        curvature(model, theta, idx), model.precision, rtol=1e-12
    )


def test_linear_regression_is_conjugate():
    rng = np.random.default_rng(0)
    X, tau, prior_precision = rng.normal(size=(30, 4)), 2.0, 0.3
    y = X @ np.arange(4.0) + rng.normal(size=30) / np.sqrt(tau)
    none = np.empty(0)
    prior = np.full(4, prior_precision)
    model = for_kernels(GLM(FixedGaussian(tau), X, y, none, prior, False, 1))
    precision = tau * X.T @ X + prior_precision * np.eye(4)
    mean = np.linalg.solve(precision, tau * X.T @ y)
    idx = all_rows(model)
    np.testing.assert_allclose(gradient(model, mean, idx), 0.0, atol=1e-10)
    likelihood = curvature(model, mean, idx)
    np.testing.assert_allclose(likelihood + prior_precision * np.eye(4), precision)


@pytest.mark.parametrize("name", ["logistic", "softmax"])
def test_large_predictors_stay_finite(name):
    model = glm(name)
    theta = 1e3 * random_theta(model)
    for function in (value, gradient, curvature):
        assert np.all(np.isfinite(function(model, theta, all_rows(model))))
