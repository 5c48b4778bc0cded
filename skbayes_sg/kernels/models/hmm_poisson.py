"""Counts of independent features given the state: y_tj | k ~ Poisson(x_kj).

x holds the rates (K, p), with Gamma(shape, rate) priors. log y! is left to `log_base`.
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
    log_base,
    maximized,
    n_cached,
    n_emitted,
    prepare_emission,
    relabeled,
    starting_emission,
    state_order,
    write_log_emissions,
)
from skbayes_sg.kernels.maps import Exp


class PoissonEmission(NamedTuple):
    """Independent counts given the state."""

    n_states: int  # K
    n_features: int  # p
    shape: float
    rate: float


@n_emitted.register(PoissonEmission)
def _(emission):
    return emission.n_states * emission.n_features


@n_cached.register(PoissonEmission)
def _(emission):
    return n_emitted(emission)


@emission_map.register(PoissonEmission)
def _(emission, sizes):
    return Exp(n_emitted(emission))


@prepare_emission.register(PoissonEmission)
def _(emission, x, cache):
    for i in range(x.size):
        cache[i] = math.log(x[i])


@write_log_emissions.register(PoissonEmission)
def _(emission, x, cache, X, first, last, begin, out):
    n, p = emission.n_states, emission.n_features
    for t in range(first, last):
        row, counts = out[t - first], X[t]
        for k in range(n):
            row[k] = 0.0
        for j in range(p):
            count = counts[j]
            if not np.isnan(count):
                for k in range(n):
                    row[k] += count * cache[k * p + j] - x[k * p + j]


@add_emission_score.register(PoissonEmission)
def _(emission, x, cache, X, first, last, begin, weights, out):
    p = emission.n_features
    for j in range(p):
        for k in range(emission.n_states):
            total, counted = 0.0, 0.0
            for t in range(first, last):
                if not np.isnan(X[t, j]):
                    total += weights[t - first, k]
                    counted += weights[t - first, k] * X[t, j]
            out[k * p + j] += counted / x[k * p + j] - total


@emission_log_prior.register(PoissonEmission)
def _(emission, x):
    value = 0.0
    for i in range(x.size):
        value += (emission.shape - 1.0) * math.log(x[i]) - emission.rate * x[i]
    return value


@add_emission_prior_gradient.register(PoissonEmission)
def _(emission, x, out):
    for i in range(x.size):
        out[i] += (emission.shape - 1.0) / x[i] - emission.rate


@maximized.register(PoissonEmission)
def _(emission, x, g, sizes):
    rates = x.reshape(emission.n_states, -1)
    step = rates * g.reshape(rates.shape) / np.maximum(sizes, 1.0)[:, None]
    return np.clip(rates + step, 0.1 * rates, 10.0 * rates).ravel()


@starting_emission.register(PoissonEmission)
def _(emission, points, previous, labels, rng):
    overall = np.nanmean(points, axis=0) + 0.01
    rates = np.tile(overall, (emission.n_states, 1))
    for k in range(emission.n_states):
        group = points[labels == k]
        known = np.sum(~np.isnan(group), axis=0)
        rates[k] = (np.nansum(group, axis=0) + overall) / (known + 1.0)
    return rates.ravel()


@draw_emissions.register(PoissonEmission)
def _(emission, x, states, past, rng):
    rates = x.reshape(emission.n_states, -1)
    return rng.poisson(rates[states]).astype(np.float64)


@relabeled.register(PoissonEmission)
def _(emission, x, order):
    shape = x.shape[:-1]
    rates = x.reshape(*shape, emission.n_states, -1)
    return np.take(rates, order, axis=len(shape)).reshape(x.shape)


@state_order.register(PoissonEmission)
def _(emission, x):
    return np.argsort(x.reshape(emission.n_states, -1)[:, 0], kind="stable")


@log_base.register(PoissonEmission)
def _(emission, X):
    counts, times = np.unique(X[~np.isnan(X)], return_counts=True)
    return -float(times @ [math.lgamma(y + 1.0) for y in counts])
