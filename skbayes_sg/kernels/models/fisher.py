"""The Fisher information as a metric, for samplers that adapt to the curvature.

    G(theta) = prior precision + N/m sum over m rows of w_km(eta_i) x_i x_i'

where w is the curvature of the likelihood. Its derivatives come from the slopes of w,

    sum_jm (d_j G_km) P_mj = N/m sum_i x_i sum_mn (d w_km / d eta_n) x_i' P_mn x_i

where k, m and n are outputs. Parameters of the likelihood itself have a constant
metric, and w is computed as if they were zero, since any positive definite function of
theta is a valid metric.
"""

import numpy as np

from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.capabilities.metrics import (
    metric,
    metric_diagonal,
    metric_divergence,
)
from skbayes_sg.kernels.data.rows import (
    CSRRows,
    add_rows,
    add_squared_rows,
    dot_rows,
    shape_rows,
)
from skbayes_sg.kernels.generic import helper, kernel_op
from skbayes_sg.kernels.likelihoods.protocol import curvature, curvature_slope
from skbayes_sg.kernels.models.gaussian import GaussianMean
from skbayes_sg.kernels.models.glm import (
    CHUNK,
    GLM,
    n_coefficients,
    noise_information,
    noise_of,
    predictors,
    weigh,
)
from skbayes_sg.kernels.numerics.vectors import add_number, copy_to, total
from skbayes_sg.kernels.protocol.model import n_rows


@kernel_op
def add_cubed_rows(rows, idx, weights, out):
    """Add the sum of weights_b x_idx[b]^3, elementwise, to `out`."""
    raise NotImplementedError


@add_cubed_rows.register(np.ndarray)
def _(rows, idx, weights, out):
    for b in range(idx.size):
        x = rows[idx[b]]
        for j in range(x.size):
            out[j] += weights[b] * x[j] ** 3


@add_cubed_rows.register(CSRRows)
def _(rows, idx, weights, out):
    for b in range(idx.size):
        for k in range(rows.indptr[idx[b]], rows.indptr[idx[b] + 1]):
            out[rows.indices[k]] += weights[b] * rows.data[k] ** 3


@metric.register(GLM)
def _(model, work, theta, idx, out):
    out[:] = 0.0
    at = without_noise(model, theta)
    add_hessian(model, work, at, idx, n_rows(model) / idx.size, out)
    prior = np.zeros(theta.size)
    add_prior_hessian_diagonal(model, work, at, prior)
    for j in range(theta.size):
        out[j, j] += prior[j]


@metric_diagonal.register(GLM)
def _(model, work, theta, idx, out, slope):
    out[:] = 0.0
    slope[:] = 0.0
    theta = without_noise(model, theta)
    add_prior_hessian_diagonal(model, work, theta, out)
    p = shape_rows(model.rows)[1]
    size = p + int(model.intercept)
    scale, noise = n_rows(model) / idx.size, noise_of(model, theta)
    for first in range(0, idx.size, CHUNK):
        chunk = idx[first : first + CHUNK]
        eta = predictors(model, work, theta, chunk)
        w = work.r[0, : chunk.size]
        for k in range(model.n_outputs):
            last = k * size + p
            curvature(model.likelihood, eta, k, k, noise, w)
            weigh(model, work, chunk, scale, w)
            add_squared_rows(model.rows, chunk, w, out[k * size : last])
            if model.intercept:
                out[last] += total(w)
            curvature_slope(model.likelihood, eta, k, k, k, noise, w)
            weigh(model, work, chunk, scale, w)
            add_cubed_rows(model.rows, chunk, w, slope[k * size : last])
            if model.intercept:
                slope[last] += total(w)
        for j in range(model.n_outputs * size, theta.size):
            out[j] += noise_information(model, work, chunk, scale)


@metric_divergence.register(GLM)
def _(model, work, theta, idx, factor, out):
    out[:] = 0.0
    p = shape_rows(model.rows)[1]
    size, n_outputs = p + int(model.intercept), model.n_outputs
    forms = np.empty((n_outputs, n_outputs, CHUNK))
    sums, slope = np.empty(CHUNK), np.empty(CHUNK)
    theta = without_noise(model, theta)
    noise = noise_of(model, theta)
    for first in range(0, idx.size, CHUNK):
        chunk = idx[first : first + CHUNK]
        _quadratic_forms(model, chunk, factor, work.eta, forms)
        eta = predictors(model, work, theta, chunk)
        t, s = sums[: chunk.size], slope[: chunk.size]
        for k in range(n_outputs):
            t[:] = 0.0
            for m in range(n_outputs):
                for n in range(n_outputs):
                    curvature_slope(model.likelihood, eta, k, m, n, noise, s)
                    for b in range(chunk.size):
                        t[b] += s[b] * forms[m, n, b]
            weigh(model, work, chunk, n_rows(model) / idx.size, t)
            add_rows(model.rows, chunk, t, out[k * size : k * size + p])
            if model.intercept:
                out[k * size + p] += total(t)


@helper
def without_noise(model, theta):
    """Return a copy of theta in which the likelihood's own parameters are zero."""
    at = theta.copy()
    at[n_coefficients(model) :] = 0.0
    return at


@helper
def _quadratic_forms(model, chunk, factor, buffer, out):
    """Write x_i' P_mn x_i, where P = factor' factor, to (K, K, b) `out`."""
    p = shape_rows(model.rows)[1]
    size = p + int(model.intercept)
    out[:] = 0.0
    for c in range(len(factor)):
        for k in range(model.n_outputs):
            dots, row = buffer[k, : chunk.size], factor[c, k * size : (k + 1) * size]
            dot_rows(model.rows, chunk, row[:p], dots)
            if model.intercept:
                add_number(row[p], dots)
        for m in range(model.n_outputs):
            for n in range(model.n_outputs):
                for b in range(chunk.size):
                    out[m, n, b] += buffer[m, b] * buffer[n, b]


@metric.register(GaussianMean)
def _(model, work, theta, idx, out):
    for j in range(theta.size):
        copy_to(model.precision[j], out[j])


@metric_diagonal.register(GaussianMean)
def _(model, work, theta, idx, out, slope):
    for j in range(theta.size):
        out[j] = model.precision[j, j]
        slope[j] = 0.0


@metric_divergence.register(GaussianMean)
def _(model, work, theta, idx, factor, out):
    out[:] = 0.0
