"""Chains: reproducibility, chunks, threads, divergence, interruption, storage."""

import contextlib
import os
import pickle
import re
import signal
import subprocess
import sys
import threading
import time

import joblib
import numpy as np
import pytest

from skbayes_sg import DivergenceError, sample
from skbayes_sg.inference import running, storage
from skbayes_sg.kernels import generic
from skbayes_sg.kernels.coordinates import Dense, Diagonal
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM, GaussianMean
from skbayes_sg.kernels.samplers import SGLD, LeimkuhlerMatthews
from skbayes_sg.kernels.schedules import Polynomial


@pytest.fixture(scope="module")
def model():
    y = np.random.default_rng(0).normal(size=(50, 3))
    return GaussianMean(y, np.diag([1.0, 4.0, 9.0]))


SETTINGS = dict(
    step_size=0.1, n_draws=200, thin=2, burn_in=20, n_chains=4, random_state=7
)


def draw(model, **changes):
    return sample(model, SGLD(), Minibatch(10), **{**SETTINGS, **changes})


def test_same_draws_for_any_n_jobs_and_backend(model):
    alone = draw(model, n_jobs=1)
    assert np.array_equal(alone, draw(model, n_jobs=2))
    assert np.array_equal(alone, draw(model, n_jobs=4))
    with joblib.parallel_config("loky"):
        assert np.array_equal(alone, draw(model, n_jobs=2))


def test_what_comes_from_another_process_is_not_compiled_anew(model, monkeypatch):
    """A pickled array comes back as one that may be written to, which is another type.

    Its code would be other code, and round in other ways.
    """

    def n_compiled():
        return sum(len(entry.signatures) for entry in generic.COMPILED)

    here, before = draw(model, n_jobs=2), n_compiled()
    monkeypatch.setattr(
        running, "shared", lambda plan, n_jobs: pickle.loads(pickle.dumps(plan))
    )
    assert np.array_equal(here, draw(model, n_jobs=2))
    assert n_compiled() == before


@pytest.mark.parametrize("seconds", [0.0, 1e-5, 10.0])
def test_same_draws_for_any_chunk_length(model, monkeypatch, seconds):
    expected = draw(model)
    monkeypatch.setattr(running, "CHUNK_SECONDS", seconds)
    assert np.array_equal(expected, draw(model))


def test_chains_and_seeds_differ(model):
    draws = draw(model)
    assert not np.array_equal(draws[0], draws[1])
    assert not np.array_equal(draws, draw(model, random_state=8))


def test_more_chains_keep_the_first_ones(model):
    assert np.array_equal(draw(model, n_chains=2), draw(model, n_chains=4)[:2])


def test_burn_in_and_thinning_select_from_one_path(model):
    path = draw(model, n_draws=420, thin=1, burn_in=0)
    # Noise is measured during burn-in, with the same generator: compare without it.
    thinned = draw(model, n_draws=210, thin=2, burn_in=0)
    assert np.array_equal(path[:, 1::2], thinned)


def test_info(model):
    _, info = draw(model, return_info=True, burn_in=500)
    assert info.n_iter == 900
    assert info.gradient_variance.shape == (4, 3)
    # Var of a minibatch mean of n = 10 of N = 50 rows, in units of the precision.
    rows = model.y.var(axis=0, ddof=1) * np.diag(model.precision) ** 2
    exact = rows / 10 * (1 - 10 / 50)
    ratio = info.gradient_variance.mean(axis=0) / exact
    assert np.abs(ratio - 1).max() < 4 * np.sqrt(2 / 200)  # 200 measurements


def test_step_sizes_of_a_schedule(model):
    schedule = Polynomial(0.1, 1 / 3, 10)
    _, info = draw(model, step_size=schedule, return_info=True)
    t = 20 + 2 * np.arange(1, 201) - 1
    assert np.allclose(info.step_sizes, 0.1 * (1 + t / 10) ** (-1 / 3))


def test_coordinates_are_a_change_of_variables(model):
    scale = np.array([1.0, 0.5, 1 / 3])
    center = np.zeros(3)
    diagonal = draw(model, coordinates=Diagonal(center, scale))
    dense = draw(model, coordinates=Dense(center, np.diag(scale)))
    assert np.allclose(diagonal, dense)
    # Step h at scale s is step h s^2 in the model's own coordinates.
    first = draw(model, step_size=0.1 / 4)[:, :, 1]
    assert np.allclose(first, diagonal[:, :, 1])


def too_large_steps():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 5))
    y = (rng.random(200) < 0.5).astype(float)
    logistic = GLM(
        Bernoulli(), X, y, np.empty(0), np.full(X.shape[1] + 1, 0.1), True, 1
    )
    gaussian = GaussianMean(X, np.diag([1.0, 2.0, 3.0, 4.0, 100.0]))
    for step in np.geomspace(1.0, 1e6, 5):
        for sampler in (SGLD(), LeimkuhlerMatthews()):
            yield logistic, sampler, step * 100
            yield gaussian, sampler, step


@pytest.mark.parametrize("case", range(20))
def test_divergence_is_caught(case):
    model, sampler, step = list(too_large_steps())[case]
    with pytest.raises(DivergenceError) as error:
        sample(model, sampler, Full(), step_size=step, n_draws=5000, random_state=0)
    for word in ("chain 0", "iteration", "step_size=", "Try step_size="):
        assert word in str(error.value)


def test_divergence_of_one_chain_stops_the_others(model):
    started = threading.active_count()
    start = np.zeros((4, 3))
    with pytest.raises(DivergenceError):
        sample(model, SGLD(), Full(), step_size=10.0, n_chains=4, start=start, n_jobs=2)
    time.sleep(0.5)
    assert threading.active_count() <= started + 4  # joblib keeps idle workers


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_interrupt(model, n_jobs):
    draw(model, n_draws=10)  # compiled
    times = {}

    def interrupt():
        time.sleep(0.5)
        times["signal"] = time.perf_counter()
        os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    # Workers of a parallel test run ignore the signal unless told otherwise.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            draw(model, n_draws=1, thin=50_000_000, n_jobs=n_jobs)
        raised = time.perf_counter()
        thread.join()
    finally:
        signal.signal(signal.SIGINT, before)
    assert raised - times["signal"] < 0.3
    time.sleep(0.5)
    before = time.process_time()
    time.sleep(0.3)
    assert time.process_time() - before < 0.1  # no worker goes on computing


def test_storage_and_limit(model, tmp_path, monkeypatch):
    mapped = draw(model, storage=tmp_path)
    assert isinstance(mapped, np.memmap)
    assert np.array_equal(np.load(tmp_path / "draws.npy"), draw(model))
    other = draw(model, storage=tmp_path, random_state=8)  # in a file of its own
    assert np.array_equal(np.load(tmp_path / "draws-1.npy"), other)
    assert np.array_equal(mapped, draw(model))
    monkeypatch.setattr(storage, "MAX_BYTES", 1000)
    with pytest.raises(ValueError, match="thin.*storage"):
        draw(model)


def test_wrong_start(model):
    with pytest.raises(ValueError, match="start has shape"):
        draw(model, start=np.zeros(4))


@pytest.mark.parametrize("place", ["terminal", "notebook", "log"])
@pytest.mark.parametrize("tqdm", [True, False])
def test_progress(model, capsys, monkeypatch, tqdm, place):
    if not tqdm:
        monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    if place == "notebook":
        monkeypatch.setitem(sys.modules, "ipykernel", object())
    monkeypatch.setattr(sys.stderr, "isatty", lambda: place == "terminal")
    drawn = tqdm and place != "log"
    draw(model, progress=True, n_draws=1, thin=1, burn_in=0, n_chains=1)
    draw(model, progress=True, n_jobs=2)
    out, err = capsys.readouterr()
    assert out == ""
    assert "100%" in err if drawn else "sampling: 100 %" in err
    if not drawn:
        assert re.search(r"1680 of 1680 iterations, 0 s left, step = 0.1, log", err)
    # SGLD with h = 0.1; log p = -1/2 sum_i (y_i - mu)' P (y_i - mu), about -900.
    assert re.search(r"step( = |=)0.1, log posterior( = |=)-\d+", err)
    draw(model)
    assert capsys.readouterr().err == ""


IN_A_TERMINAL = """
import numpy as np
from tests.inference.test_chains import GaussianMean, draw
draw(GaussianMean(np.zeros((50, 3)), np.eye(3)), progress=True, thin=20)
"""


def test_progress_in_a_real_terminal():
    """One line, drawn again and again, with all that is known."""
    pty, termios = pytest.importorskip("pty"), pytest.importorskip("termios")
    ours, terminal = pty.openpty()
    termios.tcsetwinsize(terminal, (24, 120))
    process = subprocess.Popen([sys.executable, "-c", IN_A_TERMINAL], stderr=terminal)
    os.close(terminal)
    shown = b""
    with contextlib.suppress(OSError):  # which is how a terminal says that it is over
        while more := os.read(ours, 4096):
            shown += more
    os.close(ours)
    assert process.wait() == 0
    *_, last = filter(None, re.split(r"[\r\n]+", shown.decode()))
    assert re.search(r"^sampling: 100%\|.*16080/16080 .*step=0.1, log post", last)
    assert shown.count(b"\n") == 1


@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_callback_sees_progress_and_stops(model, n_jobs):
    seen = []

    def callback(done, total):
        seen.append((done, total))
        return done > total / 2

    draws, info = draw(
        model, callback=callback, n_draws=5000, n_jobs=n_jobs, return_info=True
    )
    done, total = np.array(seen).T
    assert (np.diff(done) >= 0).all() and set(total) == {4 * 10_020}
    n_draws = draws.shape[1]
    assert 1 <= n_draws < 5000 and info.chains is None
    if n_jobs == 1:  # chains that take turns are abreast
        assert n_draws >= 500
    assert len(info.step_sizes) == n_draws
    assert np.array_equal(draws, draw(model, n_draws=5000)[:, :n_draws])


def test_noise_correction_says_when_it_cannot(model):
    draw(model, noise_correction=True)
    with pytest.warns(RuntimeWarning, match="smaller step_size or larger minibatches"):
        sample(
            GaussianMean(10 * model.y, np.eye(3)),
            SGLD(),
            Minibatch(1),
            step_size=1.0,
            noise_correction=True,
            random_state=0,
        )
