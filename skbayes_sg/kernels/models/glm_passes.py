"""Passes of a GLM over all its rows, by matrix products.

Of these only the likelihood is compiled, which takes a second or two; the same passes
by compiled operations on rows would take over fifteen before a first fit. BLAS has one
thread, since sums in another order would be other draws.

The leverage of a row is its share in the information I about the coefficients at a
point, taken one by one:

    leverage_i = c_i sum_j x_ij^2 / I_j,    I_j = sum_i c_i x_ij^2,
    c_i = -sum_k d2 log f / d eta_ik^2

Linear functions of the predictors come close to the residuals r = d log f / d eta,

    l_ik(eta) = mean r_ik - sum_m c_ikm (eta_m - mean eta_im),
    c_ikm = mean of -d2 log f / d eta_ik d eta_im,

with means over draws: in a Gaussian posterior they are the best linear ones.
"""

import math

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import init_anchor
from skbayes_sg.kernels.capabilities.linearization import (
    Linearized,
    is_linearizable,
    linearize,
)
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.data.matrices import each_part, squared, weighted_gram
from skbayes_sg.kernels.data.rows import shape_rows
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.likelihoods.protocol import curvature, log_density, score
from skbayes_sg.kernels.models.glm import GLM
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.passes import hessian, hessian_diagonal, log_posterior

NO_NOISE = np.empty(0)  # parameters of likelihoods that have none
MAX_LINEAR_BYTES = 2**28  # of the numbers of linear approximations
MAX_EVALUATIONS = 2**25  # of rows at draws, for linear approximations: about a second


@log_posterior.register(GLM)
def _(model, work, theta, out):
    p = shape_rows(model.rows)[1]
    value, g = 0.0, np.zeros((model.n_outputs, theta.size // model.n_outputs))
    with one_blas_thread():
        for part, matrix, eta in _parts(model, theta):
            terms, r = _terms(model, part, eta)
            value += terms.sum(dtype=float)
            g[:, :p] += (matrix.T @ r.T).T
            g[:, p:] += r.sum(axis=1, keepdims=True)
    theta, scale = theta.astype(float), math.sqrt(model.prior_precision)
    out[:] = g.ravel() - model.prior_precision * theta
    return value - 0.5 * np.square(scale * theta).sum()  # theta^2 alone may overflow


@hessian.register(GLM)
def _(model, work, theta, out):
    with one_blas_thread():
        for part, matrix, eta in _parts(model, theta):
            for k in range(model.n_outputs):
                for m in range(model.n_outputs):
                    c = _curvature(model, part, eta, k, m)
                    _add_curvature(model, matrix, c, k, m, out)


@hessian_diagonal.register(GLM)
def _(model, work, theta, out):
    p = shape_rows(model.rows)[1]
    diagonal = out.reshape(model.n_outputs, -1)
    with one_blas_thread():
        for part, matrix, eta in _parts(model, theta):
            for k in range(model.n_outputs):
                c = _curvature(model, part, eta, k, k)
                diagonal[k, :p] += squared(matrix).T @ c
                diagonal[k, p:] += c.sum()


@init_anchor.register(GLM)
def _(model, work, theta):
    table = np.empty((model.n_outputs, model.y.size), theta.dtype)
    with one_blas_thread():
        for part, _, eta in _parts(model, theta):
            table[:, part] = _terms(model, part, eta)[1]
    return table


@leverages.register(GLM)
def _(model, mode):
    n, p = shape_rows(model.rows)
    c, information = np.empty(n), np.zeros(p)
    with one_blas_thread():
        for part, matrix, eta in _parts(model, mode):
            each = [_curvature(model, part, eta, k, k) for k in range(model.n_outputs)]
            c[part] = np.sum(each, axis=0)
            information += squared(matrix).T @ c[part]
        inverse = np.divide(1.0, information, out=np.zeros(p), where=information > 0.0)
        share = 1.0 / c.sum() if model.intercept else 0.0
        for part, matrix in each_part(model.rows):
            c[part] *= squared(matrix) @ inverse + share
    return c


@is_linearizable.register(GLM)
def _(model):
    n_numbers = model.n_outputs * (model.n_outputs + 1) * model.y.size
    return n_numbers * model.y.itemsize <= MAX_LINEAR_BYTES


@linearize.register(GLM)
def _(model, draws):
    (n, p), n_outputs = shape_rows(model.rows), model.n_outputs
    draws = draws[: max(2, MAX_EVALUATIONS // (n * n_outputs**2))]
    n_draws, d, dtype = len(draws), draws.shape[1], model.y.dtype
    total, matrix = np.zeros((n_outputs, d // n_outputs)), np.zeros((d, d))
    table = np.empty((n_outputs * (n_outputs + 1), model.y.size), dtype)
    sizes = np.empty(model.y.size)
    with one_blas_thread():
        for part, rows, eta in _parts(model, draws.astype(dtype)):
            shape = n_outputs, n_draws, -1
            r = _terms(model, part, eta)[1].reshape(shape)
            mean, rest = r.mean(axis=1), r - r.mean(axis=1, keepdims=True)
            total[:, :p] += (rows.T @ mean.T).T
            total[:, p:] += mean.sum(axis=1, keepdims=True)
            table[:n_outputs, part] = mean
            centers = eta.reshape(shape).mean(axis=1)
            away = eta.reshape(shape) - centers[:, None]
            for k in range(n_outputs):
                for m in range(n_outputs):
                    c = _curvature(model, part, eta, k, m).reshape(n_draws, -1)
                    c = c.mean(axis=0)
                    _add_curvature(model, rows, c, k, m, matrix)
                    table[(k + 1) * n_outputs + m, part] = c
                    table[k, part] += c * centers[m]
                    rest[k] += c * away[m]
            sizes[part] = np.sqrt(_squares(rest) * _squares(away))
    return Linearized(draws.mean(axis=0), total.ravel(), matrix, table, sizes)


def _squares(values):
    """Return the mean squares of (K, draws, n) values, (n,)."""
    return np.einsum("kqi,kqi->i", values, values, dtype=float) / values.shape[1]


def _parts(model, theta):
    """Yield parts of the rows with their predictors: slice, matrix, eta (K, n).

    Where `theta` is (Q, d), eta is (K, Q n), all rows of a draw side by side.
    """
    p, n_outputs = shape_rows(model.rows)[1], model.n_outputs
    coef = np.atleast_2d(theta).reshape(-1, n_outputs, theta.shape[-1] // n_outputs)
    coef = coef.transpose(1, 0, 2).reshape(-1, coef.shape[2])
    for part, matrix in each_part(model.rows):
        eta = matrix @ coef[:, :p].T
        if model.intercept:
            eta += coef[:, p]
        yield part, matrix, np.ascontiguousarray(eta.T).reshape(n_outputs, -1)


def _terms(model, part, eta):
    """Return weighted log f, (n,), and its derivatives, (K, n), of a part."""
    terms, r = np.empty(eta.shape[1], eta.dtype), np.empty_like(eta)
    y = _of_part(model.y, part, eta)[None]
    _evaluate(model.likelihood, eta, y, NO_NOISE, terms, r)
    if model.weights.size:
        weights = _of_part(model.weights, part, eta)
        terms *= weights
        r *= weights
    return terms, r


def _curvature(model, part, eta, k, m):
    """Return the weighted curvature k, m of a part, (n,) in double precision."""
    c = np.empty(eta.shape[1])
    _evaluate_curvature(model.likelihood, eta, k, m, NO_NOISE, c)
    if model.weights.size:
        c *= _of_part(model.weights, part, eta)
    return c


def _of_part(values, part, eta):
    """Return the values of a part's rows, again for each draw that `eta` is of."""
    values = values[part]
    n_draws = eta.shape[1] // max(values.size, 1)
    return values if n_draws == 1 else np.tile(values, n_draws)


def _add_curvature(model, matrix, c, k, m, out):
    """Add X' diag(c) X to what (d, d) `out` holds of outputs k and m."""
    p = matrix.shape[1]
    # A view: of output k and its parameter i by output m and its parameter j.
    width = len(out) // model.n_outputs
    block = out.reshape(model.n_outputs, width, model.n_outputs, width)[k, :, m]
    block[:p, :p] += weighted_gram(matrix, c)
    if model.intercept:
        border = matrix.T @ c
        block[p, :p] += border
        block[:p, p] += border
        block[p, p] += c.sum()


@entry_point
def _evaluate(likelihood, eta, y, noise, terms, r):
    log_density(likelihood, eta, y, noise, terms)
    score(likelihood, eta, y, noise, r)


@entry_point
def _evaluate_curvature(likelihood, eta, k, m, noise, out):
    curvature(likelihood, eta, k, m, noise, out)
