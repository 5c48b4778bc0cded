"""Checkpoints that are wrong, shared, damaged or without space: an error, no numbers.

Each test reproduces a fault that once went unnoticed, or ended the process.
"""

import errno
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from sklearn.model_selection import cross_validate

import skbayes_sg
from skbayes_sg import DivergenceError, SGLDLogisticRegression
from skbayes_sg.inference import checkpoints, draw_files, running, storage
from skbayes_sg.inference.identities import identity
from skbayes_sg.kernels.schedules import Constant
from tests.conftest import Killed
from tests.inference.test_checkpoints import data, draw

FOREIGN = "belongs to another run, with other data, parameters, seed, start, version"


# Identity
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"thin": 1, "burn_in": 10}, {"thin": 11, "burn_in": 0}),
        ({"thin": 1, "burn_in": 11}, {"thin": 11, "burn_in": 1}),
        ({"n_draws": 1, "thin": 12}, {"n_draws": 11, "thin": 2}),
        ({"random_state": 1, "n_draws": 61}, {"random_state": 11, "n_draws": 6}),
        ({"start": None}, {"start": np.ones(3)}),
        ({"start": np.ones(3)}, {"start": np.ones(3) + 1e-15}),
        ({"n_chains": 2}, {"n_chains": 1}),
        ({"storage_dtype": None}, {"storage_dtype": "float32"}),
        ({"keep": "draws"}, {"keep": "moments"}),
    ],
)
def test_other_settings_are_another_run(tmp_path, first, second):
    draw(checkpoint=tmp_path, **first)
    with pytest.raises(ValueError, match=FOREIGN):
        draw(checkpoint=tmp_path, **second)


def test_another_state_to_go_on_from_is_another_run(tmp_path):
    _, info = draw(return_info=True)
    _, other = draw(return_info=True, start=np.ones(3))
    went_on = draw(checkpoint=tmp_path, resume=info.chains)
    assert np.array_equal(went_on, draw(checkpoint=tmp_path, resume=info.chains))
    with pytest.raises(ValueError, match=FOREIGN):
        draw(checkpoint=tmp_path, resume=other.chains)


def test_another_version_is_another_run(tmp_path, monkeypatch):
    draw(checkpoint=tmp_path)
    monkeypatch.setattr(skbayes_sg, "__version__", "9.9")
    with pytest.raises(ValueError, match=FOREIGN):
        draw(checkpoint=tmp_path)


def test_a_run_without_a_snapshot_keeps_no_folder(tmp_path):
    with pytest.raises(DivergenceError):
        draw(checkpoint=tmp_path, step_size=1e9)
    assert list(tmp_path.rglob("draws.npy"))
    assert np.array_equal(draw(checkpoint=tmp_path, n_draws=30), draw(n_draws=30))


def test_a_folder_of_the_first_format_is_refused(tmp_path):
    np.save(tmp_path / "draws.npy", np.zeros((2, 60, 3)))
    with pytest.raises(ValueError, match=FOREIGN):
        draw(checkpoint=tmp_path)


def test_no_two_values_are_encoded_alike():
    values = [
        (1, 10),
        (11, 0),
        (1, 1, 0),
        (110,),
        ("a", "bc"),
        ("ab", "c"),
        ("1",),
        (1,),
        (1.0,),
        (True,),
        (None,),
        ("None",),
        ((1, 2), 3),
        (1, (2, 3)),
        ([1, 2], 3),
        (np.float32(1),),
        (np.float64(1),),
        (np.ones(1),),
        (np.ones((1, 1)),),
        (np.array([1, 2], object),),
        (np.array([1, "2"], object),),
        ({"a": 1},),
        ({"a": 2},),
        (Constant(1.0),),
        (0.0,),
        (-0.0,),
    ]
    assert len({identity(*value) for value in values}) == len(values)
    assert identity({"a": 1, "b": 2}) == identity({"b": 2, "a": 1})
    dates = np.array(["2020-01-01"], dtype="datetime64[D]")
    assert identity(dates) != identity(dates + 1)


# Contents
@pytest.fixture
def broken_off(tmp_path, monkeypatch):
    """Return the call of a run that was killed, and the file of its draws."""

    def run(**options):
        return draw(n_draws=2000, thin=1, checkpoint=tmp_path, **options)

    def kill(done, total):
        if done > 3000:
            raise Killed

    with monkeypatch.context() as patch:  # a snapshot for each hundred draws
        patch.setattr(storage, "FILE_BUFFER", 100 * 3 * 8)
        patch.setattr(running, "CHECKPOINT_SECONDS", -1.0)
        with pytest.raises(Killed):
            run(callback=kill)
    (path,) = tmp_path.rglob("draws.npy")
    return run, path


def written(path):
    """Return slices of the bytes of each chain's draws, up to its snapshot."""
    draws, parts = np.load(path), []
    offset = path.stat().st_size - draws.nbytes
    for c, chain in enumerate(draws):
        with np.load(path.with_name(f"chain-{c}.npz")) as saved:
            stop = saved["stops"][-1]
        first = offset + c * chain.nbytes
        parts.append(slice(first, first + chain[:stop].nbytes))
    return parts


def test_deleted_draws(broken_off):
    run, path = broken_off
    path.unlink()
    with pytest.raises(ValueError, match=r"draws\.npy is missing; delete its folder"):
        run()


def test_flipped_bits(broken_off):
    run, path = broken_off
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    for part in written(path):
        for place in rng.integers(part.start, part.stop, size=25):
            damaged = bytearray(whole)
            damaged[place] ^= 1 << rng.integers(8)
            path.write_bytes(damaged)
            with pytest.raises(ValueError, match="does not hold draws .* of chain"):
                run()
    path.write_bytes(whole)
    assert np.array_equal(run(), draw(n_draws=2000, thin=1))


def test_pages_lost_in_a_power_failure(broken_off):
    """The disk has the snapshots, and of the draws only some pages."""
    run, path = broken_off
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    first, second = written(path)
    for _ in range(20):
        damaged = bytearray(whole)
        part = (first, second)[rng.integers(2)]
        pages = np.arange(-(-part.start // 4096), part.stop // 4096)
        for page in rng.choice(pages, size=rng.integers(1, len(pages)), replace=False):
            damaged[4096 * page : 4096 * (page + 1)] = bytes(4096)
        path.write_bytes(damaged)
        with pytest.raises(ValueError, match="does not hold draws .* as they were"):
            run()


@pytest.mark.parametrize("n", [100, pytest.param(3000, marks=pytest.mark.long)])
@pytest.mark.parametrize("name", ["chain-0.npz", "run.json", "draws.npy"])
def test_mutated_files(tmp_path, name, n):
    """Bytes changed anywhere: an error with a sentence, or the same draws."""
    expected = draw(checkpoint=tmp_path)
    (path,) = tmp_path.rglob(name)
    whole, rng = path.read_bytes(), np.random.default_rng(0)
    refused = 0
    for _ in range(n):
        damaged = bytearray(whole)
        for place in rng.integers(len(whole), size=rng.integers(1, 4)):
            damaged[place] = rng.integers(256)
        path.write_bytes(damaged)
        try:
            assert np.array_equal(draw(checkpoint=tmp_path), expected)
        except ValueError as error:
            assert str(error).startswith("checkpoint: ")
            refused += 1
    assert refused > n // 2


# Two processes
def test_a_folder_in_use_is_refused(tmp_path):
    def again(done, total):
        if done > 20:
            draw(checkpoint=tmp_path)

    with pytest.raises(BlockingIOError, match="is in use by another run.*use another"):
        draw(checkpoint=tmp_path, callback=again)
    assert np.array_equal(draw(checkpoint=tmp_path), draw())  # the lock is gone


def test_without_locks(tmp_path, monkeypatch):
    class Lockless:
        LOCK_EX = LOCK_NB = 0

        @staticmethod
        def flock(file, flags):
            raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(checkpoints, "fcntl", Lockless)
    with pytest.warns(RuntimeWarning, match="cannot be locked .*no other process"):
        locked_by_hand = draw(checkpoint=tmp_path)
    monkeypatch.setattr(checkpoints, "fcntl", None)
    assert np.array_equal(draw(checkpoint=tmp_path), locked_by_hand)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds_share_a_folder(tmp_path, n_jobs):
    """Each has a sub-folder of its own, also where two of them run at a time."""
    settings = dict(n_draws=100, thin=2, burn_in=30, n_chains=2, random_state=0)
    model = SGLDLogisticRegression(**settings)

    def folds(**changes):
        model.set_params(**changes)
        options = {"cv": 4, "n_jobs": n_jobs, "error_score": "raise"}
        fits = cross_validate(model, *data(), return_estimator=True, **options)
        return [fit.samples_ for fit in fits["estimator"]]

    expected = folds()
    for _ in range(2):  # sampled, and read back
        for fold, other in zip(expected, folds(checkpoint=tmp_path), strict=True):
            assert np.array_equal(fold, other)
    assert len(list(tmp_path.rglob("draws.npy"))) == 4


# Disks
def expect_no_space(**settings):
    with pytest.raises(OSError, match="no space for .* MiB .*larger thin") as caught:
        draw(n_draws=10_000, **settings)
    assert caught.value.errno in (errno.ENOSPC, errno.EFBIG)


@pytest.mark.parametrize("name", ["checkpoint", "storage"])
def test_a_full_disk_is_an_error_before_the_first_draw(tmp_path, monkeypatch, name):
    usage = shutil.disk_usage(tmp_path)
    few = usage._replace(free=100_000)
    monkeypatch.setattr(draw_files.shutil, "disk_usage", lambda folder: few)
    expect_no_space(**{name: tmp_path})
    assert not [path for path in tmp_path.rglob("*") if "draws" in path.name]


LIMITED = """
import resource, sys
from tests.inference.test_checkpoint_files import expect_no_space

resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
expect_no_space(**{sys.argv[1]: sys.argv[2]})
"""


@pytest.mark.skipif(not hasattr(os, "posix_fallocate"), reason="nothing is reserved")
@pytest.mark.parametrize("name", ["checkpoint", "storage"])
def test_space_is_reserved(tmp_path, name):
    """The disk seems to have space, and the system refuses it."""
    environment = dict(os.environ, PYTHONPATH=os.pathsep.join(sys.path))
    command = [sys.executable, "-c", LIMITED, name, str(tmp_path)]
    subprocess.run(command, check=True, env=environment)


def test_file_systems_that_cannot_reserve(tmp_path, monkeypatch):
    def refuse(*args):
        raise OSError(errno.EOPNOTSUPP, "Operation not supported")

    monkeypatch.setattr(os, "posix_fallocate", refuse, raising=False)
    assert np.array_equal(draw(checkpoint=tmp_path), draw())
    monkeypatch.delattr(os, "posix_fallocate")
    assert np.array_equal(draw(storage=tmp_path), draw())


def test_a_snapshot_without_space(tmp_path, monkeypatch):
    def full(*args, **options):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(np, "savez", full)
        with pytest.raises(OSError, match="cannot write .*chain-.*No space left") as no:
            draw(checkpoint=tmp_path)
    assert no.value.errno == errno.ENOSPC
    assert not list(tmp_path.rglob("*.new"))
    assert np.array_equal(draw(checkpoint=tmp_path), draw())


@pytest.mark.parametrize("name", ["checkpoint", "storage"])
@pytest.mark.parametrize("fault", ["deleted", "truncated"])
def test_files_gone_while_the_chains_run(tmp_path, monkeypatch, fault, name):
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)

    def destroy(done, total):
        if done > 50 and fault == "deleted":
            shutil.rmtree(tmp_path, ignore_errors=True)
        elif done > 50:
            (path,) = tmp_path.rglob("draws.npy")
            os.truncate(path, 150)

    words = {"deleted": "deleted while the chains ran", "truncated": "its size to 150"}
    with pytest.raises(OSError, match=f"^.*{name}: cannot .*{words[fault]}.*use an"):
        draw(**{name: tmp_path}, callback=destroy, n_draws=5000)


def test_what_a_killed_run_was_writing_is_cleared_away(tmp_path):
    draw(checkpoint=tmp_path)
    (path,) = tmp_path.rglob("chain-0.npz")
    path.with_name("chain-0.npz.123.new").write_bytes(b"half")
    draw(checkpoint=tmp_path)
    assert not list(tmp_path.rglob("*.new"))
