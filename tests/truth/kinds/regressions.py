"""Kinds of data for regressions of counts and of numbers."""

import numpy as np

from tests.truth.kinds.logistic import PRIORS, normal
from tests.truth.problems import Problem


def counts(rng, level=1.0, priors=PRIORS):
    X = normal(rng, columns=(1, 5))
    B = rng.standard_normal(X.shape[1]) / np.sqrt(X.shape[1])
    y = rng.poisson(level * np.exp(0.7 * X @ B)).astype(float)
    y[0] = max(y[0], 1.0)
    return Problem("counts", X, y, _options(rng, priors))


def rare_counts(rng):
    return counts(rng, 10.0 ** rng.uniform(-2.5, -1))


def large_counts(rng):
    return counts(rng, 10.0 ** rng.uniform(2, 4))


def scattered_counts(rng):
    """Counts of a few rows far from what the model says."""
    problem = counts(rng)
    problem.y[rng.integers(len(problem.y), size=3)] *= 20
    return problem


def numbers(rng, noise=1.0):
    X = normal(rng, (8, 400), (1, 5))
    y = X @ rng.standard_normal(X.shape[1]) + noise * rng.standard_normal(len(X))
    y = 10.0 ** rng.uniform(-3, 3) * (y + rng.uniform(-20, 20))
    return Problem("numbers", X, y, _options(rng, PRIORS))


def precise_numbers(rng):
    return numbers(rng, 10.0 ** rng.uniform(-3, -1))


def _options(rng, priors):
    return {"prior_variance": float(rng.choice(priors)), "intercept_variance": 10.0}


KINDS = {
    "counts": counts,
    "counts, rare": rare_counts,
    "counts, large": large_counts,
    "counts, scattered": scattered_counts,
    "numbers": numbers,
    "numbers, precise": precise_numbers,
}
