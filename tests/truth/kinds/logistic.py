"""Kinds of data for logistic regression, with a prior variance."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from tests.truth.problems import Problem

PRIORS = (0.1, 1.0, 10.0, 100.0)


def labels(X, rng, scale=1.0, shift=0.0, n_classes=2):
    """Return labels from a random linear model, each class at least once."""
    K = 1 if n_classes == 2 else n_classes
    B = scale * rng.standard_normal((X.shape[1], K)) / np.sqrt(X.shape[1])
    eta = X @ B + shift
    if K == 1:
        y = (rng.logistic(size=len(X)) < eta[:, 0]).astype(int)
    else:
        y = np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)
    y[rng.permutation(len(y))[:n_classes]] = np.arange(n_classes)
    return y


def logistic(X, y, rng, priors=PRIORS, sample_weight=None, **options):
    """Return a problem with a random prior variance."""
    options["prior_variance"] = float(rng.choice(priors))
    return Problem("logistic", X, y, options, sample_weight)


def normal(rng, rows=(100, 800), columns=(1, 6)):
    return rng.standard_normal((rng.integers(*rows), rng.integers(*columns)))


def plain(rng):
    X = normal(rng)
    return logistic(X, labels(X, rng), rng)


def large(rng):
    X = normal(rng, (3_000, 30_000), (1, 5))
    return logistic(X, labels(X, rng), rng)


def rare(rng, dtype=float):
    n = int(np.exp(rng.uniform(np.log(2_000), np.log(100_000))))
    X = rng.standard_normal((n, rng.integers(1, 4))).astype(dtype)
    y = np.zeros(n, int)
    y[: rng.integers(1, 11)] = 1
    return logistic(X, y, rng, (1.0, 10.0, 10.0, 100.0))


def rare_few_rows(rng):
    X = normal(rng, (200, 2_000), (1, 4))
    y = np.zeros(len(X), int)
    y[: rng.integers(1, 4)] = 1
    return logistic(X, y, rng, (1.0, 10.0, 100.0, 1e4))


def separable(rng, priors=(1.0, 10.0, 100.0, 1e3, 1e4)):
    X = normal(rng, (20, 300), (1, 5))
    y = (X @ rng.standard_normal(X.shape[1]) > 0).astype(int)
    if y.min() == y.max():
        return separable(rng, priors)
    return logistic(X, y, rng, priors)


def collinear(rng):
    X = normal(rng, columns=(2, 5))
    X[:, 1] = X[:, 0] + 10.0 ** rng.uniform(-3, -1) * X[:, 1]
    return logistic(X, labels(X, rng), rng)


def outliers(rng, dtype=float):
    X = normal(rng, columns=(1, 4))
    y = labels(X, rng)
    for _ in range(rng.integers(1, 4)):
        X[rng.integers(len(X)), rng.integers(X.shape[1])] = 1e6 * rng.choice([-1, 1])
    return logistic(X.astype(dtype), y, rng)


def outliers32(rng):
    return outliers(rng, np.float32)


def heavy_tails(rng):
    n, p = rng.integers(100, 800), rng.integers(1, 5)
    X = rng.standard_t(rng.choice([1.0, 1.5, 2.5]), (n, p))
    return logistic(X, labels(np.clip(X, -3, 3), rng), rng)


def badly_scaled(rng):
    X = normal(rng, columns=(2, 6))
    y = labels(X, rng)
    return logistic(X * 10.0 ** rng.uniform(-4, 4, X.shape[1]), y, rng)


def wide(rng):
    X = normal(rng, (8, 16), (20, 101))
    return logistic(X, labels(X, rng), rng)


def tiny(rng):
    X = normal(rng, (5, 31), (1, 5))
    return logistic(X, labels(X, rng), rng)


def offset(rng):
    X = normal(rng)
    y = labels(X, rng)
    return logistic(X + 10.0 ** rng.uniform(0.5, 3, X.shape[1]), y, rng)


def float32(rng):
    X = normal(rng)
    y = labels(X, rng)
    return logistic(X.astype(np.float32), y, rng)


def nearly_equal32(rng):
    X = normal(rng, columns=(2, 4))
    X[:, 1] = X[:, 0] + 1e-4 * X[:, 1]
    return logistic(X.astype(np.float32), labels(X, rng), rng, (1.0, 10.0, 100.0, 1e4))


def sparse(rng):
    n, p = rng.integers(200, 1500), rng.integers(3, 11)
    X = sp.random(n, p, rng.uniform(0.02, 0.2), "csr", random_state=rng)
    X.data = rng.standard_normal(X.data.size)
    return logistic(X, labels(X.toarray(), rng, 3.0), rng)


def sample_weights(rng):
    X = normal(rng)
    weight = rng.gamma(0.5, 2.0, len(X)) * (rng.random(len(X)) < 0.9)
    return logistic(X, labels(X, rng), rng, sample_weight=weight)


def class_weights(rng):
    X = normal(rng)
    weight = rng.choice(["balanced", {0: 0.2, 1: 5.0}])
    return logistic(X, labels(X, rng, shift=-2.0), rng, class_weight=weight)


def classes(rng):
    X, K = normal(rng, (100, 500), (1, 4)), rng.integers(3, 5)
    return logistic(X, labels(X, rng, 2.0, n_classes=K), rng)


def rare_classes(rng):
    X = normal(rng, (200, 1_000), (1, 3))
    y = (rng.random(len(X)) < 0.4).astype(int)
    y[: rng.integers(1, 4)] = 2
    return logistic(X, y, rng, (1.0, 10.0, 100.0))


def narrow_prior(rng):
    X = normal(rng, (20, 800))
    return logistic(X, labels(X, rng), rng, (1e-2, 3e-2))


def wide_prior(rng):
    X = normal(rng, (20, 800))
    return logistic(X, labels(X, rng), rng, (1e3, 1e4))


def no_intercept(rng):
    X = normal(rng)
    return logistic(X, labels(X, rng), rng, fit_intercept=False)


def duplicated_rows(rng):
    X = np.repeat(normal(rng, (5, 30), (1, 4)), rng.integers(5, 50), axis=0)
    return logistic(X, labels(X, rng), rng)


def constant_column(rng):
    X = normal(rng, columns=(2, 5))
    X[:, 0] = rng.choice([0.0, 1.0, -3.0, 100.0])
    return logistic(X, labels(X[:, 1:], rng), rng)


def indicators(rng):
    levels = rng.integers(2, 6)
    X = np.eye(levels)[rng.integers(levels, size=rng.integers(50, 500))]
    return logistic(X, labels(X, rng, 3.0), rng)


def real(rng):
    """One class of a standard data set against the rest, or all of iris."""
    load = [load_wine, load_wine, load_iris, load_breast_cancer][rng.integers(4)]
    X, y = load(return_X_y=True)
    if load is not load_iris or rng.random() < 0.5:
        y = (y == rng.integers(2)).astype(int)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    if load is load_breast_cancer:
        X = X[:, :10]  # the means; the others repeat them
    return logistic(X, y, rng, (1.0, 10.0))


KINDS = {
    "plain": plain,
    "large": large,
    "rare": rare,
    "rare, few rows": rare_few_rows,
    "separable": separable,
    "collinear": collinear,
    "outliers": outliers,
    "outliers float32": outliers32,
    "heavy tails": heavy_tails,
    "badly scaled": badly_scaled,
    "wide": wide,
    "tiny": tiny,
    "offset": offset,
    "float32": float32,
    "nearly equal float32": nearly_equal32,
    "sparse": sparse,
    "sample weights": sample_weights,
    "class weights": class_weights,
    "classes": classes,
    "rare classes": rare_classes,
    "narrow prior": narrow_prior,
    "wide prior": wide_prior,
    "no intercept": no_intercept,
    "duplicated rows": duplicated_rows,
    "constant column": constant_column,
    "indicators": indicators,
    "real data": real,
}
