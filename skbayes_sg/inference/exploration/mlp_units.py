"""The units in which the weights of a network move, measured where its chains are."""

from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array

from skbayes_sg.inference.curvature import curvature_diagonal, largest_curvature
from skbayes_sg.kernels.capabilities.curvature import add_prior_hessian_diagonal
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels, python_op
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.likelihoods import Gaussian, InputDependentGaussian
from skbayes_sg.kernels.models.mlp import unpack
from skbayes_sg.kernels.models.mlp_prior import mean_precision, part_size
from skbayes_sg.kernels.protocol.gradient import init_memory
from skbayes_sg.kernels.protocol.model import init_work, n_rows, parameter_dtype
from skbayes_sg.kernels.protocol.sampler import curvature_exponent, friction_of

HEAT = 0.1  # which gradient noise may add to the temperature of a weight
PILOT_ROWS = 2048  # rows from which curvatures are measured
PILOT_PAIRS = 8  # pairs of gradients that measure their noise


class Pace(NamedTuple):
    """How fast chains move and forget."""

    slowdown: float  # that lets curvatures grow beyond those measured
    friction: float  # of samplers with momentum: what they forget in a step


@python_op
def pace(likelihood):
    """Return the `Pace` of networks with a likelihood."""
    return Pace(slowdown=4.0, friction=0.02)


@pace.register(Gaussian)
def _(likelihood):
    # The curvature in the outputs is the precision of the noise wherever the weights
    # are, so that it grows little and momentum may last.
    return Pace(slowdown=2.0, friction=0.005)


@pace.register(InputDependentGaussian)
def _(likelihood):
    return Pace(slowdown=4.0, friction=0.005)


def network_units(model, batch_size, thetas, sampler, h, rng, total=None):
    """Return units for steps of size h, and the variance V of the gradient; (d,) each.

    A weight moves in units of (M (c F + lambda) + h V T / (4 C q))^-1/2, where F is its
    Fisher information, C the sampler's friction and T the likelihood's temperature.
    What the data say of single weights, times c, covers what they say of all together;
    M lets curvatures grow, at the price of chains `slowdown` times as slow: those of
    classes are small while a network fits all its rows, until it no longer does, and
    momentum would carry a chain far away then. And gradient noise raises no weight's
    temperature from T to more than T + q, q being `HEAT`: chains forget as fast at all
    temperatures then. F and V are means over `thetas`, (n_chains, d), and over
    exchangeable units; V is that of simple minibatches, which no other estimator
    exceeds by much. A weight of which the data say nothing moves at the speed of its
    prior.
    """
    thetas = np.ascontiguousarray(thetas, parameter_dtype(model))
    fisher, prior, variance = np.zeros((3, thetas.shape[1]))
    for theta in thetas:
        pilot, own = pilot_model(model, theta, rng), np.zeros(theta.size)
        add_prior_hessian_diagonal(pilot, init_work(pilot), theta, own)
        fisher += (curvature_diagonal(pilot, theta) - own) / len(thetas)
        prior += own / len(thetas)
        own = _gradient_variance(model, batch_size, theta, rng, total)
        variance += own / len(thetas)
    squares = column_squares(model)
    fisher = _of_rare_features(np.maximum(fisher, 0.0), squares, model.sizes)
    variance = _of_rare_features(variance, squares, model.sizes)
    c = 30.0
    for _ in range(2):
        unit = 1.0 / np.sqrt(c * fisher + prior)
        c = max(1.0, c * largest_curvature(pilot, theta, unit, n_iter=10))
    # In the units of a metric of its own (exponent 0) a sampler meets no curvature.
    slowdown = pace(model.likelihood).slowdown
    margin = slowdown ** (1.0 / (curvature_exponent(sampler) or 1.0))
    curvature = margin * (c * fisher + prior)
    heat = h * variance * model.temperature / (4.0 * friction_of(sampler) * HEAT)
    return 1.0 / np.sqrt(curvature + heat), variance


def pilot_model(model, theta, rng):
    """Return the model with fewer rows, of more weight, and lambdas to suit theta."""
    n = n_rows(model)
    if n > PILOT_ROWS:
        idx = np.sort(rng.choice(n, PILOT_ROWS, replace=False))
        weights = model.weights[idx] if model.weights.size else np.ones(PILOT_ROWS)
        weights = (weights * (n / PILOT_ROWS)).astype(parameter_dtype(model))
        model = with_rows(model, idx)._replace(weights=weights)
    if model.learns_precision:
        means, first = np.empty_like(model.precision), 0
        for part in range(means.size):
            stop = first + part_size(model, part)
            means[part] = mean_precision(model, part, theta[first:stop])
            first = stop
        model = model._replace(precision=means)
    return for_kernels(model)


def with_rows(model, idx):
    """Return the model with some of its rows only."""
    weights = model.weights[idx] if model.weights.size else model.weights
    rows = take_rows(model.rows, idx)
    return for_kernels(model._replace(rows=rows, y=model.y[idx], weights=weights))


def exchangeable_mean(values, sizes):
    """Average (d,) values over the hidden units of a layer, which have no order.

    What is left differs by feature in the first layer and by output in the last.
    """
    out = values.copy()
    weights, biases, _ = unpack(out, sizes)
    last = len(weights) - 1
    for k, (w, b) in enumerate(zip(weights, biases, strict=True)):
        if k > 0:
            w[:] = w.mean(axis=0)
        if k < last:
            w[:] = w.mean(axis=1, keepdims=True)
            b[:] = b.mean()
    return out


def _of_rare_features(values, squares, sizes):
    """Return exchangeable means of (d,) values, none too small where x_j is rare.

    Few of the rows that were looked at may hold a feature, or none. Both information
    and variance grow with the sum of its squares over all rows, (p,) `squares`.
    """
    out = exchangeable_mean(values, sizes)
    w = unpack(out, sizes)[0][0]
    if squares.any():
        w[:] = np.maximum(w, np.outer(squares, w.sum(axis=0) / squares.sum()))
    return out


def column_squares(model):
    """Return the sums of squared features over all rows, (p,)."""
    rows = model.rows
    if isinstance(rows, CSRRows):
        first = np.bincount(rows.indices, rows.data, rows.n_features)
        squares = np.bincount(
            rows.indices, rows.data.astype(float) ** 2, rows.n_features
        )
    else:
        first = rows.sum(axis=0, dtype=float)
        squares = np.einsum("ij,ij->j", rows, rows).astype(float)
    if model.size.size == 0:
        return squares
    moved = squares + model.center * (n_rows(model) * model.center - 2.0 * first)
    return np.maximum(moved, 0.0) / model.size**2


def _gradient_variance(model, batch_size, theta, rng, total=None):
    """Return the variance of gradient estimates at theta, (d,).

    Where all rows are a batch that stands for `total` rows, that of halves of the batch
    is extrapolated.
    """
    n = n_rows(model)
    size, factor = batch_size, 1.0
    if batch_size == n and total is not None and 1 < n < total:
        size = n // 2
        factor = (1 / n - 1 / total) / (1 / size - 1 / n)
    if size == n:
        return np.zeros(theta.size)
    gradient = for_kernels(Minibatch(size))
    memory = init_memory(gradient, model, theta, rng)
    out = np.empty((2 * PILOT_PAIRS, theta.size), theta.dtype)
    thetas = np.tile(theta, (len(out), 1))
    estimate_gradient(gradient, memory, model, init_work(model), thetas, rng, out)
    return factor * 0.5 * np.mean((out[::2].astype(float) - out[1::2]) ** 2, axis=0)


def take_rows(rows, idx):
    """Return some of the rows, in the same format."""
    if not isinstance(rows, CSRRows):
        return rows[idx]
    some = _matrix(rows)[idx]
    indices = some.indices.astype(rows.indices.dtype)
    indptr = some.indptr.astype(rows.indptr.dtype)
    return CSRRows(some.data, indices, indptr, rows.n_features)


def dense_rows(rows):
    """Return rows as an array."""
    return _matrix(rows).toarray() if isinstance(rows, CSRRows) else rows


def seen_rows(model, idx):
    """Return some of the rows as the network sees them, float64."""
    x = dense_rows(take_rows(model.rows, idx)).astype(float)
    return (x - model.center) / model.size if model.size.size else x


def _matrix(rows):
    shape = rows.indptr.size - 1, rows.n_features
    return csr_array((rows.data, rows.indices, rows.indptr), shape)
