"""Gaussian emissions with diagonal covariances, of points or of autoregressions.

    y_tj | k ~ N(m_kj + sum_l c_klj y_{t-l, j}, v_kj),    l = 1 ... L

x holds m (K, p), c (K, L, p) and v (K, p), or v (K) where all features share one. With
L = 0 lags this is the usual Gaussian emission. A point whose past is not observed, at
the beginning of a sequence or beside a missing one, says nothing of its state. Priors:
m_j ~ N(mean_j, 1 / precision_j), c ~ N(0, 1 / lag_precision), v ~ inverse Gamma.
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
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.maps import Exp, Real, joined

LEAST = (
    1e-4  # of the variance of a feature: least variance of a state that EM starts at
)


class DiagonalGaussian(NamedTuple):
    """Independent features given the state."""

    n_states: int  # K
    n_lags: int  # L
    spherical: bool  # one variance for all features of a state
    mean: np.ndarray  # (p,)
    precision: np.ndarray  # (p,)
    lag_precision: float
    shape: float  # of the inverse Gamma law of variances
    scale: np.ndarray  # (p,)
    gram: np.ndarray  # (p, L + 1, L + 1) second moments of 1 and the lags, for EM


@n_emitted.register(DiagonalGaussian)
def _(emission):
    k, p = emission.n_states, emission.mean.size
    return k * p * (1 + emission.n_lags) + (k if emission.spherical else k * p)


@n_cached.register(DiagonalGaussian)
def _(emission):
    return emission.mean.size * (emission.n_lags + 3) * emission.n_states


@emission_map.register(DiagonalGaussian)
def _(emission, sizes):
    linear = emission.n_states * emission.mean.size * (1 + emission.n_lags)
    return joined(Real(linear), Exp(n_emitted(emission) - linear))


@helper
def _variance_at(emission, k, j):
    """Return the place of v_kj in x."""
    n, p = emission.n_states, emission.mean.size
    linear = n * p * (1 + emission.n_lags)
    return linear + (k if emission.spherical else k * p + j)


@helper
def _lag_at(emission, k, lag, j):
    """Return the place of c_klj in x, lag = 1 ... L."""
    n, p = emission.n_states, emission.mean.size
    return n * p + (k * emission.n_lags + lag - 1) * p + j


@helper
def _tables(emission, cache):
    """Return `cache` as (p, L + 3, K): m, c, 1 / v and -1/2 log 2 pi v of a feature."""
    return cache.reshape(emission.mean.size, emission.n_lags + 3, emission.n_states)


@prepare_emission.register(DiagonalGaussian)
def _(emission, x, cache):
    tables, lags = _tables(emission, cache), emission.n_lags
    for k in range(emission.n_states):
        for j in range(emission.mean.size):
            v, table = x[_variance_at(emission, k, j)], tables[j]
            table[0, k] = x[k * emission.mean.size + j]
            for lag in range(1, lags + 1):
                table[lag, k] = x[_lag_at(emission, k, lag, j)]
            table[lags + 1, k] = 1.0 / v
            table[lags + 2, k] = -0.5 * math.log(2.0 * math.pi * v)


@helper
def _is_known(X, t, j, lags):
    """Whether y_tj and all of its lags were observed."""
    for lag in range(lags + 1):
        if np.isnan(X[t - lag, j]):
            return False
    return True


@helper
def _residual(table, X, t, j, k, lags):
    value = X[t, j] - table[0, k]
    for lag in range(1, lags + 1):
        value -= table[lag, k] * X[t - lag, j]
    return value


@write_log_emissions.register(DiagonalGaussian)
def _(emission, x, cache, X, first, last, begin, out):
    n, lags, tables = emission.n_states, emission.n_lags, _tables(emission, cache)
    for t in range(last - first):
        row = out[t]
        for k in range(n):
            row[k] = 0.0
    for j in range(emission.mean.size):
        table = tables[j]
        precision, constant = table[lags + 1], table[lags + 2]
        for t in range(max(first, begin + lags), last):
            if _is_known(X, t, j, lags):
                row = out[t - first]
                for k in range(n):
                    error = _residual(table, X, t, j, k, lags)
                    row[k] += constant[k] - 0.5 * precision[k] * error * error


@add_emission_score.register(DiagonalGaussian)
def _(emission, x, cache, X, first, last, begin, weights, out):
    p, lags, tables = emission.mean.size, emission.n_lags, _tables(emission, cache)
    for j in range(p):
        table = tables[j]
        for k in range(emission.n_states):
            precision, total, pull, square = table[lags + 1, k], 0.0, 0.0, 0.0
            for t in range(max(first, begin + lags), last):
                if _is_known(X, t, j, lags):
                    weight = weights[t - first, k]
                    error = _residual(table, X, t, j, k, lags)
                    total += weight
                    pull += weight * error
                    square += weight * error * error
                    for lag in range(1, lags + 1):
                        slope = precision * weight * error * X[t - lag, j]
                        out[_lag_at(emission, k, lag, j)] += slope
            out[k * p + j] += precision * pull
            half = 0.5 * precision * (precision * square - total)
            out[_variance_at(emission, k, j)] += half


@emission_log_prior.register(DiagonalGaussian)
def _(emission, x):
    n, p, value = emission.n_states, emission.mean.size, 0.0
    for k in range(n):
        for j in range(p):
            away = x[k * p + j] - emission.mean[j]
            value -= 0.5 * emission.precision[j] * away * away
            for lag in range(1, emission.n_lags + 1):
                c = x[_lag_at(emission, k, lag, j)]
                value -= 0.5 * emission.lag_precision * c * c
            if j == 0 or not emission.spherical:
                v = x[_variance_at(emission, k, j)]
                value -= (emission.shape + 1.0) * math.log(v) + emission.scale[j] / v
    return value


@add_emission_prior_gradient.register(DiagonalGaussian)
def _(emission, x, out):
    n, p = emission.n_states, emission.mean.size
    for k in range(n):
        for j in range(p):
            away = x[k * p + j] - emission.mean[j]
            out[k * p + j] -= emission.precision[j] * away
            for lag in range(1, emission.n_lags + 1):
                at = _lag_at(emission, k, lag, j)
                out[at] -= emission.lag_precision * x[at]
            if j == 0 or not emission.spherical:
                at = _variance_at(emission, k, j)
                v = x[at]
                out[at] += emission.scale[j] / v**2 - (emission.shape + 1.0) / v


class Parts(NamedTuple):
    """The parameters by their names, views of x, (..., n)."""

    means: np.ndarray  # (..., K, p)
    lags: np.ndarray  # (..., K, L, p)
    variances: np.ndarray  # (..., K, p) or (..., K)


def diagonal_parts(emission, x):
    """Return the parameters in (..., n) `x` by their names."""
    k, p, lags = emission.n_states, emission.mean.size, emission.n_lags
    shape, n = x.shape[:-1], k * p
    end = n * (1 + lags)
    each = (k,) if emission.spherical else (k, p)
    return Parts(
        x[..., :n].reshape(*shape, k, p),
        x[..., n:end].reshape(*shape, k, lags, p),
        x[..., end:].reshape(*shape, *each),
    )


@maximized.register(DiagonalGaussian)
def _(emission, x, g, sizes):
    new = x.copy()
    old, slope, out = (diagonal_parts(emission, part) for part in (x, g, new))
    p = emission.mean.size
    size = np.maximum(sizes, 1.0)[:, None]
    v = old.variances[:, None] if emission.spherical else old.variances
    # beta + v / N gram^-1 g, where gram is the mean over all points.
    g_linear = np.concatenate([slope.means[:, None], slope.lags], axis=1)  # (K, L+1, p)
    inverse = np.linalg.inv(emission.gram)
    step = np.einsum("jlm,kmj->klj", inverse, g_linear) * (v / size)[:, None]
    out.means[:] += step[:, 0]
    out.lags[:] += step[:, 1:]
    lost = np.einsum("klj,jlm,kmj->kj", step, emission.gram, step)
    if emission.spherical:
        v, gain = old.variances, slope.variances
        fresh = v + 2.0 * v**2 * gain / (p * size[:, 0]) - lost.mean(axis=1)
    else:
        fresh = v + 2.0 * v**2 * slope.variances / size - lost
    out.variances[:] = np.clip(fresh, 0.1 * old.variances, 10.0 * old.variances)
    return new


@starting_emission.register(DiagonalGaussian)
def _(emission, points, previous, labels, rng):
    x = np.zeros(n_emitted(emission))
    out = diagonal_parts(emission, x)
    mean, v = _moments(points, emission.mean, 0.01 / emission.precision)
    for k in range(emission.n_states):
        out.means[k], own = _moments(points[labels == k], mean, v)
        own = np.maximum(own, LEAST * v)
        out.variances[k] = own.mean() if emission.spherical else own
    return x


def _moments(points, mean, variance):
    """Return means and variances of columns; the given ones where there are no two."""
    n = np.sum(~np.isnan(points), axis=0)
    found = np.where(n > 1, np.nansum(points, axis=0) / np.maximum(n, 1), mean)
    square = np.nansum((points - found) ** 2, axis=0) / np.maximum(n, 1)
    return found, np.where((n > 1) & (square > 0), square, variance)


@draw_emissions.register(DiagonalGaussian)
def _(emission, x, states, past, rng):
    parts = diagonal_parts(emission, x)
    v = parts.variances[:, None] if emission.spherical else parts.variances
    p, lags = emission.mean.size, emission.n_lags
    noise = rng.standard_normal((len(states), p)) * np.sqrt(v)[states]
    noise = noise + parts.means[states]
    if lags == 0:
        return noise
    out = np.concatenate([past[len(past) - lags :], noise])
    for t, k in enumerate(states, lags):
        out[t] += np.einsum("lj,lj->j", parts.lags[k], out[t - lags : t][::-1])
    return out[lags:]


@relabeled.register(DiagonalGaussian)
def _(emission, x, order):
    parts, shape = diagonal_parts(emission, x), x.shape[:-1]
    taken = [np.take(part, order, axis=len(shape)) for part in parts]
    return np.concatenate([part.reshape(*shape, -1) for part in taken], axis=-1)


@state_order.register(DiagonalGaussian)
def _(emission, x):
    return np.argsort(diagonal_parts(emission, x).means[:, 0], kind="stable")
