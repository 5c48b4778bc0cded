"""Fixtures shared by all tests."""

import gc
import os
from pathlib import Path

import numpy as np
import pytest

from skbayes_sg.base import _sampling
from skbayes_sg.inference import monitoring, running
from skbayes_sg.inference.exploration import pilot


@pytest.fixture(scope="session")
def data_dir(pytestconfig):
    """Folder of the real data sets, which are not part of the repository."""
    default = pytestconfig.rootpath.parent / "shared" / "data"
    path = Path(os.environ.get("SKBAYES_SG_DATA", default))
    if not path.is_dir():
        pytest.skip(f"no data sets in {path}; set SKBAYES_SG_DATA to their folder")
    return path


@pytest.fixture
def rng():
    """Return a generator with the same seed in every test."""
    return np.random.default_rng(20240917)


@pytest.fixture
def without_mixing_warnings(monkeypatch):
    """Let fits be silent about chains that a test makes short or bad on purpose."""
    nothing = monitoring.Mixing(None, None)
    monkeypatch.setattr(_sampling, "look_at", lambda model, draws: nothing)


@pytest.fixture
def short_pilots(monkeypatch):
    """Explore few rows as briefly as many, where only the interface is checked."""
    monkeypatch.setattr(pilot, "FEW_NUMBERS", 0.0)


class Killed(BaseException):
    """What ends a process, as far as a chain can tell."""


@pytest.fixture
def stop_after(monkeypatch):
    """Return a function that breaks a call off after some chunks of its chains.

    Chunks are as short as can be, with a checkpoint after each of them. Those count for
    whose arguments `counts` is true.
    """

    def stop(n_chunks, call, error=Killed, counts=lambda *args: True):
        run_chain, count = running.run_chain, []

        def limited(*args):
            count.append(counts(*args))
            if sum(count) > n_chunks:
                raise error
            return run_chain(*args)

        with monkeypatch.context() as patch:
            patch.setattr(running, "run_chain", limited)
            patch.setattr(running, "CHUNK_SECONDS", 0.0)
            patch.setattr(running, "CHECKPOINT_SECONDS", -1.0)
            with pytest.raises(error):
                call()

    return stop


SLOW_FILES = (  # in seconds of compilation, mostly
    "test_common.py",
    "neural_network/test_mlp.py",
    "linear_model/test_logistic.py",
    "ensemble/test_consensus.py",
    "kernels/test_positive_samplers.py",
    "kernels/test_mlp.py",
    "test_concurrency.py",
    "model_selection/test_search.py",
    "kernels/test_cache.py",
    "inference/test_checkpoints.py",
    "kernels/test_transformed.py",
    "decomposition/test_lda.py",
    "cluster/test_blockmodel.py",
)


def pytest_collection_modifyitems(items):
    """Start with the slowest files, so that parallel workers end at the same time."""
    root = Path(__file__).parent
    ranks = {root / name: rank for rank, name in enumerate(SLOW_FILES)}
    items.sort(key=lambda item: ranks.get(item.path, len(ranks)))


def pytest_collection_finish():
    """Let the garbage collector pass over what lives until the end, and run rarely."""
    gc.freeze()
    gc.set_threshold(50_000, *gc.get_threshold()[1:])
