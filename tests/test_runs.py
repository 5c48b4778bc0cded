"""Runs of every estimator: one seed, one hash; interrupts; steps that are too large."""

import hashlib
import os
import signal
import threading
import time
from functools import partial

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris

from skbayes_sg import (
    ConsensusClassifier,
    DivergenceError,
    KSDStepSizeSearch,
    SGBPMFRecommender,
    SGHMCClassifierMLP,
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    SGNHTLogisticRegression,
)
from skbayes_sg.datasets import make_logistic, make_ratings
from skbayes_sg.inference import running
from skbayes_sg.inference.exploration import mlp_training as mlp_exploration

SHORT = dict(n_draws=20, burn_in=40, thin=2, n_chains=4, random_state=0)
ESTIMATORS = {
    "logistic": (
        SGLDLogisticRegression(gradient="cv", batch_size=50, **SHORT),
        make_logistic(300, 3, random_state=0),
    ),
    "network": (SGHMCClassifierMLP((4,), **SHORT), load_iris(return_X_y=True)),
    "recommender": (
        SGBPMFRecommender(2, **SHORT),
        make_ratings(12, 9, 80, random_state=0),
    ),
}
FAMILIES = [
    "logistic",
    *(
        pytest.param(name, marks=pytest.mark.long)
        for name in ("network", "recommender")
    ),
]


@pytest.fixture
def short_training(monkeypatch):
    monkeypatch.setattr(mlp_exploration, "MIN_TRAINING", 20)
    monkeypatch.setattr(mlp_exploration, "EPOCHS", 1)


def digest(estimator, data, **changes):
    """Return a hash of the draws of a new fit."""
    fitted = clone(estimator).set_params(**changes).fit(*data)
    return hashlib.sha256(fitted.samples_.tobytes()).hexdigest()


@pytest.mark.parametrize("family", FAMILIES)
def test_one_hash(family, short_training, monkeypatch, stop_after, tmp_path):
    """Any number of jobs, threads, processes, chunks of any length, broken off or not.

    A cluster gives the same: see test_cluster.py.
    """
    estimator, data = ESTIMATORS[family]
    hashes = {n_jobs: digest(estimator, data, n_jobs=n_jobs) for n_jobs in (1, 2, 4)}
    for backend in ("threading", "loky"):
        with joblib.parallel_config(backend, n_jobs=2):
            hashes[backend] = digest(estimator, data)
    for seconds in (0.0, 10.0):
        with monkeypatch.context() as patch:
            patch.setattr(running, "CHUNK_SECONDS", seconds)
            hashes[f"chunks of {seconds} s"] = digest(estimator, data)
    changes = {"checkpoint": tmp_path}
    stop_after(200, lambda: digest(estimator, data, **changes))
    hashes["resumed"] = digest(estimator, data, **changes)
    hashes["read back"] = digest(estimator, data, **changes)
    assert len(set(hashes.values())) == 1, hashes


@pytest.mark.long
@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("family", [*ESTIMATORS, "consensus", "search"])
def test_interrupt(family, n_jobs, short_training):
    """Raised within 0.3 s at random moments; 0.5 s later no thread computes."""
    estimator, data = ESTIMATORS.get(family, ESTIMATORS["logistic"])
    clone(estimator).fit(*data)  # compiled
    endless = clone(estimator).set_params(n_draws=10, thin=10**8)
    if family == "consensus":
        endless = ConsensusClassifier(endless, n_shards=3)
    elif family == "search":
        endless = KSDStepSizeSearch(endless, {"step_size": [0.1, 0.2, 0.3]})
    endless.set_params(n_jobs=n_jobs)
    times, moments = {}, np.random.default_rng(0).uniform(0.05, 1.0, size=10)
    raised = threading.Event()

    def interrupt(seconds):
        time.sleep(seconds)
        times["signal"] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)
        if not raised.wait(5.0):  # the first one is lost, and the test fails
            os.kill(os.getpid(), signal.SIGINT)

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        for moment in moments:
            thread = threading.Thread(target=interrupt, args=(moment,))
            raised.clear()
            thread.start()
            # A search has processes by default, whose work counts elsewhere.
            threads = joblib.parallel_config("threading", n_jobs=n_jobs)
            with pytest.raises(KeyboardInterrupt), threads:
                endless.fit(*data)
            times["raised"] = time.perf_counter()
            raised.set()
            thread.join()
            assert times["raised"] - times["signal"] < 0.3
            time.sleep(0.5)
            used = time.process_time()
            time.sleep(0.3)
            assert time.process_time() - used < 0.1
            assert not hasattr(endless, "samples_")
    finally:
        signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("family", FAMILIES)
def test_interrupt_keeps_draws_of_all_chains(family, short_training, stop_after):
    """With `warm_start`, also where one thread runs all of them."""
    estimator, data = ESTIMATORS[family]
    whole = clone(estimator).fit(*data).samples_
    model = clone(estimator).set_params(warm_start=True, n_jobs=1)

    def records(*args):  # of the chains themselves, not of what goes before
        *_, stop, first, thin, _, _, draws = args
        return len(draws) == SHORT["n_draws"] and stop > first

    fit = partial(model.fit, *data)
    stop_after(4 * SHORT["n_chains"] * SHORT["thin"], fit, KeyboardInterrupt, records)
    assert model.samples_.shape[1] == 4
    assert np.array_equal(model.samples_, whole[:, :4])
    assert len(model.predict(data[0])) == len(data[1])


@pytest.mark.parametrize(
    "kind", [SGLDLogisticRegression, SGHMCLogisticRegression, SGNHTLogisticRegression]
)
def test_too_large_steps_are_caught(kind):
    """20 of 20, from six times the limit of stability on; nothing is fitted.

    Nearer to it the flat tails of a logistic likelihood may hold a chain: its law is
    then far too wide, but it does not run away.
    """
    X, y = make_logistic(300, 3, random_state=0)
    limit = chains_limit(kind, X, y)
    for h in np.geomspace(6 * limit, 1e6 * limit, 20):
        model = kind(step_size=h, n_draws=500, random_state=0)
        with pytest.raises(DivergenceError) as error:
            model.fit(X, y)
        for words in ("chain ", "iteration ", f"step_size={h:.3g}", "Try step_size="):
            assert words in str(error.value)
        assert not [name for name in vars(model) if name.endswith("_")]


def chains_limit(kind, X, y):
    """Return the largest stable step as the error of a fit names it."""
    with pytest.raises(DivergenceError) as error:
        kind(step_size=1e9, random_state=0).fit(X, y)
    words = str(error.value).split("largest stable step size here is about ")[1]
    return float(words.split()[0].rstrip("."))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
def test_no_nan_close_to_the_limit(share):
    """Up to the limit a fit may be poor, but it is one, or an error."""
    X, y = make_logistic(300, 3, random_state=0)
    for sampler in ("sgld", "sgld-lm", "baoab", "badodab"):
        model = SGMCMCLogisticRegression(
            sampler=sampler, step_size=4 * share, n_draws=500, random_state=0
        )
        try:
            model.fit(X, y)
        except DivergenceError:
            continue
        assert np.isfinite(model.coef_).all() and np.isfinite(model.coef_std_).all()
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.long
@pytest.mark.parametrize("family", ["network", "recommender"])
def test_too_large_steps_of_other_estimators(family, short_training):
    estimator, data = ESTIMATORS[family]
    for h in np.geomspace(50.0, 5e6, 20):
        model = clone(estimator).set_params(step_size=h, n_draws=200)
        with pytest.raises(DivergenceError, match="chain .* iteration .*step_size="):
            model.fit(*data)
        assert not [name for name in vars(model) if name.endswith("_")]
