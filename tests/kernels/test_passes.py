"""Hessians by differences, for models that give none, are those that others give."""

import numpy as np
import pytest

from skbayes_sg.kernels import passes
from skbayes_sg.kernels.protocol.model import init_work
from tests.kernels.examples import small_model
from tests.kernels.test_models import random_theta

OPERATIONS = (
    "hessian",
    "hessian_diagonal",
    "prior_hessian",
    "prior_hessian_diagonal",
)


def hessians(model, theta):
    d, found = theta.size, {}
    for name in OPERATIONS:
        out = np.zeros(d if name.endswith("diagonal") else (d, d))
        getattr(passes, name)(model, init_work(model), theta, out)
        found[name] = out
    return found


@pytest.mark.parametrize("name", ["softmax", "poisson"])
def test_differences_equal_derivatives(name, monkeypatch, uncompiled):
    model = small_model(name)
    theta = random_theta(model)
    given = hessians(model, theta)
    monkeypatch.setattr(passes, "implements", lambda op, component: False)
    for key, value in hessians(model, theta).items():
        np.testing.assert_allclose(value, given[key], rtol=1e-6, atol=1e-7)


def test_diagonal_from_random_signs(monkeypatch, uncompiled):
    """Signs v of 4 parameters: the mean of v_j (H v)_j over 400 of them is H_jj."""
    model = small_model("poisson")
    theta = random_theta(model)
    exact = hessians(model, theta)
    mean, n = np.zeros(theta.size), 400
    rng, work = np.random.default_rng(0), init_work(model)
    for _ in range(n):
        v = rng.choice([-1.0, 1.0], theta.size)
        product = passes.hessian_product(passes.row_gradient, model, work, theta, v)
        np.testing.assert_allclose(product, exact["hessian"] @ v, rtol=1e-6, atol=1e-6)
        mean += v * product / n
    others = exact["hessian"] - np.diag(exact["hessian_diagonal"])
    scatter = np.sqrt((others**2).sum(axis=1) / n)
    assert np.all(np.abs(mean - exact["hessian_diagonal"]) < 4 * scatter + 1e-6)


@pytest.mark.parametrize("name", ["softmax", "poisson", "logistic"])
def test_mean_of_hessians(name, uncompiled):
    model = small_model(name)
    thetas = np.stack([random_theta(model, seed) for seed in range(3)])
    exact = np.mean([hessians(model, theta)["hessian"] for theta in thetas], axis=0)
    found = np.zeros_like(exact)
    passes.mean_hessian(model, init_work(model), thetas, found)
    np.testing.assert_allclose(found, exact, rtol=1e-9, atol=1e-9)
