"""Pickles carry versions; draws go to files without pickle; old files still load."""

import copy
import io
import json
import os
import pickle
import warnings
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression

import skbayes_sg
from skbayes_sg import (
    ConsensusClassifier,
    KSDStepSizeSearch,
    SGBPMFRecommender,
    SGHMCClassifierMLP,
    SGLDLogisticRegression,
    load_draws,
    save_draws,
)
from skbayes_sg.base._saving import FORMAT
from skbayes_sg.datasets import make_logistic, make_ratings
from skbayes_sg.kernels.gradients import ControlVariate
from skbayes_sg.kernels.samplers import LeimkuhlerMatthews

FILES = Path(__file__).parents[1] / "files"
X, Y = make_logistic(100, 3, random_state=0)


def fitted(**changes):
    parameters = {"n_draws": 10, "n_chains": 2, "random_state": 0, **changes}
    return SGLDLogisticRegression(**parameters).fit(X, Y)


@pytest.fixture(scope="module")
def model():
    return fitted()


def test_pickles_carry_versions(model, recwarn):
    state = model.__getstate__()
    assert state["_skbayes_sg_version"] == skbayes_sg.__version__
    assert state["_skbayes_sg_format"] == FORMAT
    for again in (pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert vars(again).keys() == vars(model).keys() - {"_model", "_fit"}
        assert np.array_equal(again.samples_, model.samples_)
    assert not recwarn.list


@pytest.mark.parametrize(
    "changes, words",
    [
        ({"_skbayes_sg_version": "0.0.1"}, r"version 0\.0\.1 .*Fit it again"),
        ({"_skbayes_sg_format": FORMAT + 1}, rf"\(format {FORMAT + 1}\)"),
        ({"_skbayes_sg_version": None, "_skbayes_sg_format": None}, "unknown version"),
    ],
)
def test_a_pickle_of_another_version_warns(model, changes, words):
    state = {**model.__getstate__(), **changes}
    state = {name: value for name, value in state.items() if value is not None}
    again = SGLDLogisticRegression()
    with pytest.warns(UserWarning, match=words):
        again.__setstate__(state)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_draws_come_back(tmp_path, dtype):
    model = SGLDLogisticRegression(
        n_draws=10, schedule="polynomial", random_state=0
    ).fit(X.astype(dtype), Y)
    save_draws(model, tmp_path / "draws.npz")
    saved = load_draws(tmp_path / "draws.npz")
    assert np.array_equal(saved.samples, model.samples_)
    assert saved.samples.dtype == dtype
    assert np.array_equal(saved.weights, model.draw_weights_)
    assert saved.parameter_names == ["x0", "x1", "x2", "intercept"]
    assert saved.estimator == "SGLDLogisticRegression"
    assert SGLDLogisticRegression(**saved.params).get_params() == model.get_params()
    assert saved.settings["step_size_"] == model.step_size_
    assert (saved.version, saved.format) == (skbayes_sg.__version__, FORMAT)
    assert os.listdir(tmp_path) == ["draws.npz"]  # nothing temporary is left


def test_numpy_and_json_alone_read_the_file(model, tmp_path):
    save_draws(model, tmp_path / "draws.npz")
    with np.load(tmp_path / "draws.npz", allow_pickle=False) as arrays:
        assert np.array_equal(arrays["samples"], model.samples_)
        assert json.loads(arrays["meta.json"])["params"]["n_draws"] == 10


def test_parameters_that_json_has_no_word_for(tmp_path):
    model = fitted(
        sampler=LeimkuhlerMatthews(),
        gradient=ControlVariate(np.int64(10), np.zeros(4)),
        random_state=np.random.RandomState(0),
        class_weight={0: 1.0, 1: np.float32(2.0)},
    )
    save_draws(model, tmp_path / "draws.npz")
    params = load_draws(tmp_path / "draws.npz").params
    assert params["sampler"]["class"] == "LeimkuhlerMatthews"
    assert params["gradient"]["batch_size"] == 10
    assert params["class_weight"] == {"0": 1.0, "1": 2.0}
    assert "RandomState" in params["random_state"]


def test_draws_of_a_recommender(tmp_path):
    pairs, ratings = make_ratings(8, 6, 20, random_state=0)
    model = SGBPMFRecommender(n_factors=2, n_draws=5).fit(pairs, ratings)
    save_draws(model, tmp_path / "draws.npz")
    saved = load_draws(tmp_path / "draws.npz")
    assert np.array_equal(saved.samples, model.samples_)
    assert len(saved.parameter_names) == saved.samples.shape[-1]


def test_draws_of_every_earlier_format():
    """The files in `tests/files` were written by the version that they name."""
    paths = sorted(FILES.glob("draws_format_*.npz"))
    assert len(paths) == FORMAT
    for number, path in enumerate(paths, start=1):
        saved = load_draws(path)
        assert saved.format == number and saved.version == "0.1.0"
        assert saved.samples.shape == (2, 10, 4)
        np.testing.assert_allclose(saved.samples.mean(), saved.settings["mean_"])
        assert saved.params["n_draws"] == 10
        assert saved.parameter_names[-1] == "intercept"


def written(model, path, **changes):
    """Return the bytes of a file of draws, its meta data changed."""
    save_draws(model, path)
    out = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "meta.json":
                content = json.dumps({**json.loads(content), **changes})
            new.writestr(name, content)
    return out.getvalue()


def test_a_newer_format_is_an_error(model, tmp_path):
    path = tmp_path / "draws.npz"
    path.write_bytes(written(model, path, format=FORMAT + 1, version="9.0"))
    with pytest.raises(ValueError, match=r"path=.*version 9\.0.*install a newer one"):
        load_draws(path)


def test_truncated_and_damaged_files(model, tmp_path):
    """Cut anywhere: an error. A byte changed anywhere: an error, or the same draws."""
    path = tmp_path / "draws.npz"
    save_draws(model, path)
    whole = path.read_bytes()
    for length in range(0, len(whole), 13):
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match="path=.*not a complete file of draws"):
            load_draws(path)
    refused = 0
    for position in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[position] ^= 0xFF
        path.write_bytes(damaged)
        try:
            assert np.array_equal(load_draws(path).samples, model.samples_)
        except ValueError as error:
            assert "path=" in str(error)
            refused += 1
    assert refused > len(whole) / 7 / 2


def test_foreign_files(model, tmp_path):
    path = tmp_path / "draws.npz"
    contents = {
        "text": b"theta = 1",
        "pickle": pickle.dumps({"samples": 1}),
        "other package": written(model, path, package="other"),
        "no names": written(model, path, parameter_names=[]),
        "no format": written(model, path, format=None),
    }
    other = io.BytesIO()
    np.savez(other, samples=np.zeros(3))
    contents["other npz"] = other.getvalue()
    evil = io.BytesIO()
    np.savez(evil, samples=np.array([{}], dtype=object), weights=np.ones(1))
    with zipfile.ZipFile(evil, "a") as archive:
        archive.writestr("meta.json", '{"package": "skbayes_sg", "format": 1}')
    contents["pickled array"] = evil.getvalue()
    for name, content in contents.items():
        path.write_bytes(content)
        with pytest.raises(ValueError, match="not a complete file of draws"):
            print(name, load_draws(path))
    with pytest.raises(FileNotFoundError):
        load_draws(tmp_path / "none.npz")


def test_a_failed_save_keeps_the_old_file(model, tmp_path, monkeypatch):
    path = tmp_path / "draws.npz"
    save_draws(model, path)
    before = path.read_bytes()
    monkeypatch.setattr(json, "dumps", lambda *args, **options: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        save_draws(model, path)
    assert path.read_bytes() == before and len(os.listdir(tmp_path)) == 1


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(NotFittedError):
        save_draws(SGLDLogisticRegression(), tmp_path / "draws.npz")
    with pytest.raises(TypeError, match="estimator=LogisticRegression.*fitted"):
        save_draws(LogisticRegression(), tmp_path / "draws.npz")
    assert not os.listdir(tmp_path)


SHORT = {"n_draws": 5, "n_chains": 2, "burn_in": 5, "thin": 1, "random_state": 0}
SOME = SGLDLogisticRegression(**SHORT)
SAVED = {
    "logistic": (SOME, (X, Y)),
    "components": (
        SGLDLogisticRegression(
            sampler=LeimkuhlerMatthews(), schedule="cyclical", **SHORT
        ),
        (X, Y),
    ),
    "network": (SGHMCClassifierMLP((3,), **SHORT), (X, Y)),
    "recommender": (
        SGBPMFRecommender(2, **SHORT),
        make_ratings(8, 6, 40, random_state=0),
    ),
    "consensus": (ConsensusClassifier(SOME, n_shards=2, random_state=0), (X, Y)),
    "search": (KSDStepSizeSearch(SOME, {"step_size": [0.1, 0.5]}), (X, Y)),
}


@pytest.mark.parametrize("case", SAVED)
def test_skops_needs_no_trust_but_in_our_names(case):
    skops = pytest.importorskip("skops.io")
    estimator, data = SAVED[case]
    model = clone(estimator).fit(*data)
    saved = skops.dumps(model)
    names = skops.get_untrusted_types(data=saved)
    assert names and all(name.startswith("skbayes_sg.") for name in names)
    again = skops.loads(saved, trusted=names)
    if hasattr(model, "predict_proba"):
        expected = model.predict_proba(data[0])
        assert np.array_equal(again.predict_proba(data[0]), expected)
    assert np.array_equal(again.predict(data[0]), model.predict(data[0]))
    if case == "recommender":
        user = model.users_[0]
        assert np.array_equal(again.recommend(user), model.recommend(user))
    if case != "search" and case != "consensus":  # which hold an estimator
        assert again.get_params() == model.get_params()


@pytest.mark.parametrize(
    "path", sorted((FILES / "pickles_0_1_0").glob("*.pkl")), ids=lambda path: path.stem
)
def test_pickles_of_version_0_1_load_and_predict(path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other versions of what they were saved by
        saved = pickle.loads(path.read_bytes())
    model = saved["estimator"]
    regresses = path.stem in ("recommender", "regressor_mlp")
    predict = model.predict if regresses else model.predict_proba
    np.testing.assert_allclose(predict(saved["X"]), saved["expected"], rtol=1e-5)
