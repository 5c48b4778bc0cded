"""Linear predictors under a Gaussian posterior, where there are no draws of it.

The K predictors of a row x are jointly Gaussian: with parameters of mean m_k and
covariance C_km their means are x'm_k, their covariances x'C_km x. Averages over them
are those over a fixed set of points z that stand for N(0, I),

    eta = x'm + R z,    R R' = x'C x,

the first Sobol' points, standardized. So nothing in a prediction is random.
"""

import functools

import numpy as np
import scipy.sparse
from scipy.special import ndtri

N_POINTS = 1024


@functools.cache
def normal_points(dim):
    """Return points that stand for N(0, I), (N_POINTS, dim)."""
    from scipy.stats import qmc  # a quarter of a second, and seldom needed

    uniform = qmc.Sobol(dim, scramble=False).random(N_POINTS)
    z = ndtri(uniform + 0.5 / N_POINTS)
    return (z - z.mean(axis=0)) / z.std(axis=0)


def predictor_moments(X, mean, covariance, intercept):
    """Return the means (n, K) of each row's predictors and a root R (n, K, K).

    `mean` is (K, p), or (K, p + 1) with an intercept; `covariance` is that of all its
    items, (d, d), or the diagonal of it, (d,).
    """
    n_outputs, q = mean.shape
    X = _design(X, intercept)
    spread = np.zeros((X.shape[0], n_outputs, n_outputs))
    if covariance.ndim == 1:
        for k, variances in enumerate(covariance.reshape(n_outputs, q)):
            spread[:, k, k] = (X * X) @ variances
    else:
        blocks = covariance.reshape(n_outputs, q, n_outputs, q)
        for k in range(n_outputs):
            for m in range(k + 1):
                form = (X * (X @ blocks[k, :, m])).sum(axis=1)
                spread[:, k, m] = spread[:, m, k] = form
    values, vectors = np.linalg.eigh(spread)  # few draws: R may be singular
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return X @ mean.T, scaled @ vectors.transpose(0, 2, 1)


def _design(X, intercept):
    """Return X with a column of ones where there is an intercept."""
    ones = np.ones((X.shape[0], int(intercept)), X.dtype)
    if scipy.sparse.issparse(X):  # as an array: * is elementwise
        return scipy.sparse.hstack([scipy.sparse.csr_array(X), ones], format="csr")
    return np.hstack([X, ones])
