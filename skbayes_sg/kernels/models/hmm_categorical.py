"""Symbols: P(y_t = m | k) = x_km, one column of whole numbers 0 ... M - 1.

x holds the probabilities (K, M), whose rows have Dirichlet priors.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.emissions import (
    add_emission_prior_gradient,
    add_emission_score,
    draw_emissions,
    emission_log_prior,
    emission_map,
    maximized,
    n_cached,
    n_emitted,
    prepare_emission,
    relabeled,
    starting_emission,
    state_order,
    write_log_emissions,
)
from skbayes_sg.kernels.maps import NormalizedGammas


class CategoricalEmission(NamedTuple):
    """One of M symbols."""

    prior: np.ndarray  # (K, M)

    @property
    def n_states(self):
        """Number of states K."""
        return len(self.prior)


@n_emitted.register(CategoricalEmission)
def _(emission):
    return emission.prior.size


@n_cached.register(CategoricalEmission)
def _(emission):
    return emission.prior.size


@emission_map.register(CategoricalEmission)
def _(emission, sizes):
    totals = np.asarray(sizes, np.float64) + emission.prior.sum(axis=1)
    return NormalizedGammas(emission.prior.shape[1], totals)


@prepare_emission.register(CategoricalEmission)
def _(emission, x, cache):
    for i in range(x.size):
        cache[i] = math.log(max(x[i], 1e-300))


@write_log_emissions.register(CategoricalEmission)
def _(emission, x, cache, X, first, last, begin, out):
    n, m = emission.prior.shape
    for t in range(first, last):
        row, is_known = out[t - first], not np.isnan(X[t, 0])
        symbol = int(X[t, 0]) if is_known else 0
        for k in range(n):
            row[k] = cache[k * m + symbol] if is_known else 0.0


@add_emission_score.register(CategoricalEmission)
def _(emission, x, cache, X, first, last, begin, weights, out):
    n, m = emission.prior.shape
    for t in range(first, last):
        if not np.isnan(X[t, 0]):
            row, symbol = weights[t - first], int(X[t, 0])
            for k in range(n):
                at = k * m + symbol
                out[at] += row[k] / max(x[at], 1e-300)


@emission_log_prior.register(CategoricalEmission)
def _(emission, x):
    (n, m), value = emission.prior.shape, 0.0
    for k in range(n):
        for j in range(m):
            value += (emission.prior[k, j] - 1.0) * math.log(max(x[k * m + j], 1e-300))
    return value


@add_emission_prior_gradient.register(CategoricalEmission)
def _(emission, x, out):
    n, m = emission.prior.shape
    for k in range(n):
        for j in range(m):
            at = k * m + j
            out[at] += (emission.prior[k, j] - 1.0) / max(x[at], 1e-300)


@maximized.register(CategoricalEmission)
def _(emission, x, g, sizes):
    counts = np.maximum(x * g + 1.0, 1e-3).reshape(emission.prior.shape)
    return (counts / counts.sum(axis=1, keepdims=True)).ravel()


@starting_emission.register(CategoricalEmission)
def _(emission, points, previous, labels, rng):
    # Points of one group say little, since symbols have no order: mostly what is known
    # of all of them, and randomly more of some.
    n, m = emission.prior.shape
    symbols = np.nan_to_num(points[:, 0], nan=0.0).astype(np.int64)
    overall = np.bincount(symbols, minlength=m) + 1.0
    tilted = overall * rng.gamma(2.0, size=(n, m))
    return (tilted / tilted.sum(axis=1, keepdims=True)).ravel()


@draw_emissions.register(CategoricalEmission)
def _(emission, x, states, past, rng):
    cumulated = np.cumsum(x.reshape(emission.prior.shape), axis=1)[states]
    uniforms = rng.random((len(states), 1)) * cumulated[:, -1:]
    return np.sum(uniforms > cumulated, axis=1, keepdims=True).astype(np.float64)


@relabeled.register(CategoricalEmission)
def _(emission, x, order):
    shape = x.shape[:-1]
    rows = x.reshape(*shape, *emission.prior.shape)
    return np.take(rows, order, axis=len(shape)).reshape(x.shape)


@state_order.register(CategoricalEmission)
def _(emission, x):
    return np.argsort(-x.reshape(emission.prior.shape)[:, 0], kind="stable")
