"""The disk cache hits in a second process and cannot go stale."""

import errno
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numba
import numpy as np
import pandas as pd
import pytest
from numba.core.caching import CacheImpl
from numba.extending import overload
from scipy import sparse

import skbayes_sg
from skbayes_sg import SGLDLogisticRegression, sample
from skbayes_sg.kernels import generic
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM, GaussianMean
from skbayes_sg.kernels.samplers import SGLD

PACKAGE = Path(skbayes_sg.__file__).parent

SCRIPT = """
import sys
import numpy as np
from skbayes_sg import sample
from skbayes_sg.kernels import generic, models
from skbayes_sg.kernels.gradients import ControlVariate
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.samplers import SGLD

rng = np.random.default_rng(0)
X = rng.normal(size=(40, 3))
y = (X[:, 0] > 0).astype(float)
model = models.GLM(Bernoulli(), X, y, np.empty(0), np.full(4, 0.1), True, 1)
draws = sample(model, SGLD(), ControlVariate(5, np.zeros(4)), step_size=0.01,
               n_draws=20, burn_in=20, random_state=0)
np.save(sys.argv[1], draws)
hits = misses = 0
for dispatcher in generic.COMPILED:  # empty without the compiler
    hits += sum(dispatcher.stats.cache_hits.values())
    misses += sum(dispatcher.stats.cache_misses.values())
print(hits, misses)
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """Return a copy of the package that may be edited, and its empty cache."""
    root = tmp_path_factory.mktemp("copy")
    ignore = shutil.ignore_patterns("__pycache__")
    shutil.copytree(PACKAGE, root / "skbayes_sg", ignore=ignore)
    return root


def run(root, out, **variables):
    environment = dict(os.environ, PYTHONPATH=str(root), **variables)
    environment.setdefault("NUMBA_CACHE_DIR", str(root / "cache"))
    result = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(out)],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return np.load(out), result


def test_cache(copy, tmp_path):
    first, result = run(copy, tmp_path / "first.npy")
    hits, misses = map(int, result.stdout.split())
    assert hits == 0 and misses > 0
    second, result = run(copy, tmp_path / "second.npy")
    assert [int(word) for word in result.stdout.split()] == [misses, 0]
    assert np.array_equal(first, second)

    # An edit of a component's file reaches the cached loop.
    path = copy / "skbayes_sg" / "kernels" / "likelihoods" / "bernoulli.py"
    source = path.read_text(encoding="utf-8")
    assert "y[0, b] - one /" in source
    path.write_text(source.replace("y[0, b] - one /", "y[0, b] - 0.5 * one /"))
    edited, result = run(copy, tmp_path / "edited.npy")
    assert not np.allclose(first, edited)
    path.write_text(source)
    again, result = run(copy, tmp_path / "again.npy")
    assert np.array_equal(first, again)

    # Without the compiler the same source gives the same draws, up to rounding.
    plain, _ = run(copy, tmp_path / "plain.npy", NUMBA_DISABLE_JIT="1")
    np.testing.assert_allclose(plain, first, rtol=1e-9, atol=1e-12)


def test_without_a_writable_cache(monkeypatch):
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    generic._warn_of_no_cache.cache_clear()
    with pytest.warns(RuntimeWarning, match="NUMBA_CACHE_DIR") as caught:
        functions = [
            generic.compiled(lambda x: x + 1),
            generic.compiled(lambda x: x + 2),
        ]
    assert len(caught) == 1
    assert [function(1) for function in functions] == [2, 3]


def cut(content):
    return content[: len(content) // 2]


def flip(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 16]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage", [cut, flip, lambda content: b"", lambda content: bytes(len(content))]
)
@pytest.mark.parametrize("ending", ["*.nbi", "*.nbc"])
def test_damaged_files_are_compiled_anew(tmp_path, monkeypatch, ending, damage):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))

    def add(x):
        return x + 3

    def call():
        function = generic.compiled(add)
        assert function(4) == 7
        (hits,) = function.stats.cache_hits.values() or [0]
        return hits

    assert [call(), call()] == [0, 1]
    (path,) = tmp_path.rglob(ending)
    path.write_bytes(damage(path.read_bytes()))
    assert [call(), call()] == [0, 1]


def test_a_cache_without_space(tmp_path, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    function = generic.compiled(lambda x: x - 3)

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    assert function(4) == 1
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_a_known_gradient_is_not_compiled_again():
    """A second sampler compiles its own steps, and calls the gradient by address."""

    class First(SGLD):
        """A sampler that no other test has compiled."""

    class Second(SGLD):
        """Another one."""

    def n_compiled(name):
        names = [entry.__qualname__.split(".")[0] for entry in generic.COMPILED]
        versions = [len(entry.signatures) for entry in generic.COMPILED]
        return sum(n for n, other in zip(versions, names, strict=True) if other == name)

    counts, model = [], GaussianMean(np.zeros((4, 2)), np.eye(2))
    for sampler in (First(), Second()):
        sample(model, sampler, Minibatch(2), step_size=0.1, n_draws=2)
        counts.append((n_compiled("_estimate"), n_compiled("run_chain")))
    (gradients, chains), (gradients_after, chains_after) = counts
    assert gradients_after == gradients > 0 and chains_after == chains + 1


def test_one_loop_serves_all_models_and_gradients():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(20, 2)), rng.integers(0, 2, 20).astype(float)
    prior = np.full(2, 0.1)
    mean = GaussianMean(X, np.eye(2))
    logistic = GLM(Bernoulli(), X, y, np.empty(0), prior, False, 1)
    counts = []
    for model in (mean, logistic):
        for gradient in (Minibatch(3), Full()):
            sample(model, SGLD(), gradient, step_size=1e-3, n_draws=2)
            counts.append(run_chain_signatures())
    assert counts[0] > 0 and counts == [counts[0]] * 4


@pytest.mark.filterwarnings("ignore:numba finds no writable cache")
def test_an_interrupt_does_not_break_the_compiler_off(monkeypatch):
    """The main thread only waits; the thread that compiles comes to its end."""
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])  # it compiles every time
    began, threads = threading.Event(), []

    def slow(x):
        pass

    @overload(slow)
    def _(x):
        threads.append(threading.current_thread())
        began.set()
        time.sleep(1.0)
        return lambda x: 2 * x

    function = generic.compiled(lambda x: slow(x))

    def interrupt():
        assert began.wait(60.0)
        os.kill(os.getpid(), signal.SIGINT)

    killer = threading.Thread(target=interrupt, daemon=True)
    # Workers of a parallel test run ignore the signal unless told otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        killer.start()
        with pytest.raises(KeyboardInterrupt):
            function(3)
        killer.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert function.signatures == []  # it goes on, elsewhere
    assert threads[0] is not threading.main_thread()
    threads[0].join(timeout=60.0)
    assert len(function.signatures) == 1 and function(3) == 6


ALLOCATIONS = """
import numpy as np
from numba.core.runtime import rtsys
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels import models
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.coordinates import Dense
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.sampler import init_state
from skbayes_sg.kernels.samplers import LeimkuhlerMatthews
from skbayes_sg.kernels.schedules import Constant

rng = np.random.default_rng(0)
X = rng.normal(size=(300, 3))
y = (X[:, 0] > 0).astype(float)
prior = np.full(4, 0.1)
model = for_kernels(models.GLM(Bernoulli(), X, y, np.empty(0), prior, True, 1))
gradient = GRADIENTS["linear-cv"](20, np.zeros(4))
gradient = for_kernels(prepare(gradient, model))
coordinates = for_kernels(Dense(np.zeros(4), 0.1 * np.eye(4)))
target = make_target(model, gradient, coordinates, rng)
sampler = LeimkuhlerMatthews()
state = init_state(sampler, np.zeros(4), rng)
draws = np.empty((1000, 4))
counts = []
for n_steps in (10, 10, 1010):
    before = rtsys.get_allocation_stats().alloc
    run_chain(sampler, state, target, Constant(0.1), rng, 0, n_steps, 10, 1, 10, 10,
              draws)
    counts.append(rtsys.get_allocation_stats().alloc - before)
print(*counts)
"""


def test_the_loop_allocates_nothing():
    result = subprocess.run(
        [sys.executable, "-c", ALLOCATIONS],
        env=dict(os.environ, NUMBA_NRT_STATS="1"),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    _, short, long = map(int, result.stdout.split())
    assert long == short


def run_chain_signatures():
    return sum(len(d.signatures) for d in generic.COMPILED if d.__name__ == "run_chain")


def test_one_compilation_per_kind_of_input(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = np.arange(60) % 2

    def fit(X, y=y, **parameters):
        SGLDLogisticRegression(n_draws=5, n_chains=1, random_state=0, **parameters).fit(
            X, y
        )

    fit(X)
    dense = run_chain_signatures()
    frozen = X.copy()
    frozen.flags.writeable = False
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    for same in (frozen, mapped, np.asfortranarray(X), X[::-1], pd.DataFrame(X)):
        fit(same)
    fit(X, y.astype(np.int8), class_weight="balanced", burn_in=3, thin=np.int32(2))
    fit(X.astype(np.int64))
    assert run_chain_signatures() == dense
    fit(X.astype(np.float32))
    assert run_chain_signatures() <= dense + 1
    fit(sparse.csr_array(X))
    fit(sparse.csc_matrix(X))
    assert run_chain_signatures() <= dense + 2
    fit(sparse.csr_matrix(X.astype(np.float32)))
    assert run_chain_signatures() <= dense + 3


PIPED = """
from typing import NamedTuple
import numpy as np
from skbayes_sg import sample
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.protocol.sampler import init_state, step
from skbayes_sg.kernels.samplers import SGLD

class Piped(NamedTuple):
    nothing: int = 0

@init_state.register(Piped)
def _(sampler, position, rng):
    return init_state(SGLD(), position, rng)

@step.register(Piped)
def _(sampler, state, target, h, rng):
    state.position[0] += 1.0

model = GaussianMean(np.zeros((5, 1)), np.eye(1))
draws = sample(model, Piped(), Full(), step_size=0.1, n_draws=3, random_state=0)
print(draws.ravel().tolist())
"""


def test_a_component_of_a_piped_script_works(tmp_path):
    result = subprocess.run(
        [sys.executable, "-"],
        input=PIPED,
        cwd=tmp_path,
        env=dict(os.environ, PYTHONPATH=str(PACKAGE.parent)),
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == "[1.0, 2.0, 3.0]"
