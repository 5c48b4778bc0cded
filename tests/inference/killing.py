"""Kill a fit with a checkpoint again and again, and compare what it ends with.

    python -m tests.inference.killing KIND N_KILLS FOLDER

Each attempt is a forked process that gets SIGKILL after a random number of chunks of
its chains, while it computes or writes. The last one is left to end.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_iris

from skbayes_sg import (
    SGBPMFRecommender,
    SGHMCClassifierMLP,
    SGLDLogisticRegression,
    SGMCMCGaussianHMM,
    SGMCMCLatentDirichletAllocation,
    SGMCMCLinearGaussianSSM,
    SGMCMCLinearRegression,
    SGMCMCMixedMembershipBlockmodel,
    SGMCMCModel,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
    SGMCMCRegressorMLP,
    SGMCMCRobustRegressor,
)
from skbayes_sg.datasets import make_documents, make_graph, make_ratings
from skbayes_sg.inference import running

CHUNK_SECONDS = 0.01  # a checkpoint follows each
MAX_CHUNKS = 10  # from the first step to a kill
CHAINS = dict(n_chains=2, random_state=0)


def labels():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    return X, (rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)


def numbers():
    X, y = labels()
    return X, y + 0.1 * X[:, 1]


def documents():
    return (make_documents(60, 40, 3, length=30, random_state=0).X,)


def graph():
    return (make_graph(60, 3, link_rates=0.5, random_state=0).adjacency,)


def sequence():
    rng = np.random.default_rng(0)
    states = np.repeat(rng.integers(2, size=60), 10)
    return (3.0 * states[:, None] + rng.standard_normal((600, 1)),)


def walk():
    rng = np.random.default_rng(0)
    x = np.zeros(1000)
    for t in range(1, len(x)):
        x[t] = 0.8 * x[t - 1] + rng.standard_normal()
    return (x[:, None] + 0.5 * rng.standard_normal((1000, 1)),)


def ratings():
    return make_ratings(40, 30, 600, random_state=0)


# By kind: the estimator, its data, its settings, and iterations in a second, roughly.
ROWS = dict(n_draws=500, burn_in=30, gradient="full")
FITS = {
    "logistic": (SGLDLogisticRegression, labels, ROWS, 100_000),
    "linear": (SGMCMCLinearRegression, numbers, ROWS, 100_000),
    "horseshoe": (
        SGMCMCLinearRegression,
        numbers,
        dict(n_draws=100, burn_in=30, prior="horseshoe"),
        20_000,
    ),
    "poisson": (SGMCMCPoissonRegressor, labels, ROWS, 100_000),
    "negative binomial": (SGMCMCNegativeBinomialRegressor, labels, ROWS, 50_000),
    "robust": (SGMCMCRobustRegressor, numbers, ROWS, 50_000),
    "network": (
        SGHMCClassifierMLP,
        lambda: load_iris(return_X_y=True),
        dict(hidden_layer_sizes=(8,), n_draws=50, burn_in=200),
        30_000,
    ),
    "network of numbers": (
        SGMCMCRegressorMLP,
        numbers,
        dict(hidden_layer_sizes=(8,), n_draws=50, burn_in=200),
        30_000,
    ),
    "recommender": (
        SGBPMFRecommender,
        ratings,
        dict(n_factors=3, n_draws=50, burn_in=200),
        20_000,
    ),
    "topics": (
        SGMCMCLatentDirichletAllocation,
        documents,
        dict(n_components=3, n_draws=50, burn_in=100),
        5_000,
    ),
    "graph": (
        SGMCMCMixedMembershipBlockmodel,
        graph,
        dict(n_components=3, n_draws=50, burn_in=100),
        5_000,
    ),
    "hidden Markov": (
        SGMCMCGaussianHMM,
        sequence,
        dict(n_components=2, n_draws=50, burn_in=100),
        5_000,
    ),
    "state space": (
        SGMCMCLinearGaussianSSM,
        walk,
        dict(n_draws=50, burn_in=100),
        5_000,
    ),
}
OWN = "own model"  # needs PyTensor, so that it is listed by the tests of such models


def fit(kind, folder, seconds):
    """Return the draws of a fit of so many seconds, roughly."""
    make, data, settings, rate = FITS[kind] if kind != OWN else own_model()
    thin = max(1, int(rate * seconds / (2 * settings["n_draws"])))
    model = make(**settings, **CHAINS, thin=thin, checkpoint=folder)
    draws = model.fit(*data()).samples_
    if kind == OWN:
        return np.concatenate([part.ravel() for part in draws.values()])
    return draws


def own_model():
    """Return what `FITS` has of the other kinds."""
    from tests.custom.models import LINEAR, ROWS

    def make(**settings):
        return SGMCMCModel(LINEAR, gradient="minibatch", **settings)

    return make, lambda: (ROWS["X"], ROWS["y"]), dict(n_draws=50, burn_in=100), 5_000


def announce_chunks(write):
    """Call ``write`` before each chunk of a chain, all of which are short."""
    running.CHECKPOINT_SECONDS, running.CHUNK_SECONDS = 0.0, CHUNK_SECONDS
    run_chain = running.run_chain

    def announced(*args):
        write()
        return run_chain(*args)

    running.run_chain = announced


def killed_after(n_chunks, rest, run):
    """Run in a child that is killed in a chunk; return how it ended, by `waitpid`."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        announce_chunks(lambda: os.write(writer, b"."))
        try:
            run()
        except BaseException as error:
            print(repr(error), file=sys.stderr, flush=True)
            os._exit(1)
        os._exit(0)
    os.close(writer)
    seen = 0
    while seen < n_chunks and (chunk := os.read(reader, 1)):
        seen += len(chunk)
    if seen == n_chunks:
        time.sleep(rest)
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    os.close(reader)
    return os.waitstatus_to_exitcode(status)


def main(kind, n_kills, folder):
    folder, moments = Path(folder), np.random.default_rng(0)
    seconds = 2 * CHUNK_SECONDS * MAX_CHUNKS * n_kills

    def run():
        draws = fit(kind, folder / "killed", seconds)
        np.save(folder / "draws.new.npy", draws)
        os.replace(folder / "draws.new.npy", folder / "draws.npy")

    whole = fit(kind, folder / "whole", seconds)
    assert np.isfinite(whole).all()
    for _ in range(n_kills):
        n_chunks = int(moments.integers(1, MAX_CHUNKS))
        end = killed_after(n_chunks, moments.uniform(0, 2 * CHUNK_SECONDS), run)
        assert end == -signal.SIGKILL, f"ended with {end} before it was killed"
    assert killed_after(10**9, 0.0, run) == 0
    assert np.array_equal(np.load(folder / "draws.npy"), whole)
    print(f"{kind}: {n_kills} of {n_kills} kills, then the same draws")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
