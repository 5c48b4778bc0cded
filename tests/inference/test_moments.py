"""Moments of draws that are not kept are those of the draws that would have been."""

import joblib
import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.inference import running, storage
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SGLD
from skbayes_sg.kernels.schedules import Polynomial

MODEL = GaussianMean(
    np.random.default_rng(0).normal(size=(50, 3)), np.diag([1, 4, 9.0])
)
SETTINGS = dict(
    step_size=0.1, n_draws=200, thin=2, burn_in=20, n_chains=3, random_state=7
)


def draw(**changes):
    return sample(MODEL, SGLD(), Minibatch(10), **{**SETTINGS, **changes})


@pytest.mark.parametrize("n_draws", [1, 63, 64, 200])
@pytest.mark.parametrize("step", [0.1, Polynomial(0.1, 1 / 3, 10)])
def test_equal_those_of_the_draws(n_draws, step):
    settings = {"n_draws": n_draws, "step_size": step}
    draws, info = draw(return_info=True, **settings)
    moments, same = draw(keep="moments", return_info=True, **settings)
    assert moments.n_draws == n_draws
    assert same.step_sizes.size == 0
    for c, chain in enumerate(draws):
        mean = np.average(chain, axis=0, weights=info.step_sizes)
        covariance = np.cov(chain.T, aweights=info.step_sizes, ddof=0)
        np.testing.assert_allclose(moments.mean[c], mean, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(
            moments.covariance[c], covariance, rtol=1e-9, atol=1e-12
        )
    variances = draw(keep="variances", **settings)
    np.testing.assert_allclose(
        variances.covariance,
        np.diagonal(moments.covariance, axis1=1, axis2=2),
        rtol=1e-10,
        atol=1e-14,
    )


def test_pooled():
    draws = draw().reshape(-1, 3)
    mean, covariance = draw(keep="moments").pooled()
    np.testing.assert_allclose(mean, draws.mean(axis=0), rtol=1e-10)
    np.testing.assert_allclose(covariance, np.cov(draws.T, ddof=0), rtol=1e-9)
    _, variances = draw(keep="variances").pooled()
    np.testing.assert_allclose(variances, draws.var(axis=0), rtol=1e-9)


def test_same_bits_in_any_chunks_threads_and_processes(monkeypatch):
    expected = draw(keep="moments")
    with joblib.parallel_config("loky"):
        others = [draw(keep="moments", n_jobs=2)]
    others.append(draw(keep="moments", n_jobs=2))
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    others.append(draw(keep="moments"))
    for moments in others:
        assert np.array_equal(moments.mean, expected.mean)
        assert np.array_equal(moments.covariance, expected.covariance)


@pytest.mark.parametrize("n_chunks", [30, 200, 420, 900])
def test_resumed_moments_are_the_same(stop_after, tmp_path, n_chunks):
    settings = {"keep": "moments", "checkpoint": tmp_path / "run"}
    stop_after(n_chunks, lambda: draw(**settings))
    expected, resumed = draw(keep="moments"), draw(**settings)
    assert np.array_equal(resumed.mean, expected.mean)
    assert np.array_equal(resumed.covariance, expected.covariance)
    again = draw(**settings)  # a finished run is read back
    assert np.array_equal(again.covariance, expected.covariance)


def test_many_small_buffers():
    """Draws pass through buffers of 64, or of 8 to another type: a thousand and more.

    Chunks are as long as their time allows, not twice as long after each buffer.
    """
    moments = draw(keep="moments", n_draws=70_000, thin=1, n_chains=1)
    halves = draw(storage_dtype="float16", n_draws=9_000, thin=1, n_chains=1)
    assert moments.n_draws == 70_000 and halves.shape == (1, 9_000, 3)
    expected = draw(n_draws=70_000, thin=1, n_chains=1)[0]
    np.testing.assert_allclose(moments.mean[0], expected.mean(axis=0), rtol=1e-9)
    assert np.array_equal(halves[0], expected[:9_000].astype(np.float16))


def test_a_type_that_is_too_small_is_an_error():
    far = MODEL._replace(y=1e6 + MODEL.y)
    with pytest.raises(ValueError, match="storage_dtype='float16' holds numbers up to"):
        settings = {**SETTINGS, "storage_dtype": "float16", "start": np.full(3, 1e6)}
        sample(far, SGLD(), Minibatch(10), **settings)


def test_chains_that_go_on_count_new_draws_alone():
    _, info = draw(keep="moments", n_draws=80, return_info=True)
    moments = draw(keep="moments", n_draws=120, resume=info.chains)
    later = draw()[:, 80:]
    np.testing.assert_allclose(moments.mean, later.mean(axis=1), rtol=1e-10)
    assert np.array_equal(draw(n_draws=120, resume=info.chains), later)


def test_errors(monkeypatch, tmp_path):
    with pytest.raises(ValueError, match="keep='means'.*'moments'"):
        draw(keep="means")
    with pytest.raises(ValueError, match="storage=.*keep='moments'"):
        draw(keep="moments", storage=str(tmp_path))
    monkeypatch.setattr(storage, "MAX_BYTES", 100)
    with pytest.raises(ValueError, match='n_chains=3.*keep="variances"'):
        draw(keep="moments")
