"""Gaussian emissions with covariance matrices, one for each state or one for all.

    y_t | k ~ N(m_k, S_k),    m_kj ~ N(mean_j, 1 / precision_j),    S ~ inverse Wishart

x holds m (K, p) and S (K, p, p), or S (p, p) where it is tied. The density of a point
with missing features is the marginal one of the others: with ones on the diagonal of S
for missing features, zeros beside them, and zeros in their place in the inverse P, all
formulas are those of complete points. The inverse Wishart law has 2 a + p - 1 degrees
of freedom and scale matrix 2 diag(b), so that p = 1 is an inverse Gamma law of a, b.
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
from skbayes_sg.kernels.maps import CholeskyCovariance, Real, Repeated, joined

SHRINK = 0.1  # towards a diagonal matrix, of covariances that EM starts at


class FullGaussian(NamedTuple):
    """Correlated features given the state."""

    n_states: int  # K
    tied: bool
    mean: np.ndarray  # (p,)
    precision: np.ndarray  # (p,)
    shape: float  # a
    scale: np.ndarray  # (p,) b


@helper
def _n_matrices(emission):
    return 1 if emission.tied else emission.n_states


@n_emitted.register(FullGaussian)
def _(emission):
    p = emission.mean.size
    return emission.n_states * p + _n_matrices(emission) * p * p


@n_cached.register(FullGaussian)
def _(emission):
    # P and the log constant of each matrix, those of a point, a factor, and a residual.
    p = emission.mean.size
    return (_n_matrices(emission) + 1) * (p * p + 1) + p * p + 2 * p


@emission_map.register(FullGaussian)
def _(emission, sizes):
    p = emission.mean.size
    each = Repeated(CholeskyCovariance(p), _n_matrices(emission))
    return joined(Real(emission.n_states * p), each)


@helper
def _invert(x, at, y, cache, to, p):
    """Write P of the features of y that are known to ``cache[to:]``, then a constant.

    The constant is -1/2 log det(2 pi S). S begins at ``x[at]``.
    """
    root = cache.size - p * p - 2 * p  # a Cholesky factor
    constant = 0.0
    for i in range(p):
        for j in range(i + 1):
            value = x[at + i * p + j]
            if np.isnan(y[i]) or np.isnan(y[j]):
                value = 1.0 if i == j else 0.0
            for m in range(j):
                value -= cache[root + i * p + m] * cache[root + j * p + m]
            if i == j:
                value = math.sqrt(value)
                constant -= 0.0 if np.isnan(y[i]) else math.log(value)
                constant -= 0.0 if np.isnan(y[i]) else 0.5 * math.log(2.0 * math.pi)
                cache[root + i * p + i] = value
            else:
                cache[root + i * p + j] = value / cache[root + j * p + j]
    column = root + p * p
    for c in range(p):  # column c of the inverse, by two triangular systems
        for i in range(p):
            value = 1.0 if i == c else 0.0
            for m in range(i):
                value -= cache[root + i * p + m] * cache[column + m]
            cache[column + i] = value / cache[root + i * p + i]
        for i in range(p - 1, -1, -1):
            value = cache[column + i]
            for m in range(i + 1, p):
                value -= cache[root + m * p + i] * cache[column + m]
            cache[column + i] = value / cache[root + i * p + i]
        for i in range(p):
            unknown = np.isnan(y[i]) or np.isnan(y[c])
            cache[to + i * p + c] = 0.0 if unknown else cache[column + i]
    cache[to + p * p] = constant


@prepare_emission.register(FullGaussian)
def _(emission, x, cache):
    p, n = emission.mean.size, emission.n_states
    for k in range(_n_matrices(emission)):
        at, to = n * p + k * p * p, k * (p * p + 1)
        _invert(x, at, emission.mean, cache, to, p)


@helper
def _residual(emission, x, cache, y, k):
    """Write y - m_k and P (y - m_k) to the end of `cache`; return the place of P."""
    p, n = emission.mean.size, emission.n_states
    matrix = 0 if emission.tied else k
    to, is_complete = matrix * (p * p + 1), True
    for j in range(p):
        is_complete = is_complete and not np.isnan(y[j])
    if not is_complete:
        to = _n_matrices(emission) * (p * p + 1)
        _invert(x, n * p + matrix * p * p, y, cache, to, p)
    first = cache.size - 2 * p
    for j in range(p):
        away = y[j] - x[k * p + j]
        cache[first + j] = 0.0 if np.isnan(away) else away
    for i in range(p):
        value = 0.0
        for j in range(p):
            value += cache[to + i * p + j] * cache[first + j]
        cache[first + p + i] = value
    return to


@write_log_emissions.register(FullGaussian)
def _(emission, x, cache, X, first, last, begin, out):
    p, n = emission.mean.size, emission.n_states
    away = cache.size - 2 * p
    for t in range(first, last):
        for k in range(n):
            to = _residual(emission, x, cache, X[t], k)
            square = 0.0
            for j in range(p):
                square += cache[away + j] * cache[away + p + j]
            out[t - first, k] = cache[to + p * p] - 0.5 * square


@add_emission_score.register(FullGaussian)
def _(emission, x, cache, X, first, last, begin, weights, out):
    p, n = emission.mean.size, emission.n_states
    pull = cache.size - p
    for t in range(first, last):
        for k in range(n):
            w = weights[t - first, k]
            if w == 0.0:
                continue
            to = _residual(emission, x, cache, X[t], k)
            at = n * p + (0 if emission.tied else k * p * p)
            for i in range(p):
                out[k * p + i] += w * cache[pull + i]
                for j in range(p):
                    outer = cache[pull + i] * cache[pull + j]
                    out[at + i * p + j] += 0.5 * w * (outer - cache[to + i * p + j])


@emission_log_prior.register(FullGaussian)
def _(emission, x):
    n, p, value = emission.n_states, emission.mean.size, 0.0
    cache = np.empty(p * p + 1 + p * p + 2 * p)
    for k in range(n):
        for j in range(p):
            away = x[k * p + j] - emission.mean[j]
            value -= 0.5 * emission.precision[j] * away * away
    for k in range(_n_matrices(emission)):
        _invert(x, n * p + k * p * p, emission.mean, cache, 0, p)
        log_root = cache[p * p] + 0.5 * p * math.log(2.0 * math.pi)  # -1/2 log det S
        value += 2.0 * (emission.shape + p) * log_root
        for j in range(p):
            value -= emission.scale[j] * cache[j * p + j]
    return value


@add_emission_prior_gradient.register(FullGaussian)
def _(emission, x, out):
    n, p = emission.n_states, emission.mean.size
    cache = np.empty(p * p + 1 + p * p + 2 * p)
    for k in range(n):
        for j in range(p):
            away = x[k * p + j] - emission.mean[j]
            out[k * p + j] -= emission.precision[j] * away
    for k in range(_n_matrices(emission)):
        at = n * p + k * p * p
        _invert(x, at, emission.mean, cache, 0, p)
        for i in range(p):
            for j in range(p):
                value = -(emission.shape + p) * cache[i * p + j]
                for m in range(p):
                    inner = cache[i * p + m] * cache[m * p + j]
                    value += emission.scale[m] * inner
                out[at + i * p + j] += value


def full_parts(emission, x):
    """Return means, (..., K, p), and matrices, (..., K or 1, p, p), views of `x`."""
    k, p, shape = emission.n_states, emission.mean.size, x.shape[:-1]
    means = x[..., : k * p].reshape(*shape, k, p)
    return means, x[..., k * p :].reshape(*shape, -1, p, p)


@maximized.register(FullGaussian)
def _(emission, x, g, sizes):
    new, sizes = x.copy(), np.maximum(sizes, 1.0)
    (means, matrices), (pull, twist) = full_parts(emission, x), full_parts(emission, g)
    out, fresh = full_parts(emission, new)
    moved = np.einsum("kij,kj->ki", matrices, pull) / sizes[:, None]
    out[:] = means + moved
    lost = np.einsum("ki,kj->kij", moved, moved)
    if emission.tied:
        lost = (lost * sizes[:, None, None]).sum(axis=0, keepdims=True) / sizes.sum()
        sizes = sizes.sum(keepdims=True)
    fresh[:] = matrices + 2.0 * matrices @ twist @ matrices / sizes[:, None, None]
    fresh -= lost
    for one, old in zip(fresh, matrices, strict=True):
        one[:] = 0.5 * (one + one.T)
        if np.linalg.eigvalsh(one)[0] <= 1e-3 * np.linalg.eigvalsh(old)[0]:
            one[:] = old
    return new


@starting_emission.register(FullGaussian)
def _(emission, points, previous, labels, rng):
    x = np.zeros(n_emitted(emission))
    means, matrices = full_parts(emission, x)
    known = ~np.isnan(points).any(axis=1)
    if known.sum() < 2:  # no point is complete: start without correlations
        points, labels = np.nan_to_num(points, nan=0.0), labels
        known = np.ones(len(points), bool)
    points, labels = points[known], labels[known]
    total = np.cov(points.T, bias=True).reshape(points.shape[1], -1)
    for k in range(emission.n_states):
        group = points[labels == k]
        group = group if len(group) > points.shape[1] else points
        means[k] = group.mean(axis=0)
        if not emission.tied:
            own = np.cov(group.T, bias=True).reshape(total.shape)
            matrices[k] = (1 - SHRINK) * own + SHRINK * np.diag(np.diag(total))
    if emission.tied:
        away = points - means[labels]
        own = away.T @ away / len(points)
        matrices[0] = (1 - SHRINK) * own + SHRINK * np.diag(np.diag(total))
    return x


@draw_emissions.register(FullGaussian)
def _(emission, x, states, past, rng):
    means, matrices = full_parts(emission, x)
    roots = np.linalg.cholesky(matrices)
    which = np.zeros_like(states) if emission.tied else states
    z = rng.standard_normal((len(states), emission.mean.size))
    return means[states] + np.einsum("tij,tj->ti", roots[which], z)


@relabeled.register(FullGaussian)
def _(emission, x, order):
    (means, matrices), shape = full_parts(emission, x), x.shape[:-1]
    means = np.take(means, order, axis=len(shape))
    if not emission.tied:
        matrices = np.take(matrices, order, axis=len(shape))
    return np.concatenate(
        [part.reshape(*shape, -1) for part in (means, matrices)], axis=-1
    )


@state_order.register(FullGaussian)
def _(emission, x):
    return np.argsort(full_parts(emission, x)[0][:, 0], kind="stable")
