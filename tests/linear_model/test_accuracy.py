"""Posteriors of regressions against exact ones and long chains: the long suite.

12,000 draws: means have an error of about 0.015 sd, sds of about 1 %; references that
are chains have 25,000 draws.
"""

import functools

import numpy as np
import pytest

from skbayes_sg import (
    SGMCMCLinearRegression,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
    SGMCMCRobustRegressor,
)
from tests.linear_model.references import reference

pytestmark = pytest.mark.long
CLASSES = {
    "linear": SGMCMCLinearRegression,
    "poisson": SGMCMCPoissonRegressor,
    "negative binomial": SGMCMCNegativeBinomialRegressor,
    "robust": functools.partial(SGMCMCRobustRegressor, df=4.0),
}
SHAPES = {
    "small": (30, 2),
    "large": (5000, 3),
    "skewed": (60, 3),
    "p > n": (12, 16),
    "badly scaled": (80, 4),
}
SEEDS = 10


def problem(name, kind):
    """Return X, y and the prior variance of a data set."""
    n, p = SHAPES[kind]
    rng = np.random.default_rng(n)
    X, beta = rng.normal(size=(n, p)), rng.normal(size=p) * 0.6
    if kind == "p > n":
        beta[3:] = 0.0
    if kind == "skewed":  # rows of high leverage, rare counts
        X = rng.lognormal(size=(n, p))
        beta *= 0.3
    eta = X @ beta
    if kind == "badly scaled":
        X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
        X = X * [100.0, 100.0, 0.01, 1.0]
    level = -1.0 if kind == "skewed" else 1.0
    if name == "linear":
        y = 40.0 + 5.0 * (eta + rng.normal(size=n))
    elif name == "robust":
        y = 40.0 + 5.0 * (eta + rng.standard_t(2.0, n))
    elif name == "poisson":
        y = rng.poisson(np.exp(level + eta))
    else:
        y = rng.poisson(np.exp(level + eta) * rng.gamma(2.0, 0.5, n))
    return X, y.astype(float), 1.0 if kind == "p > n" else 10.0


@functools.cache
def exact(name, kind):
    return reference(name, *problem(name, kind))


@pytest.mark.parametrize("sampler", ["sgld-lm", "baoab", "badodab"])
@pytest.mark.parametrize("kind", SHAPES)
@pytest.mark.parametrize("name", CLASSES)
@pytest.mark.parametrize("seed", range(SEEDS))
def test_means_and_sds_are_exact(name, kind, sampler, seed):
    X, y, variance = problem(name, kind)
    model = CLASSES[name](
        sampler=sampler, prior_variance=variance, n_draws=3000, random_state=seed
    )
    exact(name, kind).check(model.fit(X, y).samples_, error=0.1, ratio=0.05)
