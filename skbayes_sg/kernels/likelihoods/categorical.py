"""K classes: log f = eta_y - log sum_k e^eta_k, y in {0, ..., K - 1}."""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.likelihoods.protocol import (
    curvature,
    curvature_factor,
    curvature_slope,
    log_density,
    score,
)

LEAST = -41.0  # log of the smallest share that counts


class Categorical(NamedTuple):
    """Categorical law: one output per class."""


@score.register(Categorical)
def _(likelihood, eta, y, noise, out):
    # As `normalizer` and `share` do, with one exponential per class.
    for b in range(y.shape[1]):
        top = eta[0, b]
        for k in range(1, eta.shape[0]):
            top = max(top, eta[k, b])
        total = 0.0
        for k in range(eta.shape[0]):
            away = eta[k, b] - top
            size = math.exp(away)
            total += size
            out[k, b] = 0.0 if away < LEAST else size
        for k in range(eta.shape[0]):
            out[k, b] /= -total
        out[int(y[0, b]), b] += 1.0


@log_density.register(Categorical)
def _(likelihood, eta, y, noise, out):
    for b in range(y.shape[1]):
        top, total = normalizer(eta, b)
        out[b] = eta[int(y[0, b]), b] - top - math.log(total)


@curvature.register(Categorical)
def _(likelihood, eta, k, m, noise, out):
    for b in range(out.size):
        top, total = normalizer(eta, b)
        p_k, p_m = share(eta[k, b] - top, total), share(eta[m, b] - top, total)
        out[b] = p_k * (int(k == m) - p_m)


@curvature_slope.register(Categorical)
def _(likelihood, eta, k, m, n, noise, out):
    # w_km = p_k (delta_km - p_m) and d p_k / d eta_n = p_k (delta_kn - p_n).
    for b in range(out.size):
        top, total = normalizer(eta, b)
        p_k, p_m = share(eta[k, b] - top, total), share(eta[m, b] - top, total)
        p_n = share(eta[n, b] - top, total)
        first = p_k * (int(k == n) - p_n) * (int(k == m) - p_m)
        out[b] = first - p_k * p_m * (int(m == n) - p_n)


@curvature_factor.register(Categorical)
def _(likelihood, eta, k, noise, out):
    # diag(p) - p p' = sum_k p_k (e_k - p) (e_k - p)'
    for b in range(out.shape[1]):
        top, total = normalizer(eta, b)
        root = math.sqrt(share(eta[k, b] - top, total))
        for m in range(eta.shape[0]):
            out[m, b] = -root * share(eta[m, b] - top, total)
        out[k, b] += root


@helper
def normalizer(eta, b):
    """Return the largest eta of column b, and the sum of exp(eta - largest)."""
    top = eta[0, b]
    for k in range(1, eta.shape[0]):
        top = max(top, eta[k, b])
    total = 0.0
    for k in range(eta.shape[0]):
        total += math.exp(eta[k, b] - top)
    return top, total


@helper
def share(away, total):
    """Return exp(away) / total; shares below 1e-18 are zero.

    Numbers too small to be normal would come of them, with which processors are slow.
    """
    return 0.0 if away < LEAST else math.exp(away) / total
