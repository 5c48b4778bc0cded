"""Draws whose sds or means are wrong are found, and right ones pass."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skbayes_sg import SGHMCLogisticRegression, SGMCMCLogisticRegression
from skbayes_sg.inference import fitting
from skbayes_sg.inference.verification import Errors, verify
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean

N = 200
SEED = np.random.SeedSequence(0)


@pytest.fixture(scope="module")
def gaussian():
    """Return a model, and its posterior mean and covariance."""
    rng = np.random.default_rng(0)
    root = rng.normal(size=(3, 3))
    precision = root @ root.T + np.eye(3)
    model = for_kernels(GaussianMean(rng.normal(size=(N, 3)), precision))
    return model, model.y.mean(axis=0), np.linalg.inv(precision)


def draws_of(gaussian, seed, scale=1.0):
    _, mean, covariance = gaussian
    draws = np.random.default_rng(seed).normal(size=(4, 250, 3))
    draws[..., 1] *= scale  # of a direction that all parameters share
    return mean + draws @ np.linalg.cholesky(covariance).T


def test_right_draws_pass(gaussian):
    model, _, covariance = gaussian
    for seed in range(20):  # false alarms come once in 10,000 times
        draws = draws_of(gaussian, seed)
        assert not verify(model, Full(), draws, covariance, SEED).found


@pytest.mark.parametrize("scale, low, high", [(1.4, 0.1, 0.45), (0.6, -0.45, -0.1)])
@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_wrong_draws_are_found(gaussian, scale, low, high, factor):
    # Whatever S is. An sd from 1,000 draws is known to 2.2 %.
    model, _, covariance = gaussian
    for seed in range(5):
        draws = draws_of(gaussian, seed, scale)
        errors = verify(model, Full(), draws, factor * covariance, SEED)
        assert low < errors.sd < high and errors.mean == 0.0


@pytest.mark.parametrize("factor", [1.0, 3.0])
def test_shifted_draws_are_found(gaussian, factor):
    # A mean of 1,000 draws is known to 0.03 sd, and an S of three times the covariance
    # takes shifts for 1.7 times as large.
    model, _, covariance = gaussian
    shift = 0.3 * np.sqrt(np.diag(covariance)) * [1, 0, 0]
    for seed in range(5):
        draws = draws_of(gaussian, seed) + shift
        errors = verify(model, Full(), draws, factor * covariance, SEED)
        assert 0.15 < errors.mean < 0.45 * np.sqrt(factor) and errors.sd == 0.0


def test_estimates_of_gradients_do(gaussian, monkeypatch):
    monkeypatch.setattr("skbayes_sg.inference.verification.FEW_ROWS", 0)
    model, _, covariance = gaussian
    for scale, wrong in ((1.0, False), (2.0, True)):
        draws = draws_of(gaussian, 0, scale)
        errors = verify(model, Minibatch(N // 2), draws, covariance, SEED)
        assert (errors.sd > 0.0) == wrong


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_wrong_draws_are_drawn_again_and_reported(monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 2))
    y = rng.random(50) < 0.5
    model = SGHMCLogisticRegression(n_draws=100, random_state=0)
    step = model.fit(X, y).step_size_
    monkeypatch.setattr(fitting, "verify", lambda *args: Errors(0.3))
    with pytest.warns(ConvergenceWarning, match="30% too wide"):
        model.fit(X, y)
    shrunk = fitting.SHRINK**fitting.MAX_REPAIRS
    assert model.step_size_ == pytest.approx(shrunk * step)
    with pytest.warns(ConvergenceWarning, match="30% too wide"):
        model.set_params(thin=40).fit(X, y)


def test_a_metric_that_changes_with_the_position_is_reported():
    """`psgld` omits the metric's own drift: means here are some 0.5 sds off."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 2))
    y = X @ [1.0, -1.0] > 0.1
    model = SGMCMCLogisticRegression(
        sampler="psgld", prior_variance=1e4, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="standard deviations off"):
        model.fit(X, y)
