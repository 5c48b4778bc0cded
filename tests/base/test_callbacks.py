"""scikit-learn's callbacks follow a fit and may end it."""

import re

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from skbayes_sg import (
    SGBPMFRecommender,
    SGHMCClassifierMLP,
    SGLDLogisticRegression,
)
from skbayes_sg.base._callbacks import N_TASKS
from skbayes_sg.datasets import make_ratings

pytest.importorskip("sklearn.callback")


class Recorder:
    """Count the tasks of a fit; stop it after `limit` of them."""

    def __init__(self, limit=None):
        self.limit, self.events = limit, []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context):
        pass

    def on_fit_task_end(self, estimator, context):
        self.events.append(context.task_name)
        return self.limit is not None and self.events.count("iterations") >= self.limit

    def teardown(self, estimator, context):
        self.events.append("teardown")


OTHERS = [
    (
        SGHMCClassifierMLP((5,), n_draws=50, thin=20, burn_in=20, random_state=0),
        load_iris(return_X_y=True),
    ),
    (
        SGBPMFRecommender(3, n_draws=50, thin=20, random_state=0),
        make_ratings(30, 20, 300, random_state=0),
    ),
]


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 3))
    return X, (X[:, 0] > 0).astype(int)


def fit(data, recorder, **changes):
    settings = dict(n_draws=400, thin=50, n_chains=2, random_state=0, n_jobs=2)
    model = SGLDLogisticRegression(**{**settings, **changes})
    return model.set_callbacks(recorder).fit(*data)


def test_callbacks_follow_a_fit(data):
    recorder = Recorder()
    model = fit(data, recorder)
    assert recorder.events[0] == "setup"
    assert recorder.events[-2:] == ["fit", "teardown"]
    assert recorder.events.count("iterations") == N_TASKS
    assert model.samples_.shape[1] == 400


@pytest.mark.parametrize(("n_jobs", "at_least"), [(1, 400), (2, 1)])
def test_a_callback_ends_a_fit(data, n_jobs, at_least):
    """Half-way; chains of one thread are about as far then."""
    whole = fit(data, Recorder()).samples_
    recorder = Recorder(limit=N_TASKS // 2)
    model = fit(data, recorder, n_draws=4000, n_jobs=n_jobs)
    n_draws = model.samples_.shape[1]
    assert at_least <= n_draws < 4000 and recorder.events[-1] == "teardown"
    shared = min(n_draws, 400)
    assert np.array_equal(model.samples_[:, :shared], whole[:, :shared])
    assert model.predict_proba(data[0]).shape == (200, 2)


@pytest.mark.parametrize(("estimator", "data"), OTHERS, ids=["network", "recommender"])
def test_callbacks_of_other_estimators(estimator, data):
    recorder = Recorder(limit=20)
    estimator = clone(estimator).set_callbacks(recorder).fit(*data)
    assert recorder.events.count("iterations") >= 20
    assert recorder.events[-2:] == ["fit", "teardown"]
    assert 1 <= estimator.samples_.shape[1] < 50
    assert len(estimator.predict(data[0])) == len(data[1])


@pytest.mark.parametrize(("estimator", "data"), OTHERS, ids=["network", "recommender"])
def test_one_bar_for_all_runs_of_a_fit(estimator, data, capfd):
    """Training, warm-up and burn-in have a part in it."""
    clone(estimator).set_params(verbose=1).fit(*data)
    lines = capfd.readouterr().err.splitlines()
    lines = [line for line in lines if line.startswith("sampling")]
    done, total = np.array(
        [
            [int(word) for word in re.findall(r"(\d+) of (\d+) it", line)[0]]
            for line in lines
        ]
    ).T
    assert (np.diff(done) > 0).all() and (np.diff(total) >= 0).all()
    assert done[-1] == total[-1] and "100 %" in lines[-1]
    if hasattr(estimator, "hidden_layer_sizes"):  # known beforehand
        assert len(set(total)) == 1 and len(lines) <= 10


def test_no_callbacks_after_a_failure(data):
    recorder = Recorder()
    with pytest.raises(ArithmeticError):
        fit(data, recorder, step_size=1e6)
    assert recorder.events[-1] == "teardown" and "fit" not in recorder.events
