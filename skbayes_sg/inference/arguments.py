"""Checks of single arguments; messages name parameter, value and what is allowed."""

import math
import numbers
import os

import numpy as np


def check_number(name, value, *, kind=numbers.Real, above=None, at_least=None):
    """Return `value` if it is a finite number of `kind` within the bounds."""
    word = "an integer" if kind is numbers.Integral else "a number"
    bounds = ""
    if above is not None:
        bounds = f" greater than {above}"
    if at_least is not None:
        bounds = f" of at least {at_least}"
    if isinstance(value, bool | np.bool_) or not isinstance(value, kind):
        raise TypeError(
            f"{name}={shown(value)} is of type {type(value).__name__}; "
            f"it must be {word}{bounds}"
        )
    if (
        not math.isfinite(value)
        or (above is not None and value <= above)
        or (at_least is not None and value < at_least)
    ):
        raise ValueError(
            f"{name}={shown(value)} is not allowed; it must be {word}{bounds}"
        )
    return value


def shown(value):
    """Return how a value is shown in messages: 0.1, not np.float64(0.1)."""
    if isinstance(value, tuple | list):
        value = getattr(value, "_make", type(value))(map(_plain, value))
    return repr(_plain(value))


def _plain(value):
    """Return a scalar of NumPy as one of Python, and all else as it is."""
    return value.item() if isinstance(value, np.generic) else value


def check_integer(name, value, at_least):
    """Return `value` if it is an integer of at least `at_least`."""
    return check_number(name, value, kind=numbers.Integral, at_least=at_least)


def check_n_jobs(value):
    """Return a number of jobs that joblib accepts, or None."""
    if value is not None:
        check_integer("n_jobs", value, at_least=-1_000_000)
        if value == 0:
            raise ValueError("n_jobs=0 is not allowed; use None, -1 or at least 1")
    return value


def check_bool(name, value):
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={shown(value)} must be True or False")
    return bool(value)


def check_option(name, value, options):
    """Return `value` if it is one of the strings `options`."""
    if not isinstance(value, str):
        raise TypeError(
            f"{name}={shown(value)} must be a string, one of {list(options)}"
        )
    if value not in options:
        raise ValueError(
            f"{name}={shown(value)} is not known; it must be one of {list(options)}"
        )
    return value


def check_path(name, value):
    """Return a path to which files can be written, or None.

    The check raises an error now, rather than when the first draw is written.
    """
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name}={shown(value)} must be the path of a folder, or None")
    path = os.fspath(value)
    if not path or "\0" in path:
        raise ValueError(f"{name}={shown(value)} is not a path; it must name a folder")
    there = os.path.abspath(path)
    while not os.path.exists(there):  # the folders in between are made
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise ValueError(
            f"{name}={shown(value)}: {there} is a file; it must be a folder, or a new "
            "one"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(
            f"{name}={shown(value)}: {there} is not writable; use another folder"
        )
    return value
