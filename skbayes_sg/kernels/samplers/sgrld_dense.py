"""Stochastic gradient Riemannian Langevin dynamics with a dense metric.

    phi <- phi + h/2 (P g + Gamma) + sqrt(h) N(0, P),    P = G(phi)^-1 = F' F

As d_j P = -P (d_j G) P, Gamma = -P u with u_k = sum_jm (d_j G_km) P_mj. Hence

    phi <- phi + F' (h/2 F (g - u) + sqrt(h) xi),    G = R R',  F = R^-1.

A step costs d^3 operations in addition to the gradient.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.metrics import (
    metric,
    metric_divergence,
    pull_back_metric,
)
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.coordinates import pull_back, push_forward
from skbayes_sg.kernels.protocol.model import n_rows
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    check_parts,
    curvature_exponent,
    init_state,
    relaxation,
    stable_step,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at
from skbayes_sg.kernels.samplers.sgld import SGLD
from skbayes_sg.kernels.samplers.sgrld import spread_rows


class DenseSGRLD(NamedTuple):
    """SGLD in coordinates that are whitened by the local curvature.

    The curvature is estimated from `n_metric_rows` rows, evenly spread over the data.
    """

    n_metric_rows: int = 1000


class DenseMetricState(NamedTuple):
    """Position, metric and buffers."""

    position: np.ndarray  # (d,) phi
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)
    u: np.ndarray  # (d,)
    metric: np.ndarray  # (d, d) G, then R in its lower triangle
    factor: np.ndarray  # (d, d) F
    pushed: np.ndarray  # (d, d) F in the model's coordinates
    idx: np.ndarray  # (n_metric_rows,)


@init_state.register(DenseSGRLD)
def _(sampler, position, rng):
    d, dtype = position.size, position.dtype
    vectors = [np.zeros(d, dtype) for _ in range(3)]
    matrices = [np.zeros((d, d), dtype) for _ in range(3)]
    idx = np.zeros(sampler.n_metric_rows, INDEX)
    return DenseMetricState(position.copy(), *vectors, *matrices, idx)


@step.register(DenseSGRLD)
def _(sampler, state, target, h, rng):
    phi, g, xi, u, factor = state.position, state.g, state.xi, state.u, state.factor
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    idx = spread_rows(state.idx, n_rows(target.model))
    metric(target.model, target.work, target.theta, idx, state.metric)
    pull_back_metric(target.coordinates, state.metric)
    _cholesky(state.metric)
    _invert_lower(state.metric, factor)
    for c in range(phi.size):
        push_forward(target.coordinates, factor[c], state.pushed[c])
    metric_divergence(
        target.model, target.work, target.theta, idx, state.pushed, target.g
    )
    pull_back(target.coordinates, target.g, u)
    for c in range(phi.size):
        drift, noise = 0.0, 0.0
        for j in range(c + 1):
            drift += factor[c, j] * (g[j] - u[j])
            noise += factor[c, j] ** 2 * target.noise.removed[j]
        sd = math.sqrt(max(h - 0.25 * h * h * noise, 0.0))
        xi[c] = 0.5 * h * drift + sd * xi[c]
    for c in range(phi.size):
        for j in range(c + 1):
            phi[j] += factor[c, j] * xi[c]


@helper
def _cholesky(a):
    """Replace the lower triangle of `a` by R, where a = R R'."""
    for i in range(len(a)):
        for j in range(i + 1):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            # If `a` is not positive definite, this is NaN, which stops the chain.
            a[i, j] = np.sqrt(total) if i == j else total / a[j, j]


@helper
def _invert_lower(r, out):
    """Write the inverse of the lower triangle of `r` to that of `out`."""
    for i in range(len(r)):
        for j in range(i):
            total = 0.0
            for k in range(j, i):
                total -= r[i, k] * out[k, j]
            out[i, j] = total / r[i, i]
        out[i, i] = 1.0 / r[i, i]


@check_parts.register(DenseSGRLD)
def _(sampler, model, gradient, coordinates):
    if not implements(metric, model):
        raise ValueError(
            "DenseSGRLD needs a model that implements metric(); "
            f"{type(model).__name__} does not"
        )


@stable_step.register(DenseSGRLD)
def _(sampler):
    return stable_step(SGLD())


@accurate_step.register(DenseSGRLD)
def _(sampler, noise, tolerance):
    return accurate_step(SGLD(), noise, tolerance)


@curvature_exponent.register(DenseSGRLD)
def _(sampler):
    return 0.0  # the metric already accounts for the curvature


@relaxation.register(DenseSGRLD)
def _(sampler, h):
    return relaxation(SGLD(), h)
