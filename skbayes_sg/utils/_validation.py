"""Checks of parameters; every message names the parameter, its value and the remedy."""

import contextlib
import math

import numpy as np

from skbayes_sg.inference.arguments import (
    check_bool,
    check_integer,
    check_n_jobs,
    check_number,
    check_option,
    check_path,
    shown,
)

__all__ = [
    "all_or_nothing",
    "check_auto",
    "check_bool",
    "check_bounds",
    "check_component",
    "check_integer",
    "check_magnitude",
    "check_n_jobs",
    "check_number",
    "check_option",
    "check_path",
    "check_precision",
    "check_sample_weight",
    "check_variances",
    "largest_of",
    "shown",
]


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
            f"{name}={shown(value)} must be a number, or one for each feature"
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
        raise TypeError(f"{name}={shown(value)} is not allowed; {remedy}") from None
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


def check_auto(name, value, check, **bounds):
    """Return "auto", or the result of `check` for any other value."""
    if isinstance(value, str):
        if value != "auto":
            raise ValueError(
                f'{name}={shown(value)} is not allowed; use "auto" or a number'
            )
        return value
    return check(name, value, **bounds)


def check_component(name, value, registry, kinds=None):
    """Return a component given by its name in `registry` or as an instance.

    Only instances of `kinds` are allowed, if it is given; some have no names.
    """
    allowed = tuple(registry.values()) if kinds is None else kinds
    names = [key for key, kind in registry.items() if issubclass(kind, allowed)]
    instance = f"an instance of {' or '.join(kind.__name__ for kind in allowed)}"
    if not names and not isinstance(value, allowed):
        error = ValueError if hasattr(value, "_fields") else TypeError
        raise error(f"{name}={shown(value)} must be {instance}")
    if isinstance(value, str):
        kind = registry[check_option(name, value, registry)]
        value = kind() if not _required(kind) else kind
    elif isinstance(value, type) or not hasattr(value, "_fields"):
        raise TypeError(f"{name}={shown(value)} must be one of {names} or {instance}")
    if kinds is not None and not isinstance(value, kinds):
        raise ValueError(
            f"{name}={shown(value)} is not a sampler of this class; it must be "
            f"{instance}. The generic class accepts any sampler"
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
    bad = weights[~(np.isfinite(weights) & (weights >= 0))]
    if bad.size:
        raise ValueError(
            f"sample_weight holds {bad[0]:g}, but weights must be finite and not "
            "negative; 0 leaves a row out"
        )
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
