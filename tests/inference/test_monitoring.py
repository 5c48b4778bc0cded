"""A fit says so when its draws should not be used, and not otherwise."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.datasets import make_logistic
from skbayes_sg.inference.monitoring import look_at
from skbayes_sg.kernels.models import GaussianMean

MODEL = GaussianMean(np.zeros((5, 3)), np.eye(3))


def chains(n_chains, n_draws, rho=0.0, shift=0.0, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_chains, n_draws, 3))
    for k in range(1, n_draws):
        x[:, k] = rho * x[:, k - 1] + np.sqrt(1 - rho**2) * x[:, k]
    return x + shift * np.arange(n_chains)[:, None, None]


def test_good_draws_pass_and_bad_ones_do_not():
    """400 good fits, of 4 x 100 draws with 30 effective ones each and of 2 x 100."""
    for seed in range(200):
        assert not look_at(MODEL, chains(4, 100, 0.5, seed=seed)).failed
        assert not look_at(MODEL, chains(2, 100, seed=seed)).failed
    assert look_at(MODEL, chains(4, 100, shift=1.0)).r_hat > 1.2
    assert look_at(MODEL, chains(2, 100, shift=3.0)).r_hat > 1.5
    stuck = look_at(MODEL, chains(1, 1000, 0.99))
    assert stuck.ess < 25 and stuck.r_hat is None  # one chain: nothing to compare
    assert not look_at(MODEL, chains(1, 300, 0.99)).failed  # too few to judge
    assert not look_at(MODEL, np.zeros((4, 200, 3))).failed


def test_fit_warns(monkeypatch):
    X, y = make_logistic(300, 2, random_state=0)
    shifted = [chains(4, 200, shift=1.0)]
    monkeypatch.setattr(
        "skbayes_sg.base._sampling.look_at", lambda *_: look_at(MODEL, shifted[0])
    )
    words = "should not be used: the 4 chains"
    model = SGLDLogisticRegression(n_draws=200, random_state=0)
    with pytest.warns(ConvergenceWarning, match=words) as caught:
        model.fit(X, y)
    assert caught[0].filename == __file__
    shifted[0] = chains(4, 200)
    model.fit(X, y)


def test_settings_of_the_user_are_no_excuse():
    """Tiny steps hardly move, and large ones give draws that are too wide."""
    X, y = make_logistic(300, 2, random_state=0)
    settings = dict(preconditioner="none", thin=1, n_draws=500, random_state=0)
    tiny = SGLDLogisticRegression(step_size=1e-5, **settings)
    words = 'chains disagree .* Use step_size="auto", or increase'
    with pytest.warns(ConvergenceWarning, match=words):
        tiny.fit(X, y)
    with pytest.warns(ConvergenceWarning, match="effective draws") as caught:
        tiny.set_params(n_chains=1).fit(X, y)
    assert "disagree" not in str(caught[0].message)  # one chain: nothing to compare
    large = SGLDLogisticRegression(
        sampler="sgld", step_size=1.5, n_draws=500, random_state=0
    )
    for n in (300, 5000):  # all rows at a step, and estimates
        X, y = make_logistic(n, 2, random_state=0)
        large.set_params(step_size=1.5)
        with pytest.warns(ConvergenceWarning, match="wide. Use a smaller step_size"):
            large.fit(X, y)
        large.set_params(step_size=0.05).fit(X, y)
