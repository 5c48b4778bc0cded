"""Validation of the recommender's parameters and ratings."""

import math
import numbers

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import assert_all_finite

from skbayes_sg.decomposition._rating_context import check_context
from skbayes_sg.kernels.samplers import LazyLangevin
from skbayes_sg.utils._validation import (
    check_bool,
    check_integer,
    check_magnitude,
    check_number,
    check_option,
    check_precision,
    check_sample_weight,
    shown,
)

OUTER_SHARE = 0.01  # of the ratings on each side, whose distances may mean nothing
FAR_OUT = 10.0  # sds from the others, of a rating that an error names
HYPERPARAMETERS = ("conjugate", "log-scale")
FEEDBACK = ("ratings", "implicit")


def check_recommender(estimator, sampler):
    """Raise an error that names a parameter whose value is not allowed."""
    check_integer("n_factors", estimator.n_factors, at_least=1)
    check_bool("biases", estimator.biases)
    check_option("dtype", estimator.dtype, ("float32", "float64"))
    if isinstance(estimator.noise_precision, str):
        check_option("noise_precision", estimator.noise_precision, ("learn",))
    else:
        check_precision("noise_precision", estimator.noise_precision, estimator.dtype)
    if estimator.noise_dof is not None:
        check_number("noise_dof", estimator.noise_dof, above=2)
    check_option("hyperparameters", estimator.hyperparameters, HYPERPARAMETERS)
    if not isinstance(estimator.implicit_sets, bool):
        check_option("implicit_sets", estimator.implicit_sets, ("auto",))
    check_option("feedback", estimator.feedback, FEEDBACK)
    check_number("unobserved_weight", estimator.unobserved_weight, above=0)
    shape, rate = _check_pair("precision_prior", estimator.precision_prior)
    check_number("precision_prior", shape, above=0)
    if not isinstance(rate, str) or rate != "auto":
        check_number("precision_prior", rate, above=0)
    _check_range(estimator.rating_range)
    _check_combinations(estimator, sampler)


def check_ratings(estimator, columns, y, sample_weight):
    """Return ratings and weights, None where all are 1, as arrays.

    Implicit feedback has no ratings: a pair is a choice, whatever its y.
    """
    users = columns[0]
    _check_context(estimator, columns)
    if estimator.feedback == "implicit":
        if y is not None:
            check_consistent_length(users, y)
        return np.ones(len(users)), check_sample_weight(sample_weight, len(users))
    if y is None:
        raise ValueError(
            f"{type(estimator).__name__} requires y to be passed, but the target y "
            'is None; it holds the ratings. Choices without ratings need feedback="'
            'implicit"'
        )
    y = column_or_1d(y, warn=True, dtype=np.float64)
    assert_all_finite(y, input_name="y")
    check_magnitude("y", y, estimator.dtype, "measure it in larger units")
    check_consistent_length(users, y)
    check_context(columns[2:], y)
    return y, check_sample_weight(sample_weight, len(y))


def typical_variance(y):
    """Return the variance of the ratings, the outermost hundredths drawn in."""
    low = np.quantile(y, OUTER_SHARE, method="lower")
    high = np.quantile(y, 1.0 - OUTER_SHARE, method="higher")
    return float(np.var(np.clip(y, low, high)) or np.var(y)) or 1.0


def far_out(y):
    """Return a sentence on a rating that may be none, or nothing."""
    center, sd = np.median(y), math.sqrt(typical_variance(y))
    worst = y[np.argmax(np.abs(y - center))]
    if abs(worst - center) <= FAR_OUT * sd:
        return ""
    return (
        f". y holds {worst:g}, {abs(worst - center) / sd:.0f} standard deviations of "
        "the other ratings from their median: correct it or leave it out if it is none"
    )


def _check_context(estimator, columns):
    """Raise an error if there are further columns where they are not allowed."""
    if len(columns) == 2:
        return
    lazy = isinstance(estimator.sampler, LazyLangevin) or estimator.sampler == "lazy"
    for name, wrong in (
        ("feedback='implicit'", estimator.feedback == "implicit"),
        ("hyperparameters='log-scale'", estimator.hyperparameters == "log-scale"),
        ("sampler=LazyLangevin()", lazy),
    ):
        if wrong:
            raise ValueError(
                f"X has {len(columns)} columns, but {name} takes only two: the user "
                "and the item"
            )


def _check_range(rating_range):
    if rating_range is None:
        return
    low, high = _check_pair("rating_range", rating_range)
    real = isinstance(low, numbers.Real) and isinstance(high, numbers.Real)
    if not (real and low < high):
        raise ValueError(
            f"rating_range={shown(rating_range)} is not allowed; it must be a pair of "
            "increasing numbers, or None"
        )


def _check_combinations(estimator, sampler):
    moves_prior = estimator.hyperparameters == "log-scale"
    if moves_prior and isinstance(sampler, LazyLangevin):
        raise ValueError(
            "sampler=LazyLangevin() moves rows alone, which have a fixed prior "
            'between its draws; use hyperparameters="conjugate"'
        )
    if estimator.feedback == "implicit" and moves_prior:
        raise ValueError(
            "hyperparameters='log-scale' is for ratings; with feedback=\"implicit\" "
            'use hyperparameters="conjugate"'
        )
    if estimator.feedback == "implicit" and isinstance(sampler, LazyLangevin):
        raise ValueError(
            "sampler=LazyLangevin() moves only rows with ratings in a minibatch, but "
            'with feedback="implicit" every pair counts; leave sampler=None'
        )
    if estimator.preconditioner == "dense":
        raise ValueError(
            "preconditioner='dense' is not for factors, of which there are too "
            'many; use "diagonal" or "none"'
        )
    if estimator.preconditioner == "none" and estimator.step_size == "auto":
        raise ValueError(
            "step_size='auto' is in the units of a preconditioner; with "
            'preconditioner="none" it must be a number'
        )


def _check_pair(name, value):
    """Return `value` if it is a pair."""
    if not isinstance(value, tuple | list | np.ndarray) or len(value) != 2:
        raise ValueError(f"{name}={shown(value)} is not allowed; it must be a pair")
    return value
