"""The loaders return what the publishers describe, from a folder and by download."""

import gzip
import zipfile

import numpy as np
import pytest
from sklearn.model_selection import PredefinedSplit

from skbayes_sg.datasets import (
    _libsvm,
    _mnist,
    _movielens,
    fetch_libsvm,
    fetch_mnist,
    fetch_movielens_100k,
)


@pytest.fixture(scope="module")
def movielens(data_dir):
    return fetch_movielens_100k(data_home=data_dir)


def test_movielens_ratings(movielens):
    users, items = movielens.data.T
    assert movielens.data.shape == (100_000, 2)
    assert np.array_equal(np.unique(users), np.arange(1, 944))
    assert np.array_equal(np.unique(items), np.arange(1, 1683))
    assert set(movielens.target) == {1, 2, 3, 4, 5}
    assert np.bincount(users)[1:].min() >= 20
    dates = movielens.timestamps.astype("datetime64[s]")
    assert dates.min() >= np.datetime64("1997-09-01")
    assert dates.max() < np.datetime64("1998-05-01")


def test_movielens_folds(movielens, data_dir):
    folder = data_dir / "movielens-100k"
    rows = np.column_stack((movielens.data, movielens.target, movielens.timestamps))
    splits = list(PredefinedSplit(movielens.test_fold).split())
    assert len(splits) == 5
    for k, split in enumerate(splits, start=1):
        one = fetch_movielens_100k(data_home=folder, fold=k)
        ((train, test),) = PredefinedSplit(one.test_fold).split()
        for got, expected in zip((train, test), split, strict=True):
            np.testing.assert_array_equal(got, expected)
        for index, kind in ((train, "base"), (test, "test")):
            published = np.loadtxt(folder / f"u{k}.{kind}")
            np.testing.assert_array_equal(
                rows[index][np.lexsort(rows[index].T)],
                published[np.lexsort(published.T)],
            )
    n_users = [len(np.unique(movielens.data[test, 0])) for _, test in splits]
    assert n_users[:2] == [459, 653]


def test_movielens_features(movielens):
    assert movielens.titles[0] == "Toy Story (1995)"
    assert movielens.titles[542] == "Misérables, Les (1995)"
    assert movielens.release_dates[0] == np.datetime64("1995-01-01")
    assert np.isnat(movielens.release_dates).sum() == 1
    toy_story = movielens.genre_names[movielens.genres[0]]
    assert list(toy_story) == ["Animation", "Children's", "Comedy"]
    assert (movielens.ages[0], movielens.genders[0]) == (24, "M")
    assert (movielens.occupations[0], movielens.zip_codes[0]) == ("technician", "85711")

    def named(side, row):
        names = np.array(movielens[f"{side}_feature_names"])
        return list(names[movielens[f"{side}_features"][row] == 1])

    assert named("user", 0) == ["age=18-24", "gender=M", "occupation=technician"]
    assert named("item", 1) == [
        "genre=Action",
        "genre=Adventure",
        "genre=Thriller",
        "released=1990s",
    ]
    assert movielens.user_features.shape == (943, 7 + 2 + 21)
    assert np.all(movielens.user_features.sum(axis=1) == 3)
    assert movielens.item_features.shape == (1682, 19 + 8)


def test_movielens_forms(movielens, data_dir):
    X, y = fetch_movielens_100k(data_home=data_dir, return_X_y=True)
    np.testing.assert_array_equal(X, movielens.data)
    np.testing.assert_array_equal(y, movielens.target)
    X_train, X_test, y_train, y_test = fetch_movielens_100k(
        data_home=data_dir, fold=3, return_X_y=True
    )
    is_test = movielens.test_fold == 2
    np.testing.assert_array_equal(X_test, X[is_test])
    np.testing.assert_array_equal(y_train, y[~is_test])
    assert len(X_train) == 80_000 and len(y_test) == 20_000


def test_movielens_frames(movielens, data_dir):
    pytest.importorskip("pandas")
    frames = fetch_movielens_100k(data_home=data_dir, as_frame=True)
    assert list(frames.frame) == ["user", "item", "rating", "timestamp"]
    np.testing.assert_array_equal(frames.data.to_numpy(), movielens.data)
    assert frames.titles[543] == "Misérables, Les (1995)"
    assert frames.genres.loc[1, "Animation"]
    assert frames.user_features.loc[1, "occupation=technician"] == 1
    assert frames.user_features.index.name == "user"
    X, _, y, _ = fetch_movielens_100k(
        data_home=data_dir, fold=1, as_frame=True, return_X_y=True
    )
    assert list(X) == ["user", "item"] and y.name == "rating" and len(X) == 80_000


def test_movielens_by_download(movielens, data_dir, publisher, tmp_path, monkeypatch):
    with zipfile.ZipFile(publisher.folder / "ml-100k.zip", "w") as archive:
        for path in (data_dir / "movielens-100k").iterdir():
            archive.write(path, f"ml-100k/{path.name}")
    remote = _movielens._REMOTE._replace(url=publisher.url + "ml-100k.zip")
    monkeypatch.setattr(_movielens, "_REMOTE", remote)
    home = tmp_path / "home"
    got = fetch_movielens_100k(data_home=home)
    np.testing.assert_array_equal(got.data, movielens.data)
    assert (home / "movielens-100k" / "ml-100k.zip").is_file()


def test_mnist(data_dir):
    digits = fetch_mnist(data_home=data_dir, subset="test", scale=False)
    assert digits.data.shape == (10_000, 784) and digits.data.dtype == np.uint8
    assert np.bincount(digits.target).tolist() == [
        *(980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009)
    ]
    assert set(digits.test_fold) == {0}
    X, y = fetch_mnist(data_home=data_dir / "mnist", return_X_y=True)
    assert X.shape == (70_000, 784) and X.dtype == np.float32 and X.flags.c_contiguous
    assert X.min() == 0 and X.max() == 1
    np.testing.assert_allclose(X[60_000:], digits.data / 255, atol=1e-7)
    np.testing.assert_array_equal(y[60_000:], digits.target)
    assert y[:5].tolist() == [5, 0, 4, 1, 9]


def test_mnist_frame(data_dir):
    pytest.importorskip("pandas")
    digits = fetch_mnist(data_home=data_dir, subset="test", as_frame=True)
    assert digits.data.columns[29] == "pixel1_1" and digits.target.name == "digit"


def test_mnist_by_download(data_dir, publisher, tmp_path, monkeypatch):
    for kind in ("images-idx3", "labels-idx1"):
        name = f"t10k-{kind}-ubyte.gz"
        publisher.publish(name, (data_dir / "mnist" / name).read_bytes())
    monkeypatch.setattr(_mnist, "_URL", publisher.url + "{}.gz")
    got = fetch_mnist(data_home=tmp_path, subset="test")
    assert got.data.shape == (10_000, 784)


@pytest.mark.parametrize(
    ("name", "shape", "n_stored", "n_positive"),
    [
        ("a9a", (32561, 123), 451592, 7841),
        ("a9a.t", (16281, 123), 225731, 3846),
        ("w8a", (49749, 300), 579586, 1479),
    ],
)
def test_libsvm(name, shape, n_stored, n_positive, data_dir):
    X, y = fetch_libsvm(name, data_home=data_dir, return_X_y=True)
    assert X.shape == shape and X.nnz == n_stored and X.format == "csr"
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert set(y) == {-1, 1} and (y == 1).sum() == n_positive


def test_libsvm_by_download(data_dir, publisher, tmp_path, monkeypatch):
    published = gzip.decompress((data_dir / "libsvm" / "a9a.t.gz").read_bytes())
    publisher.publish("a9a.t", published + b"\n")
    monkeypatch.setattr(_libsvm, "_URL", publisher.url)
    got = fetch_libsvm("a9a.t", data_home=tmp_path)
    expected = fetch_libsvm("a9a.t", data_home=data_dir)
    assert (got.data != expected.data).nnz == 0
    np.testing.assert_array_equal(got.target, expected.target)
    assert "Adult" in got.DESCR


@pytest.mark.parametrize(
    ("fetch", "params"),
    [
        (fetch_movielens_100k, {"fold": 0}),
        (fetch_movielens_100k, {"fold": "u1"}),
        (fetch_mnist, {"subset": "valid"}),
        (fetch_libsvm, {"name": "a10a"}),
    ],
)
def test_bad_parameters_are_named(fetch, params, tmp_path):
    with pytest.raises(ValueError, match=next(iter(params))):
        fetch(data_home=tmp_path, **params)
