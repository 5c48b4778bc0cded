"""partial_fit: chains that see one batch of the data at a time."""

import pickle

import numpy as np
import pytest

from skbayes_sg import SGLDLogisticRegression, SGMCMCLogisticRegression
from skbayes_sg.datasets import make_logistic


@pytest.fixture(scope="module")
def data():
    return make_logistic(400, 2, random_state=3)


def stream(model, data, n_calls, batch_size=100, seed=0, **settings):
    """Feed random batches of the data."""
    X, y = data
    rng = np.random.default_rng(seed)
    for _ in range(n_calls):
        rows = rng.choice(len(y), batch_size, replace=False)
        model.partial_fit(X[rows], y[rows], [0, 1], total_samples=len(y), **settings)
    return model


@pytest.mark.long
def test_a_stream_of_batches_has_the_law_of_sgld(data):
    """Variances are (1 + h V / 4) / (1 - h / 4) of the truth in whitened coordinates.

    V = 1/n - 1/N times N is the relative variance of a logistic gradient at the mode.
    1,000 calls of 8 chains with correlation time 19: about 420 effective draws, errors
    of 0.05 sd and 3.5 %, of which 4 are allowed.
    """
    h, X, y = 0.2, *data
    model = SGMCMCLogisticRegression(
        sampler="sgld", step_size=h, n_chains=8, n_draws=1000, random_state=0
    )
    stream(model, data, 1050)
    exact = SGLDLogisticRegression(n_draws=3000, random_state=1).fit(X, y)
    draws = model.samples_.reshape(-1, 3)
    truth = exact.samples_.reshape(-1, 3)
    error = np.abs(draws.mean(axis=0) - truth.mean(axis=0)) / truth.std(axis=0)
    assert error.max() < 0.2
    inflation = (1 + h * (400 / 100 - 1) / 4) / (1 - h / 4)
    ratio = draws.var(axis=0) / truth.var(axis=0) / inflation
    assert np.abs(ratio - 1).max() < 4 * 0.07
    assert np.isclose(model.gradient_noise_ratio_, h * 3 / 4, rtol=0.5)


def test_automatic_settings(data):
    model = stream(SGLDLogisticRegression(random_state=0, n_draws=20), data, 30)
    assert model.samples_.shape == (4, 20, 3)
    assert model.n_samples_seen_ == 3000 and model.n_iter_ == 30
    assert 0 < model.step_size_ < 0.1
    assert model.score(*data) > 0.7


def test_streams_repeat_and_go_on_after_a_pickle(data):
    settings = dict(random_state=0, n_draws=50)
    whole = stream(SGLDLogisticRegression(**settings), data, 10).samples_
    parts = stream(SGLDLogisticRegression(**settings), data, 10).samples_
    assert np.array_equal(whole, parts)
    X, y = data
    first = SGLDLogisticRegression(**settings).partial_fit(X[:50], y[:50])
    again = pickle.loads(pickle.dumps(first))
    for model in (first, again):
        model.partial_fit(X[50:100], y[50:100], total_samples=60)
    assert np.array_equal(first.samples_, again.samples_)


def test_the_posterior_narrows_as_rows_come_in(data):
    X, y = data
    model = SGLDLogisticRegression(random_state=0, n_draws=300, step_size=0.5)
    for _ in range(150):
        model.partial_fit(X[:100], y[:100], total_samples=100)
    wide = model.coef_std_.copy()
    for _ in range(150):
        model.partial_fit(X[:100], y[:100], total_samples=1600)
    ratio = model.coef_std_ / wide
    assert np.abs(ratio / 0.25 - 1).max() < 0.3  # 4 chains, correlation time 7: 8 %


def test_wrong_use(data):
    X, y = data
    with pytest.raises(ValueError, match="one class only"):
        SGLDLogisticRegression().partial_fit(X, np.zeros(len(y)))
    with pytest.raises(ValueError, match="total_samples=0"):
        SGLDLogisticRegression().partial_fit(X, y, total_samples=0)
    with pytest.raises(
        ValueError, match="noise_correction=True is not supported by partial_fit"
    ):
        SGLDLogisticRegression(noise_correction=True).partial_fit(X, y)
    assert not hasattr(SGMCMCLogisticRegression(sampler="mala"), "partial_fit")
    model = SGLDLogisticRegression(random_state=0).partial_fit(X, y, classes=[0, 1])
    with pytest.raises(ValueError, match="must all be among those of the first call"):
        model.partial_fit(X, y, classes=[0, 1, 2])
    with pytest.raises(ValueError, match="y holds labels that are not in classes"):
        SGLDLogisticRegression().partial_fit(X, y + 1, classes=[0, 1])
