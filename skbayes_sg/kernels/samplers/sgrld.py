"""Stochastic gradient Riemannian Langevin dynamics (Patterson & Teh, 2013).

    phi <- phi + h/2 (G^-1 g + Gamma) + sqrt(h) N(0, G^-1)
    Gamma_i = sum_j d_j G^-1_ij

G(phi) is the model's metric, here a diagonal one: Gamma_j = -G_jj^-2 d_j G_jj.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.metrics import metric_diagonal, pull_back_diagonal
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.model import n_rows
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    check_parts,
    init_state,
    preconditioner_of,
    relaxation,
    stable_step,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at, noise_sd
from skbayes_sg.kernels.samplers.sgld import SGLD


class SGRLD(NamedTuple):
    """SGLD in units of the local curvature of each coordinate.

    The curvature is estimated from `n_metric_rows` rows, evenly spread over the data.
    """

    n_metric_rows: int = 100


class DiagonalMetricState(NamedTuple):
    """Position, metric and buffers."""

    position: np.ndarray  # (d,) phi
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)
    metric: np.ndarray  # (d,) G_jj
    slope: np.ndarray  # (d,) d_j G_jj
    idx: np.ndarray  # (n_metric_rows,)


@init_state.register(SGRLD)
def _(sampler, position, rng):
    zeros = [np.zeros_like(position) for _ in range(4)]
    idx = np.zeros(sampler.n_metric_rows, INDEX)
    return DiagonalMetricState(position.copy(), *zeros, idx)


@step.register(SGRLD)
def _(sampler, state, target, h, rng):
    phi, g, xi = state.position, state.g, state.xi
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    diagonal_metric_here(target, state)
    for j in range(phi.size):
        inverse = 1.0 / state.metric[j]
        gamma = -inverse * inverse * state.slope[j]
        sd = noise_sd(target, j, h * inverse, 0.5 * h * inverse)
        phi[j] += 0.5 * h * (inverse * g[j] + gamma) + sd * xi[j]


@helper
def diagonal_metric_here(target, state):
    """Write metric and slope at the point of the last gradient to the state."""
    idx = spread_rows(state.idx, n_rows(target.model))
    metric_diagonal(
        target.model, target.work, target.theta, idx, state.metric, state.slope
    )
    pull_back_diagonal(target.coordinates, state.metric, state.slope)


@helper
def spread_rows(idx, n):
    """Return evenly spaced rows out of n in the buffer `idx`, or all if they fit."""
    m = min(idx.size, n)
    for k in range(m):
        idx[k] = k * n // m
    return idx[:m]


@check_parts.register(SGRLD)
def _(sampler, model, gradient, coordinates):
    check_diagonal_metric(sampler, model, coordinates)


def check_diagonal_metric(sampler, model, coordinates):
    """Raise an error unless model and coordinates support a diagonal metric."""
    name = type(sampler).__name__
    if not implements(metric_diagonal, model):
        raise ValueError(
            f"{name} needs a model that implements metric_diagonal(); "
            f"{type(model).__name__} does not"
        )
    if not implements(pull_back_diagonal, coordinates):
        raise ValueError(
            f"{name} uses a diagonal metric, so its preconditioner must be "
            f'"diagonal" or "none", not {type(coordinates).__name__}'
        )


@preconditioner_of.register(SGRLD)
def _(sampler):
    return "diagonal"


@stable_step.register(SGRLD)
def _(sampler):
    return stable_step(SGLD())


@accurate_step.register(SGRLD)
def _(sampler, noise, tolerance):
    return accurate_step(SGLD(), noise, tolerance)


@relaxation.register(SGRLD)
def _(sampler, h):
    return relaxation(SGLD(), h)
