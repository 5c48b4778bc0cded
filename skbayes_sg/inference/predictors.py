"""Linear predictors under a Gaussian posterior of which no draws are kept.

The K predictors of a row x are jointly Gaussian: if the parameters have means m_k and
covariances C_km, the predictors have means x'm_k and covariances x'C_km x. Averages
over them are computed from a fixed set of points z that represent N(0, I),

    eta = x'm + R z,    R R' = x'C x,

namely the first Sobol' points, standardized. Predictions are therefore deterministic.
"""

import functools

import numpy as np
import scipy.sparse
from scipy.special import ndtri

N_POINTS = 1024


@functools.cache
def normal_points(dim):
    """Return points that represent N(0, I), (N_POINTS, dim)."""
    from scipy.stats import qmc  # imported here because it takes 0.25 s

    uniform = qmc.Sobol(dim, scramble=False).random(N_POINTS)
    z = ndtri(uniform + 0.5 / N_POINTS)
    return (z - z.mean(axis=0)) / z.std(axis=0)


def predictor_moments(X, mean, covariance, intercept):
    """Return the means (n, K) of each row's predictors and a root R (n, K, K).

    `mean` is (K, p), or (K, p + 1) with an intercept; `covariance` is the covariance of
    the flattened parameters, (d, d), or its diagonal, (d,).
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
    values, vectors = np.linalg.eigh(spread)  # Cholesky fails if R is singular
    scaled = vectors * np.sqrt(np.maximum(values, 0.0))[:, None, :]
    return X @ mean.T, scaled @ vectors.transpose(0, 2, 1)


def _design(X, intercept):
    """Return X, with a column of ones if there is an intercept."""
    ones = np.ones((X.shape[0], int(intercept)), X.dtype)
    if scipy.sparse.issparse(X):  # as an array: * is elementwise
        return scipy.sparse.hstack([scipy.sparse.csr_array(X), ones], format="csr")
    return np.hstack([X, ones])
