"""Passes of a GLM over all its rows, by matrix products.

Of these only the family is compiled, which takes a second or two; the same passes by
compiled operations on rows would take over fifteen before a first fit. BLAS has one
thread, since sums in another order would be other draws.

The leverage of a row is its share in the information I about the coefficients at a
point, taken one by one:

    leverage_i = c_i sum_j x_ij^2 / I_j,    I_j = sum_i c_i x_ij^2,
    c_i = -sum_k d2 log f / d eta_ik^2
"""

import math

import numpy as np

from skbayes_sg.kernels.blas import one_blas_thread
from skbayes_sg.kernels.matrices import each_part, squared, weighted_gram
from skbayes_sg.kernels.models.glm import GLM, curvature, log_density, score
from skbayes_sg.kernels.ops import entry_point, init_anchor, leverages
from skbayes_sg.kernels.passes import hessian, hessian_diagonal, log_posterior
from skbayes_sg.kernels.rows import shape_rows


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
    p, n_outputs = shape_rows(model.rows)[1], model.n_outputs
    # A view: of output k and its parameter i by output m and its parameter j.
    blocks = out.reshape(n_outputs, theta.size // n_outputs, n_outputs, -1)
    with one_blas_thread():
        for part, matrix, eta in _parts(model, theta):
            for k in range(n_outputs):
                for m in range(n_outputs):
                    c = _curvature(model, part, eta, k, m)
                    block, border = blocks[k, :, m], matrix.T @ c
                    block[:p, :p] += weighted_gram(matrix, c)
                    if model.intercept:
                        block[p, :p] += border
                        block[:p, p] += border
                        block[p, p] += c.sum()


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


def _parts(model, theta):
    """Yield parts of the rows with their predictors: slice, matrix, eta (K, n)."""
    p, coef = shape_rows(model.rows)[1], theta.reshape(model.n_outputs, -1)
    for part, matrix in each_part(model.rows):
        eta = matrix @ coef[:, :p].T
        if model.intercept:
            eta += coef[:, p]
        yield part, matrix, np.ascontiguousarray(eta.T)


def _terms(model, part, eta):
    """Return weighted log f, (n,), and its derivatives, (K, n), of a part."""
    terms, r = np.empty(eta.shape[1], eta.dtype), np.empty_like(eta)
    _evaluate(model.family, eta, model.y[part], terms, r)
    if model.weights.size:
        terms *= model.weights[part]
        r *= model.weights[part]
    return terms, r


def _curvature(model, part, eta, k, m):
    """Return the weighted curvature k, m of a part, (n,) in double precision."""
    c = np.empty(eta.shape[1])
    _evaluate_curvature(model.family, eta, k, m, c)
    if model.weights.size:
        c *= model.weights[part]
    return c


@entry_point
def _evaluate(family, eta, y, terms, r):
    log_density(family, eta, y, terms)
    score(family, eta, y, r)


@entry_point
def _evaluate_curvature(family, eta, k, m, out):
    curvature(family, eta, k, m, out)
