"""MovieLens 100K: ratings, official folds, features of users and items."""

from os import PathLike
from typing import Any

import numpy as np
from sklearn.utils import Bunch

from skbayes_sg.datasets._files import RemoteFile, read_contents

_REMOTE = RemoteFile(
    "https://files.grouplens.org/datasets/movielens/ml-100k.zip",
    "movielens-100k",
    {
        "u.data": "f30dc7fc1d0a843b086c92eb2fab6a21a99a3d1acc149cfb73b3e6594a8d394b",
        "u.genre": "4befebdfeb3547a5cc69d937e35b45ffe55a38d75a1748889617015801387f15",
        "u.item": "7f2dcfe46bb382d9000087bbadb9d74d1d878b14b49d270761e7189608a118db",
        "u.user": "5805e258d129182b804ca09d0d55888b002a73763a29f4b5e0d8f59b526797ad",
        "u1.test": "dbd67d277503d4b5923f9872be376f48de070f54c0ac4aec7cee38659e3ae76d",
        "u2.test": "f904eb399d391de9c565ebdac938c20c53831c803faebe2a15ce9e04760e117f",
        "u3.test": "287fe6106473cdc454d47c1a8ae53993e678d463d40ae189f3ff5c443b589e32",
        "u4.test": "d5a3a6c44b507f0d2c83484b7f11848efad76d1ab5adb88fffa972daefd15a98",
        "u5.test": "1ff8a5033cbbb3fba03696bdd5411a0b4b3362f0ae2cb27ecc331ef5be63d444",
    },
    is_text=True,
)
_N_FOLDS = 5
_MONTHS = ("Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec").split()
_AGE_BOUNDS = (18, 25, 35, 45, 50, 56)  # the age groups of MovieLens 1M
_AGE_GROUPS = ("0-17", "18-24", "25-34", "35-44", "45-49", "50-55", "56+")
_DESCR = """MovieLens 100K (GroupLens, 1998).

100,000 ratings from 1 to 5 of 1,682 films by 943 users, each of whom rated at least 20.
The five official test sets partition the ratings; they are not random splits.
For research use; redistribution needs the publisher's permission.

Cite: F. M. Harper and J. A. Konstan (2015). The MovieLens Datasets: History and
Context. ACM Transactions on Interactive Intelligent Systems 5(4), 19.
"""


def fetch_movielens_100k(
    *,
    data_home: str | PathLike | None = None,
    fold: int | None = None,
    as_frame: bool = False,
    return_X_y: bool = False,
    download_if_missing: bool = True,
) -> Any:
    """Load the MovieLens 100K ratings.

    Parameters
    ----------
    data_home : str or path-like, default=None
        Folder that contains ``ml-100k.zip`` or its files (``u.data`` and so on), in
        itself or in its subfolder ``movielens-100k``; the archive is downloaded there
        if missing. The default is the environment variable ``SKBAYES_SG_DATA``, or else
        a cache folder of the user.
    fold : {1, 2, 3, 4, 5} or None, default=None
        An official fold, for one split into training and test ratings instead of
        cross-validation over all five.
    as_frame : bool, default=False
        Whether to return pandas objects.
    return_X_y : bool, default=False
        Whether to return only ``(data, target)``; with a `fold`
        ``(X_train, X_test, y_train, y_test)``.
    download_if_missing : bool, default=True
        Whether to download missing files; otherwise they are an error.

    Returns
    -------
    data : :class:`~sklearn.utils.Bunch`
        Of the ratings: `data` of shape (100000, 2), the user and item ids, from 1;
        `target` of shape (100000,), ratings 1 to 5; `timestamps` of shape (100000,),
        in seconds since 1970; `test_fold` of shape (100000,), for
        :class:`~sklearn.model_selection.PredefinedSplit`: 0 to 4 for the official test
        sets u1 to u5 or, with a `fold`, 0 for its test set and -1 for the rest.

        Of the items, in the order of their ids: `titles`, `release_dates` and `genres`
        of shape (1682, 19), whose columns are `genre_names`; `item_features` of shape
        (1682, n_item_features), 0 or 1 for each genre and decade of release, named
        `item_feature_names`.

        Of the users, in the order of their ids: `ages`, `genders`, `occupations`,
        `zip_codes`; `user_features` of shape (943, n_user_features), 0 or 1 for each
        age group, gender and occupation, named `user_feature_names`.

        `DESCR`; and, with `as_frame`, `frame` of all ratings with their time.
    (data, target) : tuple if `return_X_y`
        The pairs and their ratings.

    Examples
    --------
    Cross-validation over the official folds:

    >>> from sklearn.model_selection import PredefinedSplit
    >>> from skbayes_sg.datasets import fetch_movielens_100k
    >>> ratings = fetch_movielens_100k()  # doctest: +SKIP
    >>> cv = PredefinedSplit(ratings.test_fold)  # doctest: +SKIP
    """
    if fold is not None and fold not in range(1, _N_FOLDS + 1):
        raise ValueError(f"fold must be None or one of 1 to {_N_FOLDS}, got {fold!r}.")
    contents = read_contents(_REMOTE, data_home, download_if_missing)
    ratings = _integers(contents["u.data"])
    tests = [_integers(contents[f"u{k}.test"]) for k in range(1, _N_FOLDS + 1)]
    test_fold = _test_fold(ratings, tests)
    if fold is not None:
        test_fold = np.where(test_fold == fold - 1, 0, -1)
    X, y, timestamps = ratings[:, :2].copy(), ratings[:, 2] * 1.0, ratings[:, 3].copy()
    bunch = Bunch(
        data=X,
        target=y,
        timestamps=timestamps,
        test_fold=test_fold,
        feature_names=["user", "item"],
        target_names=["rating"],
        **_items(contents["u.item"], contents["u.genre"]),
        **_users(contents["u.user"]),
        DESCR=_DESCR,
    )
    if as_frame:
        _to_frames(bunch)
    if not return_X_y:
        return bunch
    X, y = bunch.data, bunch.target
    if fold is None:
        return X, y
    is_test = test_fold == 0
    return X[~is_test], X[is_test], y[~is_test], y[is_test]


def _integers(content):
    return np.array(content.split(), dtype=np.int64).reshape(-1, 4)


def _test_fold(ratings, tests):
    """Return the index of the test set that contains each rating's user and item."""

    def code(rows):
        return rows[:, 0] << 32 | rows[:, 1]

    test_fold = np.full(len(ratings), -1)
    order = np.argsort(code(ratings))
    for k, test in enumerate(tests):
        place = np.searchsorted(code(ratings), code(test), sorter=order)
        test_fold[order[place]] = k
    return test_fold


def _fields(content):
    """Return the columns of a table, which are separated by `|`."""
    lines = content.decode("latin-1").split("\n")
    return list(zip(*(line.split("|") for line in lines if line.strip()), strict=True))


def _items(items, genres):
    _, titles, dates, _, _, *flags = _fields(items)
    genre_names = np.array(_fields(genres)[0])
    genres = np.array(flags).T == "1"
    dates = np.array([_date(text) for text in dates])
    years = dates.astype("datetime64[Y]").astype(object)
    decades = np.array(["" if y is None else f"{y.year // 10 * 10}s" for y in years])
    features, names = _one_hot(released=decades)
    return {
        "titles": np.array(titles),
        "release_dates": dates,
        "genres": genres,
        "genre_names": genre_names,
        "item_features": np.hstack((genres, features)).astype(np.float64),
        "item_feature_names": [f"genre={name}" for name in genre_names] + names,
    }


def _date(text):
    """Read 01-Jan-1995 in any locale; one film has no date."""
    if not text:
        return np.datetime64("NaT", "D")
    day, month, year = text.split("-")
    return np.datetime64(f"{year}-{_MONTHS.index(month) + 1:02d}-{int(day):02d}")


def _users(users):
    _, ages, genders, occupations, zip_codes = map(np.array, _fields(users))
    ages = ages.astype(np.int64)
    groups = np.array(_AGE_GROUPS)[np.searchsorted(_AGE_BOUNDS, ages, side="right")]
    features, names = _one_hot(age=groups, gender=genders, occupation=occupations)
    return {
        "ages": ages,
        "genders": genders,
        "occupations": occupations,
        "zip_codes": zip_codes,
        "user_features": features,
        "user_feature_names": names,
    }


def _one_hot(**columns):
    """Return 0-1 features of categorical columns, except empty values, and names."""
    names, features = [], []
    for label, column in columns.items():
        values = [value for value in np.unique(column) if value]
        names += [f"{label}={value}" for value in values]
        features.append(column[:, None] == np.array(values))
    return np.hstack(features).astype(np.float64), names


def _to_frames(bunch):
    """Turn the arrays of a bunch into pandas objects, indexed by the ids."""
    import pandas as pd

    items = pd.RangeIndex(1, len(bunch.titles) + 1, name="item")
    users = pd.RangeIndex(1, len(bunch.ages) + 1, name="user")
    bunch.frame = pd.DataFrame(bunch.data, columns=bunch.feature_names).assign(
        rating=bunch.target, timestamp=bunch.timestamps
    )
    bunch.data = bunch.frame[bunch.feature_names]
    bunch.target = bunch.frame["rating"]
    bunch.timestamps = bunch.frame["timestamp"]
    for name in ("titles", "release_dates"):
        bunch[name] = pd.Series(bunch[name], items, name=name)
    for name in ("ages", "genders", "occupations", "zip_codes"):
        bunch[name] = pd.Series(bunch[name], users, name=name)
    for name, index, columns in (
        ("genres", items, bunch.genre_names),
        ("item_features", items, bunch.item_feature_names),
        ("user_features", users, bunch.user_feature_names),
    ):
        bunch[name] = pd.DataFrame(bunch[name], index, columns)
