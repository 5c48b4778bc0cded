"""Fewer rows than parameters: chains in the span of the rows, exact draws beyond it."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import log_expit
from sklearn.linear_model import LogisticRegression

from skbayes_sg import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCPoissonRegressor,
)
from skbayes_sg.inference.exploration import wide
from skbayes_sg.inference.fitting import fit_chains
from skbayes_sg.kernels.samplers import SplitHMC

VARIANCES = np.array([4.0, 1.0, 9.0, 2.0, 1.0])  # of four columns and the intercept
PRIOR = dict(prior_variance=VARIANCES[:4], intercept_variance=VARIANCES[4])


def two_rows(offset=0.0):
    X = np.random.default_rng(0).normal(size=(2, 4)) + offset
    return X, np.array([0, 1])


def exact_moments(X, y):
    """Return means and sds of all parameters, by quadrature over two predictors."""
    A = np.column_stack([X, np.ones(2)])
    covariance = (A * VARIANCES) @ A.T  # of the predictors, a priori
    root = np.linalg.cholesky(covariance)
    z = np.linspace(-9, 9, 601)
    grid = np.stack(np.meshgrid(z, z, indexing="ij"), axis=-1).reshape(-1, 2)
    eta = grid @ root.T
    log_p = -0.5 * (grid**2).sum(axis=1) + log_expit((2 * y - 1) * eta).sum(axis=1)
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    # Given the predictors theta is Gaussian, of mean G eta and a constant covariance.
    G = (VARIANCES[:, None] * A.T) @ np.linalg.inv(covariance)
    mean = p @ eta
    spread = (eta * p[:, None]).T @ eta - np.outer(mean, mean)
    rest = np.diag(VARIANCES) - G @ A * VARIANCES
    return G @ mean, np.sqrt(np.diag(rest + G @ spread @ G.T))


@pytest.mark.parametrize("along_prior", [False, True])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_draws_of_all_parameters_are_exact(kind, along_prior, monkeypatch):
    if along_prior:  # as of many rows
        monkeypatch.setattr(wide, "MAX_DENSE", 1)
    X, y = two_rows()
    mean, sd = exact_moments(X, y)
    model = SGLDLogisticRegression(**PRIOR, random_state=0).fit(kind(X), y)
    draws = model.samples_.reshape(-1, 5)
    assert model._fit is None and model.mode_.shape == (5,)
    assert isinstance(model.sampler_, SplitHMC) == along_prior
    # 4,000 draws, nearly independent: errors of 0.016 sd and 1.1 %, or little more
    np.testing.assert_allclose((draws.mean(axis=0) - mean) / sd, 0.0, atol=0.08)
    np.testing.assert_allclose(draws.std(axis=0) / sd, 1.0, atol=0.05)


def test_far_columns_are_recorded_in_their_own_units():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(12, 40)), np.arange(12) % 2
    model = SGLDLogisticRegression(n_draws=500, random_state=0)
    here = model.fit(X - X.mean(axis=0), y).samples_
    there = model.fit(X - X.mean(axis=0) + 100.0, y).samples_
    np.testing.assert_allclose(there[..., :-1], here[..., :-1], atol=0.01)
    moved = there[..., -1] + 100.0 * there[..., :-1].sum(axis=-1)
    np.testing.assert_allclose(moved, here[..., -1], atol=0.1)


@pytest.mark.long
def test_counts_of_few_rows():
    """The intercept is recorded in the units of y, whose mean the model subtracts."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(10, 20)), rng.poisson(50.0, 10)
    options = dict(random_state=0, prior_variance=0.01)
    one = SGMCMCPoissonRegressor(**options).fit(X, y)
    other = SGMCMCPoissonRegressor(**options, preconditioner="dense").fit(X, y)
    a, b = (model.samples_.reshape(-1, 21) for model in (one, other))
    sd = b.std(axis=0)
    np.testing.assert_allclose((a.mean(axis=0) - b.mean(axis=0)) / sd, 0, atol=0.12)
    np.testing.assert_allclose(a.std(axis=0) / sd, 1.0, atol=0.08)


def wide_rows():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(20, 60))
    return X, (rng.random(20) < 0.5).astype(int)


def test_unseen_directions_keep_their_prior():
    X, y = wide_rows()
    model = SGHMCLogisticRegression(fit_intercept=False, random_state=0).fit(X, y)
    draws = model.samples_.reshape(-1, 60)
    unseen = np.linalg.svd(X)[2][20:]
    parts = draws @ unseen.T / np.sqrt(10.0)  # standard normal, independent
    assert abs(parts.var() - 1.0) < 0.01 and np.abs(parts.mean(axis=0)).max() < 0.08
    lagged = np.mean(parts[1:] * parts[:-1])
    assert abs(lagged) < 0.01
    check = model.check()
    assert "ok" in set(check["verdict"])


def test_chains_move_in_as_many_dimensions_as_there_are_rows(monkeypatch):
    seen = []

    def spy(model, job, previous=None, start=None):
        fit = fit_chains(model, job, previous, start)
        seen.append(fit.found)
        return fit

    monkeypatch.setattr("skbayes_sg.base._sampling.fit_chains", spy)
    X, y = wide_rows()
    short = dict(n_draws=20, n_chains=2, random_state=0)
    model = SGLDLogisticRegression(**short).fit(X, y)
    assert seen[0].start.shape == (2, 20) and model.samples_.shape == (2, 20, 61)
    SGLDLogisticRegression(**short, preconditioner="dense").fit(X, y)
    assert seen[1].start.shape == (2, 61) and seen[1].completion is None


def test_the_mode_is_that_of_all_parameters():
    X, y = wide_rows()
    model = SGLDLogisticRegression(fit_intercept=False, n_draws=2).fit(X, y)
    exact = LogisticRegression(C=10.0, fit_intercept=False, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(model.mode_, exact.coef_[0], atol=5e-3)


def test_warm_starts_go_on_bit_by_bit():
    X, y = wide_rows()
    settings = dict(n_chains=2, burn_in=20, thin=3, step_size=0.1, random_state=0)
    whole = SGLDLogisticRegression(n_draws=30, **settings).fit(X, y).samples_
    model = SGLDLogisticRegression(n_draws=10, warm_start=True, **settings).fit(X, y)
    first = model.samples_
    model.set_params(n_draws=20).fit(X, y)
    assert np.array_equal(whole, np.concatenate([first, model.samples_], axis=1))
    other = model.fit(X[::-1], y[::-1])  # other data: from the last draws on
    assert np.isfinite(other.samples_).all()


def test_all_classes_share_a_basis():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(9, 30)), np.arange(9) % 3
    model = SGLDLogisticRegression(n_draws=300, random_state=0).fit(X, y)
    assert model.coef_.shape == (3, 30) and model.score(X, y) == 1.0
    sd = np.sqrt(np.append(np.full(30, 10.0), 100.0))  # of the prior
    unseen = np.linalg.svd(np.column_stack([X, np.ones(9)]) * sd)[2][9:]
    parts = (model.samples_.reshape(-1, 3, 31) / sd) @ unseen.T
    np.testing.assert_allclose(parts.var(axis=(0, 2)), 1.0, atol=0.03)


def test_the_reduced_rows_have_the_same_predictors():
    X, y = wide_rows()
    model = SGLDLogisticRegression(n_draws=2).fit(X, y)._model
    inner, seen = wide.reduced(model)
    theta = np.random.default_rng(0).normal(size=61)
    eta = inner.rows @ seen.of_theta(theta)
    np.testing.assert_allclose(eta, X @ theta[:-1] + theta[-1], atol=1e-9)
    again = seen.of_theta(seen.theta_of_seen(seen.of_theta(theta)))
    np.testing.assert_allclose(again, seen.of_theta(theta), atol=1e-9)
