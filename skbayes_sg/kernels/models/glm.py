"""Regression models with linear predictors, and a Gaussian prior or a mixture of such.

    eta_ik = x_i . B_k + a_k + offset_i,    y_i ~ f(. | eta_i, noise)
    B_kj, a_k ~ N(0, 1 / precision_kj),     noise ~ the likelihood's own prior

A *likelihood* defines f. Packing of theta, for K outputs, p features and q parameters
of the likelihood itself, such as log precisions:

    | part           | shape                    |
    |----------------|--------------------------|
    | output k       | p + 1 (p, no intercept)  |
    |   coefficients | p                        |
    |   intercept    | 1, last                  |
    | noise          | q                        |

The gradient of row i is the outer product of d log f / d eta_i, K numbers, and
(x_i, 1), together with the q numbers d log f / d noise. A control variate only has to
store these K + q *scores* of a row. A parameter of the likelihood is like an output
that only has an intercept, the same number for all rows.
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
from skbayes_sg.kernels.data.minibatch import INDEX
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
from skbayes_sg.kernels.likelihoods.protocol import (
    add_noise_prior_curvature,
    add_noise_prior_gradient,
    curvature,
    log_density,
    n_noise,
    noise_curvature,
    noise_log_prior,
    noise_score,
    score,
)
from skbayes_sg.kernels.models.glm_units import Units
from skbayes_sg.kernels.numerics.vectors import add_number, total
from skbayes_sg.kernels.priors.mixture import Given
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    has_one_mode,
    init_work,
    is_log_concave,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    parameter_dtype,
)

CHUNK = 1024  # largest number of rows that are processed together
# With many features it is smaller, so that the rows of a chunk fit into the cache.
MIN_CHUNK, CHUNK_NUMBERS = 256, 2**14


class GLM(NamedTuple):
    """A likelihood, the data and the prior."""

    likelihood: NamedTuple
    rows: NamedTuple  # or (N, p) array
    y: np.ndarray  # (N,), or (m N,) for m numbers per row: the first of all rows, ...
    weights: np.ndarray  # (N,), or (0,) when all are 1
    prior_precision: np.ndarray  # (K (p + 1),) packed as theta is
    intercept: bool
    n_outputs: int  # K
    offsets: np.ndarray = np.empty(0)  # (N,), or (0,) when all are 0
    units: Units = Units()  # of recorded draws
    prior: NamedTuple = Given()  # of coefficients, beside `prior_precision`


class GLMWork(NamedTuple):
    """Buffers of one chunk of rows, and what is random of the prior."""

    eta: np.ndarray  # (K, CHUNK)
    r: np.ndarray  # (K + q, CHUNK)
    y: np.ndarray  # (m CHUNK,)
    taken: np.ndarray  # (CHUNK,) values of single rows
    precision: np.ndarray  # (d,) that a random prior adds, else (0,)
    scale: np.ndarray  # (K,) that it has learned, else (0,)
    every_row: np.ndarray  # (N,) indices, where all are needed between steps, else (0,)


@n_parameters.register(GLM)
def _(model):
    return n_coefficients(model) + n_scores(model) - model.n_outputs


@n_rows.register(GLM)
def _(model):
    return shape_rows(model.rows)[0]


@parameter_dtype.register(GLM)
def _(model):
    return model.y.dtype


@is_log_concave.register(GLM)
def _(model):
    # With parameters of the likelihood, the log posterior is not jointly concave.
    return n_scores(model) == model.n_outputs


@has_one_mode.register(GLM)
def _(model):
    return True


@init_work.register(GLM)
def _(model):
    shapes = [(count, CHUNK) for count in (model.n_outputs, n_scores(model))]
    shapes += [n_targets(model) * CHUNK, CHUNK]
    buffers = (np.empty(shape, model.y.dtype) for shape in shapes)
    return GLMWork(*buffers, np.empty(0), np.empty(0), np.empty(0, INDEX))


@rows_per_term.register(GLM)
def _(model):
    return rows_per_block(model.rows, n_parameters(model))


@in_blocks.register(GLM)
def _(model, order):
    # If the intercept is a feature, the rows of zeros that pad the last block have a
    # gradient of zero.
    rows = as_blocks(model.rows, order, model.intercept)
    k, weights, offsets = rows.data.shape[2], model.weights, model.offsets
    if n_scores(model) > model.n_outputs and not weights.size:
        weights = np.ones_like(model.y[: len(order)])  # of the likelihood's parameters
    y = model.y.reshape(n_targets(model), -1)
    return model._replace(
        rows=rows,
        y=np.concatenate([padded(values, order, k) for values in y]),
        weights=padded(weights, order, k) if weights.size else weights,
        intercept=False,
        offsets=padded(offsets, order, k) if offsets.size else offsets,
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
        for k in range(n_scores(model)):
            there = taken(model, work, chunk, anchor[k])
            for b in range(there.size):
                r[k, b] -= there[b]
        add_chunk(model, chunk, r, scale, out)


@add_remainder.register(GLM)
def _(model, work, theta, table, idx, scales, out):
    each, n_outputs = rows_at_index(model.rows), model.n_outputs
    length, count = length_at_once(model), n_scores(model)
    noise = noise_of(model, theta)
    for first in range(0, idx.size, length):
        chunk = idx[first : first + length]
        r = residuals(model, work, theta, chunk)
        for k in range(count):
            constant = taken(model, work, chunk, table[k])
            for b in range(constant.size):
                r[k, b] -= constant[b]
            for m in range(n_outputs):
                slope = taken(model, work, chunk, table[(k + 1) * count + m])
                for b in range(slope.size):
                    r[k, b] += slope[b] * work.eta[m, b]
            for m in range(n_outputs, count):
                slope = taken(model, work, chunk, table[(k + 1) * count + m])
                for b in range(slope.size):
                    r[k, b] += slope[b] * noise[m - n_outputs]
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
    end = model.prior_precision.size
    for j in range(end):
        out[j] -= model.prior_precision[j] * theta[j]
    for j in range(work.precision.size):
        out[j] -= work.precision[j] * theta[j]
    add_noise_prior_gradient(model.likelihood, theta[end:], out[end:])


@log_prior.register(GLM)
def _(model, work, theta):
    total, end = 0.0, model.prior_precision.size
    for j in range(end):
        total -= 0.5 * model.prior_precision[j] * theta[j] * theta[j]
    for j in range(work.precision.size):
        total -= 0.5 * work.precision[j] * theta[j] * theta[j]
    return total + noise_log_prior(model.likelihood, theta[end:])


@add_prior_hessian_diagonal.register(GLM)
def _(model, work, theta, out):
    end = model.prior_precision.size
    for j in range(end):
        out[j] += model.prior_precision[j]
    for j in range(work.precision.size):
        out[j] += work.precision[j]
    add_noise_prior_curvature(model.likelihood, theta[end:], out[end:])


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
        for j in range(model.n_outputs * size, theta.size):
            out[j, j] += noise_information(model, work, chunk, scale)


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
        for j in range(model.n_outputs * size, theta.size):
            out[j] += noise_information(model, work, chunk, scale)


@helper
def n_coefficients(model):
    """Return the number of coefficients and intercepts."""
    return model.n_outputs * (shape_rows(model.rows)[1] + int(model.intercept))


@helper
def n_scores(model):
    """Return K + q, the number of scores of a row."""
    return model.n_outputs + n_noise(model.likelihood, model.n_outputs)


@helper
def n_targets(model):
    """Return m, the numbers in y for each row."""
    n = shape_rows(model.rows)[0] * rows_at_index(model.rows)
    return model.y.size // n


@helper
def length_at_once(model):
    """Return how many indices are processed together."""
    n_features = shape_rows(model.rows)[1]
    size = min(CHUNK, max(MIN_CHUNK, CHUNK_NUMBERS // max(n_features, 1)))
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
        if model.offsets.size > 0:
            offsets = taken(model, work, chunk, model.offsets)
            for b in range(size):
                eta[b] += offsets[b]
    return work.eta


@helper
def residuals(model, work, theta, chunk):
    """Return weighted scores of the rows in `chunk`, (K + q, CHUNK), in a buffer."""
    # Targets come first, so that their memory is fetched during the computations.
    y, noise = targets(model, work, chunk), noise_of(model, theta)
    eta = predictors(model, work, theta, chunk)
    noise_score(model.likelihood, eta, y, noise, work.r[model.n_outputs :])
    score(model.likelihood, eta, y, noise, work.r)
    for k in range(work.r.shape[0]):
        weigh(model, work, chunk, 1.0, work.r[k, : y.shape[1]])
    return work.r


@helper
def targets(model, work, chunk):
    """Return y of the rows in `chunk`, (m, b), in a buffer."""
    size, m = chunk.size * rows_at_index(model.rows), work.y.size // CHUNK
    n = model.y.size // m
    y = work.y[: m * size].reshape((m, size))  # contiguous, for vectorized loops
    for k in range(m):
        take_values(model.rows, chunk, model.y[k * n : (k + 1) * n], y[k])
    return y


@helper
def noise_of(model, theta):
    """Return the likelihood's own parameters, which are at the end of theta."""
    return theta[n_coefficients(model) :]


@helper
def noise_information(model, work, chunk, scale):
    """Return the weighted sum of `noise_curvature` over the rows in `chunk`."""
    w = work.r[0, : chunk.size]
    w[:] = noise_curvature(model.likelihood)
    weigh(model, work, chunk, scale, w)
    return total(w)


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
    """Add scale * sum of r_i (x_i, 1)' over the rows in `chunk` to `out`; changes r."""
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
    for k in range(model.n_outputs, r.shape[0]):
        out[n_coefficients(model) + k - model.n_outputs] += factor * total(r[k, :size])
