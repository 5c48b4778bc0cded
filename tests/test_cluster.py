"""A Dask cluster gives the draws of one machine, also if one of its workers dies."""

import os
import signal
import threading
import time
from functools import partial

import joblib
import numpy as np
import pytest
from joblib.parallel import get_active_backend
from sklearn.base import clone

from skbayes_sg import (
    ConsensusClassifier,
    KSDStepSizeSearch,
    SGLDLogisticRegression,
    sample,
)
from skbayes_sg.datasets import make_logistic
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SGLD
from tests.test_runs import ESTIMATORS

distributed = pytest.importorskip("distributed")
cloudpickle = pytest.importorskip("cloudpickle")
# Dask's own warnings: of ports in use, of workers that took long. Among the long tests
# because starting processes anew takes most of a minute.
pytestmark = [pytest.mark.filterwarnings("ignore"), pytest.mark.long]

MODEL = GaussianMean(np.random.default_rng(0).normal(size=(50_000, 3)), np.eye(3))
SETTINGS = dict(step_size=1e-6, n_draws=50, n_chains=4, random_state=0)


@pytest.fixture(scope="module")
def client():
    """Connect to two processes with a thread each."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.wait_for_workers(2, timeout=120)
        yield client


@pytest.fixture
def sent(client, monkeypatch):
    """Sizes of what is scattered to the workers, in bytes."""
    client.wait_for_workers(2, timeout=120)
    sizes, scatter = [], distributed.Client.scatter

    def counted(self, data, *args, **options):
        sizes.append(len(cloudpickle.dumps(data)))  # dask.sizeof looks at a part
        return scatter(self, data, *args, **options)

    monkeypatch.setattr(distributed.Client, "scatter", counted)
    return sizes


def draw(**changes):
    return sample(MODEL, SGLD(), Minibatch(10), **{**SETTINGS, **changes})


def test_chains(client, sent):
    """The same draws; the data are sent once for all chains."""
    alone = draw()
    with joblib.parallel_config("dask"):
        assert np.array_equal(alone, draw())
    assert sum(size >= MODEL.y.nbytes for size in sent) == 1


@pytest.mark.parametrize("family", ESTIMATORS)
def test_estimators(client, family):
    estimator, data = ESTIMATORS[family]
    alone = clone(estimator).fit(*data).samples_
    with joblib.parallel_config("dask"):
        assert np.array_equal(alone, clone(estimator).fit(*data).samples_)


def shard(k):
    """Return a shard, read where it is sampled: there its chains stay."""
    assert "Dask" not in type(get_active_backend()[0]).__name__
    X, y = make_logistic(500, 3, random_state=k)
    return X, y


@pytest.mark.parametrize("keep", ["draws", "moments"])
def test_shards(client, sent, keep):
    inner = SGLDLogisticRegression(n_draws=20, n_chains=2, keep=keep)
    merged = ConsensusClassifier(inner, random_state=0)
    shards = [partial(shard, k) for k in range(3)]
    alone = merged.fit_shards(shards)
    expected = alone.coef_.copy(), alone.coef_std_.copy()
    with joblib.parallel_config("dask"):
        again = merged.fit_shards(shards)
    assert np.array_equal(expected, (again.coef_, again.coef_std_))
    assert not sent


def test_candidates_of_a_search(client, sent):
    """The same discrepancies; `scatter` sends the data once for all candidates."""
    X, y = make_logistic(2000, 3, random_state=0)
    inner = SGLDLogisticRegression(n_draws=20, n_chains=1, random_state=0)
    search = KSDStepSizeSearch(inner, {"step_size": [0.1, 0.5, 1.0]}, refit=False)
    alone = search.fit(X, y).cv_results_["ksd"]
    with joblib.parallel_config("dask", scatter=[X, y]):
        together = search.fit(X, y).cv_results_["ksd"]
    np.testing.assert_allclose(together, alone, rtol=1e-10)
    assert sum(size >= X.nbytes for size in sent) == 1


def test_a_killed_worker_loses_nothing(client):
    long = {"thin": 20_000, "n_draws": 50}
    alone = draw(**long)
    victim = next(iter(client.run(os.getpid).values()))
    killed = []

    def kill():
        while not any(client.processing().values()):
            time.sleep(0.01)
        time.sleep(0.2)
        killed.append(any(client.processing().values()))
        os.kill(victim, signal.SIGKILL)

    killer = threading.Thread(target=kill)
    with joblib.parallel_config("dask"):
        killer.start()
        again = draw(**long)
    killer.join()
    assert killed == [True]  # in the middle of the chains
    assert np.array_equal(alone, again)
