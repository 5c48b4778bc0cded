"""A regression in its predictors, which trajectories along the prior change.

    eta_k = A a_k,  a_k ~ N(0, I) for each output k,    y_i ~ f(. | eta_i + offset_i)

where A, (n, r), are the rows of a `GLM`. Rows whose class is certain do not push the
others, so that a product with A A' takes a few rows alone. Packing of theta: (K, n),
the predictors of the first output first. Recorded are the coefficients a, (K, r).
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.gaussian_prior import (
    add_prior_covariance,
    draw_from_prior,
    likelihood_force,
)
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.likelihoods.protocol import log_density, score
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    is_log_concave,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    record,
    theta_of,
)

LEAST = 1e-4  # score of a row that pushes; leaving out the others is still reversible


class PredictorGLM(NamedTuple):
    """A likelihood, its data, and the prior of the predictors; all doubles."""

    likelihood: NamedTuple  # without parameters of its own
    y: np.ndarray  # (m, n)
    weights: np.ndarray  # (n,)
    offsets: np.ndarray  # (n,)
    factor: np.ndarray  # (n, r) A
    covariance: np.ndarray  # (n, n) A A', or (0, 0) if r is much smaller than n
    inverse: np.ndarray  # (r, n) A^+, the inverse of A on the span of its columns
    n_outputs: int  # K


class PredictorWork(NamedTuple):
    """Buffers."""

    eta: np.ndarray  # (K, n)
    r: np.ndarray  # (K, n)
    y: np.ndarray  # (m n,)
    a: np.ndarray  # (r,)
    every_row: np.ndarray  # (n,) indices
    pushing: np.ndarray  # (n,) indices of the rows that push


@n_parameters.register(PredictorGLM)
def _(model):
    return model.n_outputs * model.factor.shape[0]


@n_rows.register(PredictorGLM)
def _(model):
    return model.factor.shape[0]


@is_log_concave.register(PredictorGLM)
def _(model):
    return True


@init_work.register(PredictorGLM)
def _(model):
    n, r = model.factor.shape
    eta, scores = np.empty((2, model.n_outputs, n))
    every_row = np.arange(n, dtype=INDEX)
    y, pushing = np.empty(model.y.size), np.empty(n, INDEX)
    return PredictorWork(eta, scores, y, np.empty(r), every_row, pushing)


@add_gradient.register(PredictorGLM)
def _(model, work, theta, idx, scale, out):
    n = n_rows(model)
    r = _scores(model, work, theta, idx)
    for k in range(model.n_outputs):
        for b in range(idx.size):
            out[k * n + idx[b]] += scale * r[k, b]


@log_likelihood.register(PredictorGLM)
def _(model, work, theta, idx):
    y, value = _gather(model, work, theta, idx), 0.0
    terms = work.r[0, : idx.size]
    log_density(model.likelihood, work.eta, y, theta[:0], terms)
    for b in range(idx.size):
        value += model.weights[idx[b]] * terms[b]
    return value


@log_prior.register(PredictorGLM)
def _(model, work, theta):
    value = 0.0
    for k in range(model.n_outputs):
        _whiten(model, work, theta, k)
        for j in range(work.a.size):
            value -= 0.5 * work.a[j] ** 2
    return value


@add_prior_gradient.register(PredictorGLM)
def _(model, work, theta, out):
    n = n_rows(model)
    for k in range(model.n_outputs):
        _whiten(model, work, theta, k)
        for j in range(work.a.size):
            for i in range(n):
                out[k * n + i] -= model.inverse[j, i] * work.a[j]


@n_recorded.register(PredictorGLM)
def _(model):
    return model.n_outputs * model.factor.shape[1]


@record.register(PredictorGLM)
def _(model, work, theta, out):
    r = work.a.size
    for k in range(model.n_outputs):
        _whiten(model, work, theta, k)
        for j in range(r):
            out[k * r + j] = work.a[j]


@theta_of.register(PredictorGLM)
def _(model, draw):
    a = np.asarray(draw, np.float64).reshape(model.n_outputs, -1)
    return (a @ model.factor.T).ravel()


@draw_from_prior.register(PredictorGLM)
def _(model, work, rng, out):
    n = n_rows(model)
    for k in range(model.n_outputs):
        eta = out[k * n : (k + 1) * n]
        eta[:] = 0.0
        fill_normals(rng, work.a)
        _add_predictors(model, work, eta)


@likelihood_force.register(PredictorGLM)
def _(model, work, theta, out):
    n = n_rows(model)
    r = _scores(model, work, theta, work.every_row)
    for k in range(model.n_outputs):
        for i in range(n):
            out[k * n + i] = r[k, i] if abs(r[k, i]) > LEAST else 0.0


@add_prior_covariance.register(PredictorGLM)
def _(model, work, size, force, out):
    n, covariance = n_rows(model), model.covariance
    for k in range(model.n_outputs):
        f, product = force[k * n : (k + 1) * n], out[k * n : (k + 1) * n]
        if covariance.shape[0] > 0:
            _add_rows(covariance, f, size, work.pushing, product)
        else:
            work.a[:] = 0.0
            _add_rows(model.factor, f, size, work.pushing, work.a)
            _add_predictors(model, work, product)


@helper
def _add_rows(matrix, weights, size, pushing, out):
    """Add size * sum of weights_i matrix_i to `out`; most weights are zero."""
    count = 0
    for i in range(weights.size):
        if weights[i] != 0.0:
            pushing[count] = i
            count += 1
    # Four rows at a time, so that `out` is read once for all four.
    whole = count - count % 4
    for b in range(0, whole, 4):
        i, j, k, m = pushing[b], pushing[b + 1], pushing[b + 2], pushing[b + 3]
        first, second, third, fourth = matrix[i], matrix[j], matrix[k], matrix[m]
        p, q = size * weights[i], size * weights[j]
        r, s = size * weights[k], size * weights[m]
        for t in range(out.size):
            out[t] += p * first[t] + q * second[t] + r * third[t] + s * fourth[t]
    for b in range(whole, count):
        row, p = matrix[pushing[b]], size * weights[pushing[b]]
        for t in range(out.size):
            out[t] += p * row[t]


@helper
def _add_predictors(model, work, out):
    """Add A a to `out`, with a in its buffer."""
    for i in range(out.size):
        row, total = model.factor[i], 0.0
        for j in range(work.a.size):
            total += row[j] * work.a[j]
        out[i] += total


@helper
def _gather(model, work, theta, idx):
    """Gather the predictors of the rows in `idx`; return their y, (m, b)."""
    n, m = n_rows(model), model.y.shape[0]
    y = work.y[: m * idx.size].reshape((m, idx.size))  # contiguous
    for k in range(model.n_outputs):
        for b in range(idx.size):
            work.eta[k, b] = theta[k * n + idx[b]] + model.offsets[idx[b]]
    for k in range(m):
        for b in range(idx.size):
            y[k, b] = model.y[k, idx[b]]
    return y


@helper
def _scores(model, work, theta, idx):
    """Return weighted scores of the rows in `idx`, (K, n), in a buffer."""
    y = _gather(model, work, theta, idx)
    score(model.likelihood, work.eta, y, theta[:0], work.r)
    for k in range(model.n_outputs):
        for b in range(idx.size):
            work.r[k, b] *= model.weights[idx[b]]
    return work.r


@helper
def _whiten(model, work, theta, k):
    """Write a_k = A^+ eta_k to its buffer."""
    n = n_rows(model)
    for j in range(work.a.size):
        total = 0.0
        for i in range(n):
            total += model.inverse[j, i] * theta[k * n + i]
        work.a[j] = total
