"""Stochastic gradient Riemannian Hamiltonian Monte Carlo (Ma, Chen & Fox, 2015).

    rho <- rho + h/2 (G^-1/2 g - C G^-1 rho + Gamma) + sqrt(h C) N(0, G^-1)
    phi <- phi + h/2 G^-1/2 rho,    rho ~ N(0, I)

G(phi) is the model's diagonal metric and Gamma_j = d_j G_jj^-1/2. Use a diagonal
preconditioner, since the friction C G^-1 is best in coordinates in which G is about 1.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    check_parts,
    curvature_exponent,
    friction_of,
    init_state,
    preconditioner_of,
    relaxation,
    stable_step,
    step,
    with_friction,
)
from skbayes_sg.kernels.protocol.target import gradient_at, noise_sd
from skbayes_sg.kernels.samplers.momentum import init_momentum
from skbayes_sg.kernels.samplers.sghmc import SGHMC
from skbayes_sg.kernels.samplers.sgrld import (
    check_diagonal_metric,
    diagonal_metric_here,
)


class SGRHMC(NamedTuple):
    """SGHMC in units of the local curvature of each coordinate.

    The curvature is estimated from `n_metric_rows` rows, evenly spread over the data.
    """

    friction: float = 1.0  # C
    n_metric_rows: int = 100


class MetricMomentumState(NamedTuple):
    """Position, momentum, metric and buffers."""

    position: np.ndarray  # (d,) phi
    momentum: np.ndarray  # (d,) rho
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)
    metric: np.ndarray  # (d,) G_jj
    slope: np.ndarray  # (d,) d_j G_jj
    idx: np.ndarray  # (n_metric_rows,)


@init_state.register(SGRHMC)
def _(sampler, position, rng):
    metric, slope = np.zeros_like(position), np.zeros_like(position)
    idx = np.zeros(sampler.n_metric_rows, INDEX)
    return MetricMomentumState(*init_momentum(position, rng), metric, slope, idx)


@step.register(SGRHMC)
def _(sampler, state, target, h, rng):
    phi, rho, g, xi = state.position, state.momentum, state.g, state.xi
    eps, friction = 0.5 * h, sampler.friction
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    diagonal_metric_here(target, state)
    for j in range(phi.size):
        inverse = 1.0 / state.metric[j]
        root = math.sqrt(inverse)
        gamma = -0.5 * inverse * root * state.slope[j]
        sd = noise_sd(target, j, h * friction * inverse, eps * root)
        force = root * g[j] - friction * inverse * rho[j] + gamma
        rho[j] += eps * force + sd * xi[j]
        phi[j] += eps * root * rho[j]


@check_parts.register(SGRHMC)
def _(sampler, model, gradient, coordinates):
    check_diagonal_metric(sampler, model, coordinates)


@preconditioner_of.register(SGRHMC)
def _(sampler):
    return "diagonal"


@stable_step.register(SGRHMC)
def _(sampler):
    return stable_step(SGHMC(sampler.friction))


@accurate_step.register(SGRHMC)
def _(sampler, noise, tolerance):
    return accurate_step(SGHMC(sampler.friction, 1), noise, tolerance)


@curvature_exponent.register(SGRHMC)
def _(sampler):
    return 0.5


@relaxation.register(SGRHMC)
def _(sampler, h):
    return relaxation(SGHMC(sampler.friction, 1), h)


@friction_of.register(SGRHMC)
def _(sampler):
    return sampler.friction


@with_friction.register(SGRHMC)
def _(sampler, friction):
    return sampler._replace(friction=friction)
