"""Regression models with linear predictors and a Gaussian prior.

    eta_ik = x_i . B_k + a_k,    y_i ~ f(. | eta_i),    B_kj, a_k ~ N(0, prior_variance)

A *likelihood* gives f. Packing of theta, for K outputs and p features:

    | block          | shape                    |
    |----------------|--------------------------|
    | output k       | p + 1 (p, no intercept)  |
    |   coefficients | p                        |
    |   intercept    | 1, last                  |

The gradient of row i is the outer product of d log f / d eta_i, K numbers, and
(x_i, 1): those numbers are all that a control variate has to remember of a row.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.anchors import add_difference
from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian,
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.capabilities.linearization import add_remainder
from skbayes_sg.kernels.capabilities.row_blocks import in_blocks, rows_per_term
from skbayes_sg.kernels.data.blocks import as_blocks, padded, rows_per_block
from skbayes_sg.kernels.data.rows import (
    add_outer_rows,
    add_rows,
    add_squared_rows,
    dot_rows,
    rows_at_index,
    shape_rows,
    take_values,
)
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.likelihoods.protocol import curvature, log_density, score
from skbayes_sg.kernels.numerics.vectors import add_number, total
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    is_log_concave,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    parameter_dtype,
)

CHUNK = 1024  # rows whose predictors are held at once, at the most
FEW, NUMBERS = 256, 2**14  # fewer of many features, which are to stay in cache


class GLM(NamedTuple):
    """A likelihood, the data and the prior."""

    likelihood: NamedTuple
    rows: NamedTuple  # or (N, p) array
    y: np.ndarray  # (N,)
    weights: np.ndarray  # (N,), or (0,) when all are 1
    prior_precision: float
    intercept: bool
    n_outputs: int  # K


class GLMWork(NamedTuple):
    """Buffers of one chunk of rows."""

    eta: np.ndarray  # (K, CHUNK)
    r: np.ndarray  # (K, CHUNK)
    taken: np.ndarray  # (CHUNK,) values of single rows


@n_parameters.register(GLM)
def _(model):
    return model.n_outputs * (shape_rows(model.rows)[1] + int(model.intercept))


@n_rows.register(GLM)
def _(model):
    return shape_rows(model.rows)[0]


@parameter_dtype.register(GLM)
def _(model):
    return model.y.dtype


@is_log_concave.register(GLM)
def _(model):
    return True


@init_work.register(GLM)
def _(model):
    shape = (model.n_outputs, CHUNK)
    return GLMWork(*(np.empty(size, model.y.dtype) for size in (shape, shape, CHUNK)))


@rows_per_term.register(GLM)
def _(model):
    return rows_per_block(model.rows, n_parameters(model))


@in_blocks.register(GLM)
def _(model, order):
    # With the intercept as a feature, rows of zeros that fill up the last block have no
    # gradient at all.
    rows = as_blocks(model.rows, order, model.intercept)
    k = rows.data.shape[2]
    weights = padded(model.weights, order, k) if model.weights.size else model.weights
    return model._replace(
        rows=rows, y=padded(model.y, order, k), weights=weights, intercept=False
    )


@add_gradient.register(GLM)
def _(model, work, theta, idx, scale, out):
    length = length_at_once(model)
    for first in range(0, idx.size, length):
        chunk = idx[first : first + length]
        r = residuals(model, work, theta, chunk)
        add_chunk(model, chunk, r, scale, out)


@add_difference.register(GLM)
def _(model, work, theta, anchor, idx, scale, out):
    length = length_at_once(model)
    for first in range(0, idx.size, length):
        chunk = idx[first : first + length]
        r = residuals(model, work, theta, chunk)
        for k in range(model.n_outputs):
            there = taken(model, work, chunk, anchor[k])
            for b in range(there.size):
                r[k, b] -= there[b]
        add_chunk(model, chunk, r, scale, out)


@add_remainder.register(GLM)
def _(model, work, theta, table, idx, scales, out):
    each, n_outputs = rows_at_index(model.rows), model.n_outputs
    length = length_at_once(model)
    for first in range(0, idx.size, length):
        chunk = idx[first : first + length]
        r = residuals(model, work, theta, chunk)
        for k in range(n_outputs):
            constant = taken(model, work, chunk, table[k])
            for b in range(constant.size):
                r[k, b] -= constant[b]
            for m in range(n_outputs):
                slope = taken(model, work, chunk, table[(k + 1) * n_outputs + m])
                for b in range(slope.size):
                    r[k, b] += slope[b] * work.eta[m, b]
            for b in range(chunk.size):
                for i in range(b * each, (b + 1) * each):
                    r[k, i] *= scales[first + b]
        add_chunk(model, chunk, r, 1.0, out)


@log_likelihood.register(GLM)
def _(model, work, theta, idx):
    value = 0.0
    for first in range(0, idx.size, CHUNK):
        chunk = idx[first : first + CHUNK]
        eta = predictors(model, work, theta, chunk)
        terms = work.r[0, : chunk.size]
        y = targets(model, work, chunk)
        log_density(model.likelihood, eta, y, noise_of(model, theta), terms)
        weigh(model, work, chunk, 1.0, terms)
        value += total(terms)
    return value


@add_prior_gradient.register(GLM)
def _(model, work, theta, out):
    for j in range(theta.size):
        out[j] -= model.prior_precision * theta[j]


@log_prior.register(GLM)
def _(model, work, theta):
    total = 0.0
    for j in range(theta.size):
        total -= 0.5 * model.prior_precision * theta[j] * theta[j]
    return total


@add_prior_hessian_diagonal.register(GLM)
def _(model, work, theta, out):
    add_number(model.prior_precision, out)


@add_hessian.register(GLM)
def _(model, work, theta, idx, scale, out):
    p = shape_rows(model.rows)[1]
    size = p + int(model.intercept)
    for first in range(0, idx.size, CHUNK):
        chunk = idx[first : first + CHUNK]
        eta = predictors(model, work, theta, chunk)
        w = work.r[0, : chunk.size]
        for k in range(model.n_outputs):
            for m in range(model.n_outputs):
                curvature(model.likelihood, eta, k, m, noise_of(model, theta), w)
                weigh(model, work, chunk, scale, w)
                part = out[k * size : (k + 1) * size, m * size : (m + 1) * size]
                add_outer_rows(model.rows, chunk, w, part)
                if model.intercept:
                    border = np.zeros(p, out.dtype)
                    add_rows(model.rows, chunk, w, border)
                    for j in range(p):
                        part[p, j] += border[j]
                        part[j, p] += border[j]
                    part[p, p] += total(w)


@add_hessian_diagonal.register(GLM)
def _(model, work, theta, idx, scale, out):
    p = shape_rows(model.rows)[1]
    size = p + int(model.intercept)
    for first in range(0, idx.size, CHUNK):
        chunk = idx[first : first + CHUNK]
        eta = predictors(model, work, theta, chunk)
        w = work.r[0, : chunk.size]
        for k in range(model.n_outputs):
            curvature(model.likelihood, eta, k, k, noise_of(model, theta), w)
            weigh(model, work, chunk, scale, w)
            add_squared_rows(model.rows, chunk, w, out[k * size : k * size + p])
            if model.intercept:
                out[k * size + p] += total(w)


@helper
def length_at_once(model):
    """Return how many indices are dealt with at once."""
    n_features = shape_rows(model.rows)[1]
    size = min(CHUNK, max(FEW, NUMBERS // max(n_features, 1)))
    return size // rows_at_index(model.rows)


@helper
def predictors(model, work, theta, chunk):
    """Return eta of the rows in `chunk`, (K, CHUNK), in a buffer."""
    p, size = shape_rows(model.rows)[1], chunk.size * rows_at_index(model.rows)
    width = p + int(model.intercept)
    for k in range(model.n_outputs):
        eta = work.eta[k, :size]
        dot_rows(model.rows, chunk, theta[k * width : k * width + p], eta)
        if model.intercept:
            add_number(theta[k * width + p], eta)
    return work.eta


@helper
def residuals(model, work, theta, chunk):
    """Return weighted d log f / d eta of the rows in `chunk`, (K, CHUNK), a buffer."""
    # First, so that it waits for memory while predictors are computed.
    y = targets(model, work, chunk)
    eta = predictors(model, work, theta, chunk)
    score(model.likelihood, eta, y, noise_of(model, theta), work.r)
    for k in range(model.n_outputs):
        weigh(model, work, chunk, 1.0, work.r[k, : y.shape[1]])
    return work.r


@helper
def targets(model, work, chunk):
    """Return y of the rows in `chunk`, (1, b), in a buffer."""
    y = taken(model, work, chunk, model.y)
    return y.reshape((1, y.size))


@helper
def noise_of(model, theta):
    """Return the likelihood's own parameters, the last ones of theta."""
    width = shape_rows(model.rows)[1] + int(model.intercept)
    return theta[model.n_outputs * width :]


@helper
def taken(model, work, chunk, values):
    """Return the values of the rows in `chunk`, (b,), in a buffer."""
    out = work.taken[: chunk.size * rows_at_index(model.rows)]
    take_values(model.rows, chunk, values, out)
    return out


@helper
def weigh(model, work, chunk, scale, values):
    """Multiply one value per row of `chunk` by the row's weight and by `scale`."""
    if scale != 1.0:
        for b in range(values.size):
            values[b] *= scale
    if model.weights.size > 0:
        weights = taken(model, work, chunk, model.weights)
        for b in range(values.size):
            values[b] *= weights[b]


@helper
def add_chunk(model, chunk, r, scale, out):
    """Add scale * sum of r_i (x_i, 1)' over the rows in `chunk` to `out`; r is lost."""
    p, size = shape_rows(model.rows)[1], chunk.size * rows_at_index(model.rows)
    width, factor = p + int(model.intercept), r.dtype.type(scale)
    for k in range(model.n_outputs):
        weights = r[k, :size]
        if factor != 1.0:
            for b in range(size):
                weights[b] *= factor
        add_rows(model.rows, chunk, weights, out[k * width : k * width + p])
        if model.intercept:
            out[k * width + p] += total(weights)
