"""The Hessian of -log p at a point: matrix, diagonal and largest eigenvalue."""

import math

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import (
    hessian,
    hessian_diagonal,
    log_posterior,
    mean_hessian,
    prior_hessian,
    prior_hessian_diagonal,
)
from skbayes_sg.kernels.protocol.model import init_work, parameter_dtype


def curvature_diagonal(model, theta):
    """Return the diagonal of the Hessian at `theta`, (d,)."""
    work, theta = init_work(model), theta.astype(parameter_dtype(model))
    out = np.zeros(theta.size)
    prior_hessian_diagonal(model, work, theta, out)
    hessian_diagonal(model, work, theta, out)
    return out


def curvature_matrix(model, theta):
    """Return the Hessian at `theta`, (d, d)."""
    work, theta = init_work(model), theta.astype(parameter_dtype(model))
    out = np.zeros((theta.size, theta.size))
    prior_hessian(model, work, theta, out)
    with one_blas_thread():  # the products are small
        hessian(model, work, theta, out)
    return out


def mean_curvature_matrix(model, thetas):
    """Return the mean of the Hessians at (Q, d) thetas, (d, d)."""
    work, thetas = init_work(model), thetas.astype(parameter_dtype(model))
    d = thetas.shape[1]
    prior, out = np.zeros((2, d, d))
    for theta in thetas:
        prior_hessian(model, work, theta, prior)
    with one_blas_thread():
        mean_hessian(model, work, thetas, out)
    return out + prior / len(thetas)


def whitening(matrix):
    """Return upper triangular L with L L' the inverse of a Hessian, (d, d)."""
    if not np.isfinite(matrix).all():
        raise ValueError(
            "the curvature of the log posterior is not finite although the data were "
            "checked; do not write to X, y or sample_weight during a fit, and scale "
            "columns with very large values"
        )
    # Scaling to a unit diagonal keeps the factorization accurate.
    sd = 1.0 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), np.finfo(float).tiny))
    scaled = matrix * np.outer(sd, sd)
    try:
        root = cholesky(scaled, lower=True)
    except LinAlgError:
        root = cholesky(_positive(scaled), lower=True)
    return sd[:, None] * solve_triangular(root, np.eye(len(sd)), lower=True).T


def _positive(scaled):
    """Return a positive definite matrix close to `scaled`, whose diagonal is one."""
    # No correlation is beyond one; rounding errors of columns of tiny numbers can be.
    scaled = np.clip(scaled, -1.0, 1.0)
    nearly = scaled + 1e-8 * np.eye(len(scaled))  # enough for collinear columns
    values, vectors = np.linalg.eigh(nearly)
    if values[0] > 0.0:
        return nearly
    # The point is not a mode: use absolute values of negative eigenvalues.
    return (vectors * np.maximum(np.abs(values), 1e-3)) @ vectors.T


def largest_curvature(model, theta, unit, n_iter=30):
    """Return the Hessian's largest eigenvalue in coordinates of scale `unit`, (d,).

    By power iteration on differences of full gradients.
    """
    dtype, work, d = parameter_dtype(model), init_work(model), theta.size
    v = np.random.default_rng(0).standard_normal(d)
    ahead, behind = np.empty(d, dtype), np.empty(d, dtype)
    for _ in range(n_iter):
        width = 1e-3 * math.sqrt(d) / np.linalg.norm(v)
        log_posterior(model, work, (theta + width * unit * v).astype(dtype), ahead)
        log_posterior(model, work, (theta - width * unit * v).astype(dtype), behind)
        product = unit * (behind.astype(float) - ahead) / (2 * width)
        size = np.linalg.norm(product)
        value = size / np.linalg.norm(v)
        if value == 0.0:  # the unit is so small that theta does not change
            break
        v = np.ldexp(product, -math.frexp(size)[1])  # exact: a power of two
    return 1.05 * value  # power iteration approaches from below
