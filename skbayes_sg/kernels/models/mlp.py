"""Multilayer perceptrons with Gaussian weights of unknown scale.

    a_0 = x,    z_l = a_{l-1} W_l + b_l,    a_l = activation(z_l),    y ~ f(. | z_L)
    or  a_0 = (x - center) / size
    entries of W_l ~ N(0, 1 / lambda),  of b_l likewise;  each lambda ~ Gamma(a, rate b)

Packing of theta, for layers of sizes m_0 (features), m_1, ..., m_L (outputs):

    | part            | shape                                             |
    |-----------------|---------------------------------------------------|
    | layer 1, ..., L |                                                   |
    |   W_l           | (m_{l-1}, m_l), by rows                           |
    |   b_l           | (m_l,)                                            |
    | noise           | what the likelihood adds: (m_L,) log precisions,  |
    |                 | none for classes                                  |

The lambdas are drawn from their Gamma conditionals after every tenth step, because the
weights determine them almost exactly and move slowly. They are stored in the work. A
recorded draw is theta, followed by the 2 L lambdas of W_1, b_1, W_2, b_2, ... If each
input has a lambda of its own (automatic relevance determination), those of the rows of
W_1 take the place of the first.

A lambda of 0 means that it is integrated out: the prior of m weights w is then
p(w) = (b + |w|^2 / 2)^-(a + m / 2), with the gradient -E(lambda | w) w.

Noise of a conjugate likelihood moves with the weights and is also drawn from its exact
conditional distribution, by a pass over all rows whose share of the work is small.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.data.minibatch import INDEX, fill_rows, row_buffer
from skbayes_sg.kernels.data.rows import copy_rows, shape_rows
from skbayes_sg.kernels.generic import entry_point, helper
from skbayes_sg.kernels.likelihoods.protocol import (
    add_noise_prior_curvature,
    add_noise_prior_gradient,
    add_noise_score,
    add_noise_statistics,
    curvature_factor,
    draw_noise,
    has_conjugate_noise,
    log_density,
    n_noise,
    noise_curvature,
    noise_log_prior,
    score,
)
from skbayes_sg.kernels.models.mlp_passes import (
    CHUNK,
    backward,
    forward,
    layer,
    offset,
    products,
    standardize,
)
from skbayes_sg.kernels.models.mlp_prior import (
    mean_precision,
    part_size,
    prior_rate,
    prior_shape,
    sum_squares,
)
from skbayes_sg.kernels.protocol.coordinates import shift
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    parameter_dtype,
    record,
    refresh,
)
from skbayes_sg.kernels.protocol.target import locate

REFRESH_EVERY = 10  # steps between two draws of the lambdas
NOISE_ROWS = 5000  # rows between two exact draws of the noise are at least so many
GAMMA_1_1 = np.empty(0)  # stands for shapes and rates of 1
AS_THEY_ARE = np.empty(0)  # stands for features that are not standardized


class MLP(NamedTuple):
    """A network, its data and its prior."""

    activation: NamedTuple
    likelihood: NamedTuple
    rows: NamedTuple  # or (N, m_0) array
    y: np.ndarray  # (N,) classes or (N, m_L) numbers
    weights: np.ndarray  # (N,), or (0,) when all are 1
    sizes: np.ndarray  # (L + 1,) int64: m_0, ..., m_L
    precision: np.ndarray  # (2 L,) the lambdas, or their initial values
    learns_precision: bool
    temperature: float = 1.0  # of the likelihood, already included in the weights
    shape: np.ndarray = GAMMA_1_1  # (2 L,) of the priors of the lambdas, or empty
    rate: np.ndarray = GAMMA_1_1
    by_input: bool = False  # each input has a lambda: m_0 - 1 more than 2 L
    center: np.ndarray = AS_THEY_ARE  # (m_0,) of the features, (x - center) / size
    size: np.ndarray = AS_THEY_ARE  # are what the network sees, or both empty
    draws_noise: bool = True  # the rows are all, so that the noise can be drawn exactly


class MLPWork(NamedTuple):
    """Buffers of one chunk of rows, and the lambdas."""

    a: np.ndarray  # (CHUNK * (m_0 + ... + m_L),) rows and outputs, ordered by layer
    delta: np.ndarray  # derivatives of log f with respect to all z, as `a`
    y: np.ndarray  # (CHUNK * m,) targets
    row: np.ndarray  # (CHUNK,) a number per row: its factor or its log density
    g: np.ndarray  # gradient of a chunk with respect to all W_l and b_l
    precision: np.ndarray  # (2 L,)
    clock: np.ndarray  # (1,) steps so far
    rows: np.ndarray  # (CHUNK,) row indices
    noise: np.ndarray  # (2, n_noise) what a draw of the noise needs, and the draw


def pack(weights, biases, noise=()):
    """Return theta for lists of W_l and b_l and the likelihood's parameters."""
    pairs = zip(weights, biases, strict=True)
    return np.concatenate([*(np.ravel(p) for pair in pairs for p in pair), noise])


def unpack(theta, sizes):
    """Return the lists of W_l and b_l and the rest of theta, as views.

    Leading axes of `theta`, for instance those of chains and draws, are kept.
    """
    weights, biases, first = [], [], 0
    for m, n in itertools.pairwise(sizes):
        shape = (*theta.shape[:-1], m, n)
        weights.append(theta[..., first : first + m * n].reshape(shape))
        biases.append(theta[..., first + m * n : first + (m + 1) * n])
        first += (m + 1) * n
    return weights, biases, theta[..., first:]


@n_parameters.register(MLP)
def _(model):
    return _n_weights(model) + n_noise(model.likelihood, model.sizes[-1])


@n_rows.register(MLP)
def _(model):
    return shape_rows(model.rows)[0]


@parameter_dtype.register(MLP)
def _(model):
    return model.precision.dtype


@init_work.register(MLP)
def _(model):
    dtype, sizes = model.precision.dtype, model.sizes
    units = CHUNK * int(sizes.sum())
    return MLPWork(
        a=np.zeros(units, dtype),
        delta=np.zeros(units, dtype),
        y=np.zeros(CHUNK * max(1, model.y[:1].size), dtype),
        row=np.zeros(CHUNK, dtype),
        g=np.zeros(_n_weights(model), dtype),
        precision=model.precision.copy(),
        clock=np.zeros(1, np.int64),
        rows=np.zeros(CHUNK, INDEX),
        noise=np.zeros((2, n_noise(model.likelihood, sizes[-1]))),
    )


@add_gradient.register(MLP)
def _(model, work, theta, idx, scale, out):
    sizes, end = model.sizes, _n_weights(model)
    for chunk in range(_n_chunks(idx)):
        rows = _chunk(idx, chunk)
        n = rows.size
        factor = work.row[:n]
        for b in range(n):
            factor[b] = scale * _weight(model, rows[b])
        z, noise = _outputs(model, work, theta, rows), theta[end:]
        y = _targets(model, work, rows)
        add_noise_score(model.likelihood, z.T, y, noise, factor, out[end:])
        delta = layer(work.delta, sizes, sizes.size - 1, n)
        score(model.likelihood, z.T, y, noise, delta.T)
        for b in range(n):
            for k in range(delta.shape[1]):
                delta[b, k] *= factor[b]
        backward(model.activation, theta, sizes, n, work.a, work.delta)
        products(sizes, n, work.a, work.delta, work.g)
        for j in range(end):
            out[j] += work.g[j]


@log_likelihood.register(MLP)
def _(model, work, theta, idx):
    noise = theta[_n_weights(model) :]
    total = 0.0
    for chunk in range(_n_chunks(idx)):
        rows = _chunk(idx, chunk)
        density = work.row[: rows.size]
        z = _outputs(model, work, theta, rows)
        y = _targets(model, work, rows)
        log_density(model.likelihood, z.T, y, noise, density)
        for b in range(rows.size):
            total += _weight(model, rows[b]) * density[b]
    return total


@add_hessian_diagonal.register(MLP)
def _(model, work, theta, idx, scale, out):
    # The Gauss-Newton part of the Hessian, which is the Fisher information: with F F'
    # the curvature of log f in z, the sum over columns of F of squared gradients.
    sizes, end = model.sizes, _n_weights(model)
    a2, delta2 = np.empty_like(work.a), np.empty_like(work.delta)
    for chunk in range(_n_chunks(idx)):
        rows = _chunk(idx, chunk)
        n = rows.size
        z = _outputs(model, work, theta, rows)
        _square(work.a, a2)
        delta = layer(work.delta, sizes, sizes.size - 1, n)
        for column in range(delta.shape[1]):
            curvature_factor(model.likelihood, z.T, column, theta[end:], delta.T)
            for b in range(n):
                for k in range(delta.shape[1]):
                    delta[b, k] *= math.sqrt(scale * _weight(model, rows[b]))
            backward(model.activation, theta, sizes, n, work.a, work.delta)
            _square(work.delta, delta2)
            products(sizes, n, a2, delta2, work.g)
            for j in range(end):
                out[j] += work.g[j]
        for b in range(n):
            for j in range(end, theta.size):
                weight = scale * _weight(model, rows[b])
                out[j] += weight * noise_curvature(model.likelihood)


@add_prior_gradient.register(MLP)
def _(model, work, theta, out):
    first = 0
    for part in range(work.precision.size):
        stop = first + part_size(model, part)
        w, total = theta[first:stop], out[first:stop]
        precision = work.precision[part]
        if precision == 0.0:
            precision = w.dtype.type(mean_precision(model, part, w))
        for j in range(w.size):  # vectorizes only from 0 and with a single type
            total[j] -= precision * w[j]
        first = stop
    add_noise_prior_gradient(model.likelihood, theta[first:], out[first:])


@log_prior.register(MLP)
def _(model, work, theta):
    total, first = 0.0, 0
    for part in range(work.precision.size):
        size = part_size(model, part)
        precision = work.precision[part]
        squares = sum_squares(theta[first : first + size])
        if precision == 0.0:
            a, b = prior_shape(model, part), prior_rate(model, part)
            total -= (a + 0.5 * size) * math.log1p(0.5 * squares / b)
        else:
            total += 0.5 * (size * math.log(precision) - precision * squares)
        first += size
    return total + noise_log_prior(model.likelihood, theta[first:])


@add_prior_hessian_diagonal.register(MLP)
def _(model, work, theta, out):
    first = 0
    for part in range(work.precision.size):
        stop = first + part_size(model, part)
        out[first:stop] += work.precision[part]
        first = stop
    add_noise_prior_curvature(model.likelihood, theta[first:], out[first:])


@refresh.register(MLP)
def _(model, target, position, rng):
    clock = target.work.clock
    clock[0] += 1
    if model.learns_precision and clock[0] % REFRESH_EVERY == 0:
        _draw_precisions(model, target, locate(target, position), rng)
    if model.draws_noise and has_conjugate_noise(model.likelihood):
        if clock[0] % max(REFRESH_EVERY, n_rows(model) // NOISE_ROWS) == 0:
            _draw_noise(model, target, position, rng)


@helper
def _draw_precisions(model, target, theta, rng):
    # p(lambda | w)^beta = Gamma(1 + beta (a - 1 + m / 2), beta (b + |w|^2 / 2)) of m
    # weights w, beta the inverse temperature.
    beta, first = target.inverse_temperature, 0
    for part in range(target.work.precision.size):
        size, b = part_size(model, part), prior_rate(model, part)
        rate = beta * (b + 0.5 * sum_squares(theta[first : first + size]))
        shape = 1.0 + beta * (prior_shape(model, part) - 1.0 + 0.5 * size)
        target.work.precision[part] = rng.standard_gamma(shape) / rate
        first += size


@helper
def _draw_noise(model, target, position, rng):
    theta, work, end = locate(target, position), target.work, _n_weights(model)
    statistics, new = work.noise[0], work.noise[1]
    statistics[:] = 0.0
    total, n = 0.0, n_rows(model)
    for first in range(0, n, CHUNK):
        rows = fill_rows(work.rows, first, n)
        factor = work.row[: rows.size]
        for b in range(rows.size):
            factor[b] = _weight(model, rows[b])
            total += factor[b]
        z, y = _outputs(model, work, theta, rows), _targets(model, work, rows)
        add_noise_statistics(model.likelihood, z.T, y, factor, statistics)
    if not np.isfinite(statistics).all():
        return  # the divergence is found out soon
    beta = target.inverse_temperature
    draw_noise(model.likelihood, statistics, total, beta, rng, new)
    for k in range(new.size):
        shift(target.coordinates, end + k, new[k] - theta[end + k], position)


@n_recorded.register(MLP)
def _(model):
    return n_parameters(model) + model.precision.size


@record.register(MLP)
def _(model, work, theta, out):
    out[: theta.size] = theta
    out[theta.size :] = work.precision


@entry_point
def network_outputs(model, work, theta, out):
    """Write z_L of all rows of the model to (N, m_L) `out`."""
    idx = row_buffer()[:CHUNK]
    for first in range(0, n_rows(model), CHUNK):
        rows = fill_rows(idx, first, n_rows(model))
        out[first : first + rows.size] = _outputs(model, work, theta, rows)


@helper
def _outputs(model, work, theta, rows):
    n, sizes = rows.size, model.sizes
    x = layer(work.a, sizes, 0, n)
    copy_rows(model.rows, rows, x)
    if model.size.size > 0:
        standardize(model.center, model.size, x)
    return forward(model.activation, theta, sizes, n, work.a)


@helper
def _targets(model, work, rows):
    """Return y of the rows, (m, n), a view of a buffer."""
    m = model.y.size // n_rows(model)
    every = model.y.reshape((n_rows(model), m))
    y = work.y[: rows.size * m].reshape((rows.size, m))
    for b in range(rows.size):
        for k in range(m):
            y[b, k] = every[rows[b], k]
    return y.T


@helper
def _n_weights(model):
    return offset(model.sizes, model.sizes.size)


@helper
def _square(x, out):
    for j in range(x.size):
        out[j] = x[j] * x[j]


@helper
def _n_chunks(idx):
    return (idx.size + CHUNK - 1) // CHUNK


@helper
def _chunk(idx, chunk):
    """Return one of the equal parts of `idx`, each of which fits into the buffers."""
    n, k = idx.size, _n_chunks(idx)
    return idx[chunk * n // k : (chunk + 1) * n // k]


@helper
def _weight(model, i):
    return model.weights[i] if model.weights.size > 0 else 1.0
