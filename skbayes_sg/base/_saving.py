"""Files of estimators: versions in pickles, and draws saved without pickle."""

import contextlib
import json
import math
import numbers
import os
import uuid
import warnings
import zipfile
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils.validation import check_is_fitted

import skbayes_sg
from skbayes_sg.base._reading import (
    DAMAGE,
    META,
    read_meta,
    read_names,
    read_samples,
    read_weights,
    shape_of,
)

# The format of pickles and of files of draws. Increase it when the meaning of their
# contents changes, and add a file of the old format to tests/files.
FORMAT = 1
VERSIONS = ("_skbayes_sg_version", "_skbayes_sg_format")


class VersionedMixin:
    """Store the version of the package in pickles, and check it on loading."""

    def __getstate__(self):
        state = dict(super().__getstate__())
        state.update(zip(VERSIONS, (skbayes_sg.__version__, FORMAT), strict=True))
        return state

    def __setstate__(self, state):
        state = dict(state)
        version, file_format = (state.pop(name, None) for name in VERSIONS)
        if (version, file_format) != (skbayes_sg.__version__, FORMAT):
            wrote = "an unknown version" if version is None else f"version {version}"
            warnings.warn(
                f"{type(self).__name__} was saved by {wrote} of skbayes_sg (format "
                f"{file_format}) and is loaded by version {skbayes_sg.__version__} "
                f"(format {FORMAT}); it may not work. Fit it again and save it, or "
                "load it with the version that saved it",
                UserWarning,
                stacklevel=2,
            )
        super().__setstate__(state)


class SavedDraws(NamedTuple):
    """What `load_draws` returns.

    Attributes
    ----------
    samples : ndarray of shape (n_chains, n_draws, dim)
        Posterior draws.
    weights : ndarray of shape (n_draws,)
        Weights of the draws of a chain in averages; they sum to one.
    parameter_names : list of str
        A name for each of the `dim` columns.
    estimator : str
        Name of the estimator's class.
    params : dict
        Its parameters as numbers, strings, lists and dicts. Values that JSON cannot
        represent are stored as the string that `repr` returns.
    settings : dict
        Numbers that were learned, such as `step_size_` and `n_iter_`.
    version : str
        Version of the package that wrote the file.
    format : int
        Version of the file's format.

    Examples
    --------
    >>> from skbayes_sg import load_draws, save_draws
    >>> load_draws.__doc__.splitlines()[0]
    'Read a file that `save_draws` wrote, without unpickling anything.'
    """

    samples: np.ndarray
    weights: np.ndarray
    parameter_names: list
    estimator: str
    params: dict
    settings: dict
    version: str
    format: int


def save_draws(estimator: Any, path: str | PathLike) -> None:
    """Write the draws of a fitted estimator to a file that NumPy can read.

    The file is a ``.npz`` archive of the arrays ``samples`` and ``weights``, which
    :func:`numpy.load` reads, and of ``meta.json``. An existing file at `path` is
    replaced only when the new one is complete.

    Parameters
    ----------
    estimator : estimator
        A fitted estimator of this package.
    path : path
        Name of the file, which usually ends in ``.npz``.

    See Also
    --------
    load_draws : Read it again.

    Examples
    --------
    >>> import tempfile
    >>> from skbayes_sg import SGLDLogisticRegression, load_draws, save_draws
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(500, 2, random_state=0)
    >>> model = SGLDLogisticRegression(n_draws=50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_draws(model, f"{folder}/draws.npz")
    ...     saved = load_draws(f"{folder}/draws.npz")
    >>> saved.samples.shape, saved.parameter_names
    ((4, 50, 3), ['x0', 'x1', 'intercept'])
    >>> saved.params["n_draws"], saved.settings["n_iter_"] == model.n_iter_
    (50, True)
    """
    if not hasattr(estimator, "_parameter_names"):
        raise TypeError(
            f"estimator={estimator!r} draws no samples; save_draws takes a fitted "
            "estimator of skbayes_sg, such as the last step of a pipeline"
        )
    check_is_fitted(estimator)
    learned = {
        name: value
        for name, value in vars(estimator).items()
        if name.endswith("_") and isinstance(value, numbers.Number)
    }
    meta = {
        "package": "skbayes_sg",
        "version": skbayes_sg.__version__,
        "format": FORMAT,
        "estimator": type(estimator).__name__,
        "parameter_names": [str(name) for name in estimator._parameter_names()],
        "params": _readable(estimator.get_params(deep=False)),
        "settings": _readable(learned),
    }
    with _replacing(path) as file:
        np.savez(
            file,
            allow_pickle=False,
            samples=estimator._draws[..., : len(meta["parameter_names"])],
            weights=estimator.draw_weights_,
        )
        file.seek(0)
        with zipfile.ZipFile(file, "a") as archive:
            archive.writestr(META, json.dumps(meta, indent=1, allow_nan=False))


def load_draws(path: str | PathLike) -> Any:
    """Read a file that `save_draws` wrote, without unpickling anything.

    Parameters
    ----------
    path : path
        Name of the file.

    Returns
    -------
    saved : SavedDraws
        The draws and their description.

    See Also
    --------
    save_draws : Write such a file.

    Examples
    --------
    >>> import tempfile
    >>> from skbayes_sg import SGLDLogisticRegression, load_draws, save_draws
    >>> from skbayes_sg.datasets import make_logistic
    >>> X, y = make_logistic(500, 2, random_state=0)
    >>> model = SGLDLogisticRegression(n_draws=50, random_state=0).fit(X, y)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save_draws(model, f"{folder}/draws.npz")
    ...     saved = load_draws(f"{folder}/draws.npz")
    >>> (saved.samples == model.samples_).all()
    np.True_
    """
    path = os.fspath(path)
    with open(path, "rb") as file:  # raises FileNotFoundError if there is none
        try:
            archive = zipfile.ZipFile(file)
            _, n_draws, dim = shape_of(archive)
            meta = read_meta(archive, dim)
            if meta["format"] <= FORMAT:
                return SavedDraws(
                    samples=read_samples(archive),
                    weights=read_weights(archive, n_draws),
                    parameter_names=read_names(meta, dim),
                    **{name: meta[name] for name in SavedDraws._fields[3:]},
                )
        except DAMAGE as error:
            raise ValueError(
                f"path={path!r} is not a complete file of draws ({error}); use a file "
                "that save_draws wrote, or save the draws again"
            ) from error
    raise ValueError(
        f"path={path!r} has format {meta['format']}, written by version "
        f"{meta['version']} of skbayes_sg; version {skbayes_sg.__version__} reads "
        f"formats up to {FORMAT}, so install a newer one"
    )


@contextlib.contextmanager
def _replacing(path):
    """Open a temporary file that replaces the one at `path` if the body succeeds."""
    temporary = f"{os.fspath(path)}.{uuid.uuid4().hex}.tmp"
    try:
        with open(temporary, "x+b") as file:
            yield file
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)


def _readable(value):
    """Return `value` converted to JSON types, as a string if it has none."""
    if isinstance(value, dict):
        return {str(key): _readable(item) for key, item in value.items()}
    if hasattr(value, "_fields"):
        return {"class": type(value).__name__, **_readable(value._asdict())}
    if isinstance(value, list | tuple):
        return [_readable(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    return repr(value)
