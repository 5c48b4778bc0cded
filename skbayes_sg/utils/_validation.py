"""Checks of parameters; every message names the parameter, its value and the remedy."""

import contextlib
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
    return repr(value.item() if isinstance(value, np.generic) else value)


def check_variances(name, value, n_features):
    """Return variances of the coefficients, (n_features,), from a number or an array.

    The length of the array is not checked if `n_features` is None.
    """
    if np.ndim(value) == 0:
        return np.full(n_features or 1, check_number(name, value, above=0))
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name}={value!r} must be a number, or one for each feature"
        ) from None
    if n_features is not None and values.shape != (n_features,):
        raise ValueError(
            f"{name} has shape {values.shape}, but X has {n_features} features; give "
            "one number, or one for each feature"
        )
    if values.ndim != 1 or not (np.isfinite(values).all() and (values > 0).all()):
        raise ValueError(
            f"{name}={values.tolist()} is not allowed; it must be a number greater "
            "than 0, or one for each feature"
        )
    return values


def check_bounds(name, value, n_features):
    """Return lower and upper bounds, (n_features,) each, from a pair or one for each.

    Without `n_features`, the number of them is not checked.
    """
    remedy = "give a pair (low, high), or an array of shape (n_features, 2)"
    try:
        values = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"{name}={value!r} is not allowed; {remedy}") from None
    if values.shape == (2,):
        values = np.tile(values, (n_features or 1, 1))
    if values.ndim != 2 or values.shape[1] != 2:
        raise ValueError(f"{name}={values.tolist()} is not allowed; {remedy}")
    if n_features is not None and len(values) != n_features:
        raise ValueError(
            f"{name} has shape {values.shape}, but X has {n_features} features; "
            f"{remedy}"
        )
    low, high = values.T
    if not (low < high).all():  # nor NaN
        raise ValueError(
            f"{name}={values.tolist()} is not allowed; low must be less than high"
        )
    return low.copy(), high.copy()


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


def check_auto(name, value, check, **bounds):
    """Return "auto", or the result of `check` for any other value."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(f'{name}={value!r} is not allowed; use "auto" or a number')
        return value
    return check(name, value, **bounds)


def check_bool(name, value):
    """Return `value` if it is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}={value!r} must be True or False")
    return bool(value)


def check_option(name, value, options):
    """Return `value` if it is one of the strings `options`."""
    if not isinstance(value, str):
        raise TypeError(f"{name}={value!r} must be a string, one of {list(options)}")
    if value not in options:
        raise ValueError(
            f"{name}={value!r} is not known; it must be one of {list(options)}"
        )
    return value


def check_path(name, value):
    """Return a path to which files can be written, or None.

    The check raises an error now, rather than when the first draw is written.
    """
    if value is None:
        return None
    if not isinstance(value, str | os.PathLike):
        raise TypeError(f"{name}={value!r} must be the path of a folder, or None")
    path = os.fspath(value)
    if not path or "\0" in path:
        raise ValueError(f"{name}={value!r} is not a path; it must name a folder")
    there = os.path.abspath(path)
    while not os.path.exists(there):  # the folders in between are made
        there = os.path.dirname(there)
    if not os.path.isdir(there):
        raise ValueError(
            f"{name}={value!r}: {there} is a file; it must be a folder, or a new one"
        )
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(
            f"{name}={value!r}: {there} is not writable; use another folder"
        )
    return value


def check_component(name, value, registry, kinds=None):
    """Return a component given by its name in `registry` or as an instance."""
    known = tuple(registry.values())
    if isinstance(value, str):
        kind = registry[check_option(name, value, registry)]
        value = kind() if not _required(kind) else kind
    elif isinstance(value, type) or not hasattr(value, "_fields"):
        raise TypeError(
            f"{name}={value!r} must be one of {list(registry)} or an instance of "
            f"{', '.join(kind.__name__ for kind in known)}"
        )
    if kinds is not None and not isinstance(value, kinds):
        raise ValueError(
            f"{name}={value!r} is not a sampler of this class; it must be an instance "
            f"of {' or '.join(kind.__name__ for kind in kinds)}. The generic class "
            "accepts any sampler"
        )
    return value


def _required(kind):
    return set(kind._fields) - set(kind._field_defaults)


def check_sample_weight(sample_weight, n_samples):
    """Return the weights as a float64 array (n_samples,), or None."""
    if sample_weight is None:
        return None
    try:
        weights = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(
            "sample_weight must be an array of numbers, one per sample"
        ) from None
    if weights.ndim == 0:
        weights = np.full(n_samples, float(weights))
    if weights.shape != (n_samples,):
        raise ValueError(
            f"sample_weight.shape == {weights.shape}, expected ({n_samples},)"
        )
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError("sample_weight must be finite and not negative")
    if not weights.any():
        raise ValueError("sample_weight is zero for every sample; one must be positive")
    check_magnitude("sample_weight", weights, np.float32, "divide all of them")
    return weights


def largest_of(dtype):
    """Return a bound below which squares and their sums are far from overflow."""
    return 1e-6 * math.sqrt(float(np.finfo(dtype).max))


def check_precision(name, value, dtype):
    """Return a positive number if it is neither too large nor too small for `dtype`."""
    check_number(name, value, above=0)
    largest = largest_of(dtype)
    if not 1 / largest <= value <= largest:
        raise ValueError(
            f"{name}={shown(value)} is out of range for {dtype}; it must be between "
            f"{1 / largest:.2g} and {largest:.2g}"
        )
    return value


def check_magnitude(name, values, dtype, remedy):
    """Raise a ValueError for numbers whose squares, summed over rows, may overflow."""
    values = np.asarray(values)
    largest = max(float(values.max()), -float(values.min())) if values.size else 0.0
    if largest > largest_of(dtype):
        raise ValueError(
            f"{name} holds values up to {largest:.3g}, too large for "
            f"{np.dtype(dtype).name}; {remedy}"
        )


@contextlib.contextmanager
def all_or_nothing(estimator):
    """Leave `estimator` as it was if its fitting fails."""
    before = vars(estimator).copy()
    try:
        yield
    except BaseException:
        for name in set(vars(estimator)) - set(before):
            if not name.startswith(("_skl_", "_callback_")):  # scikit-learn's own
                delattr(estimator, name)
        vars(estimator).update(before)
        raise
