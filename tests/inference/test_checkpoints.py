"""Chains that stop and go on: in memory, in files, after a kill, after an interrupt."""

import os
import pickle
import signal
import subprocess
import sys

import joblib
import numpy as np
import pytest

from skbayes_sg import SGLDLogisticRegression, sample
from skbayes_sg.inference import running
from skbayes_sg.inference.checkpoints import identity
from skbayes_sg.kernels.gradients import SAGA, SVRG, Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SAMPLERS
from skbayes_sg.kernels.schedules import Polynomial
from tests.inference import killing

MODEL = GaussianMean(
    np.random.default_rng(0).normal(size=(50, 3)), np.diag([1, 4, 9.0])
)
SETTINGS = dict(
    step_size=0.1, n_draws=60, thin=2, burn_in=20, n_chains=2, random_state=7
)
EXACT = ("mala", "hmc")


def draw(name="sghmc", gradient=None, **changes):
    gradient = gradient or (Full() if name in EXACT else Minibatch(10))
    return sample(MODEL, SAMPLERS[name](), gradient, **{**SETTINGS, **changes})


CASES = [(name, None, 0.1) for name in SAMPLERS] + [
    ("sgld", SAGA(5), 0.1),
    ("sgld", SVRG(5), 0.1),
    ("baoab", None, Polynomial(0.1, 1 / 3, 10)),
]


@pytest.mark.parametrize(("name", "gradient", "step"), CASES)
@pytest.mark.parametrize("correction", [False, True])
def test_chains_go_on_as_if_they_had_not_stopped(name, gradient, step, correction):
    settings = {"step_size": step, "noise_correction": correction and name not in EXACT}
    whole = draw(name, gradient, n_draws=100, **settings)
    first, info = draw(name, gradient, n_draws=30, return_info=True, **settings)
    saved = pickle.loads(pickle.dumps(info.chains))
    second, info = draw(
        name, gradient, n_draws=70, resume=saved, return_info=True, **settings
    )
    assert np.array_equal(whole, np.concatenate([first, second], axis=1))
    assert info.n_iter == 220 and len(info.step_sizes) == 70


@pytest.mark.parametrize("n_chunks", [0, 1, 70, 145, 200, 279])
@pytest.mark.parametrize("name", ["sghmc", "psgld"])
def test_resumed_draws_are_the_same(stop_after, tmp_path, name, n_chunks):
    settings = {"name": name, "checkpoint": tmp_path / "run"}
    stop_after(n_chunks, lambda: draw(**settings))
    resumed = draw(**settings)
    assert not isinstance(resumed, np.memmap)
    assert np.array_equal(resumed, draw(name))
    assert np.array_equal(resumed, draw(**settings))  # a finished run is read back
    assert not list(tmp_path.rglob("*.new"))


def test_resumed_in_other_processes(stop_after, tmp_path):
    stop_after(100, lambda: draw(checkpoint=tmp_path))
    with joblib.parallel_config("loky"):
        resumed = draw(checkpoint=tmp_path, n_jobs=2)
    assert np.array_equal(resumed, draw())


@pytest.mark.parametrize(
    "change",
    [
        {"random_state": 8},
        {"step_size": 0.2},
        {"n_draws": 61},
        {"temperature": 2.0},
        {"gradient": Minibatch(9)},
        {"name": "sgld"},
    ],
)
def test_foreign_files_are_refused(tmp_path, change):
    draw(checkpoint=tmp_path)
    with pytest.raises(ValueError, match=r"belongs to another run.*delete this one"):
        draw(checkpoint=tmp_path, **change)


@pytest.mark.parametrize("name", ["chain-1.npz", "draws.npy"])
@pytest.mark.parametrize("size", [0, 50, 0.5])
def test_truncated_files_are_refused(tmp_path, name, size):
    draw(checkpoint=tmp_path)
    (path,) = tmp_path.rglob(name)
    content = path.read_bytes()
    size = int(size * len(content)) if isinstance(size, float) else size
    path.write_bytes(content[:size])
    with pytest.raises(ValueError, match=rf"{name} is truncated or not a checkpoint"):
        draw(checkpoint=tmp_path)


def test_a_folder_in_place_of_a_file_is_refused(tmp_path):
    draw(checkpoint=tmp_path)
    (path,) = tmp_path.rglob("draws.npy")
    path.unlink()
    path.mkdir()
    with pytest.raises(ValueError, match="draws.npy is truncated or not a checkpoint"):
        draw(checkpoint=tmp_path)


def test_checkpoint_needs_a_seed(tmp_path):
    with pytest.raises(ValueError, match="checkpoint needs a random_state"):
        draw(checkpoint=tmp_path, random_state=None)
    with pytest.raises(TypeError, match="random_state=None"):
        SGLDLogisticRegression(checkpoint=tmp_path).fit(*data())
    with pytest.raises(TypeError, match="checkpoint=3 must be the path"):
        SGLDLogisticRegression(checkpoint=3).fit(*data())


def test_identity_depends_on_every_value():
    base = identity(MODEL, 1.0, None)
    assert base == identity(GaussianMean(MODEL.y.copy(), MODEL.precision), 1.0, None)
    changed = MODEL.y.copy()
    changed[-1, -1] += 1e-12
    assert base != identity(GaussianMean(changed, MODEL.precision), 1.0, None)
    assert base != identity(MODEL, 2.0, None)


# Estimators
def data():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    return X, (rng.random(300) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)


def classifier(**changes):
    settings = dict(n_draws=40, thin=3, burn_in=30, n_chains=2, random_state=0)
    return SGLDLogisticRegression(**{**settings, **changes})


def test_warm_start_goes_on_bit_by_bit():
    X, y = data()
    whole = classifier(n_draws=100).fit(X, y).samples_
    model = classifier(warm_start=True).fit(X, y)
    first = model.samples_
    model.set_params(n_draws=60).fit(X, y)
    assert np.array_equal(whole, np.concatenate([first, model.samples_], axis=1))
    other = model.fit(X[::-1], y[::-1]).samples_  # other data: from the last draws on
    assert np.isfinite(other).all() and len(other[0]) == 60


@pytest.mark.parametrize(
    ("kind", "n_kills"),
    [
        ("logistic", 2),
        *[pytest.param(kind, 20, marks=pytest.mark.long) for kind in killing.FITS],
    ],
)
def test_killed_runs_end_with_the_same_draws(tmp_path, kind, n_kills):
    """The process is killed at random moments, one after the other in one run."""
    command = [sys.executable, "-m", "tests.inference.killing", kind, str(n_kills)]
    subprocess.run([*command, str(tmp_path)], check=True)


@pytest.mark.parametrize("n_jobs", [1, 2])
@pytest.mark.parametrize("warm_start", [False, True])
def test_interrupted_fit(monkeypatch, warm_start, n_jobs):
    """Chains of one thread take turns, so all of them have draws."""
    X, y = data()
    model = classifier(warm_start=warm_start).fit(X, y)
    before = vars(model).copy()
    model.set_params(thin=100, n_draws=1_000_000, n_jobs=n_jobs, warm_start=warm_start)
    run_chain, count = running.run_chain, []

    def interrupting(*args):
        count.append(1)
        if len(count) == 40:
            os.kill(os.getpid(), signal.SIGINT)
        return run_chain(*args)

    monkeypatch.setattr(running, "run_chain", interrupting)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            model.fit(X, y)
    finally:
        signal.signal(signal.SIGINT, handler)
    if not warm_start:
        assert all(
            vars(model)[name] is before[name] for name in before if name[-1] == "_"
        )
        return
    n_draws = model.samples_.shape[1]
    assert 0 < n_draws < 1_000_000 and model.thin_ == 100
    assert np.isfinite(model.samples_).all() and len(model.draw_weights_) == n_draws
    assert model.predict_proba(X).shape == (300, 2)
    assert model.set_params(thin=1, n_draws=5).fit(X, y).samples_.shape[1] == 5
