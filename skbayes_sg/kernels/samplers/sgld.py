"""Stochastic gradient Langevin dynamics (Welling & Teh, 2011).

    phi <- phi + h/2 g + sqrt(h) xi,    xi ~ N(0, I),    g ~ grad log p(phi | data)

With the full gradient this is the unadjusted Langevin algorithm (ULA).
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    init_state,
    relaxation,
    sees_model,
    stable_step,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at, noise_sd


class SGLD(NamedTuple):
    """Euler steps of the overdamped Langevin diffusion."""


class LangevinState(NamedTuple):
    """Position and buffers."""

    position: np.ndarray  # (d,) phi
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)


@sees_model.register(SGLD)
def _(sampler):
    return False


@init_state.register(SGLD)
def _(sampler, position, rng):
    return LangevinState(
        position.copy(), np.zeros_like(position), np.zeros_like(position)
    )


@step.register(SGLD)
def _(sampler, state, target, h, rng):
    phi, g, xi = state.position, state.g, state.xi
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    for j in range(phi.size):
        phi[j] += 0.5 * h * g[j] + noise_sd(target, j, h, 0.5 * h) * xi[j]


@stable_step.register(SGLD)
def _(sampler):
    return 4.0


@accurate_step.register(SGLD)
def _(sampler, noise, tolerance):
    # Stationary variance (1 + h V / 4) / (1 - h / 4) = 1 + tolerance.
    return min(1.0, 4.0 * tolerance / (1.0 + tolerance + np.max(noise)))


@relaxation.register(SGLD)
def _(sampler, h):
    # The lag-one autocorrelation is 1 - h/2, limited to the range of stable chains.
    rate = min(max(abs(1.0 - 0.5 * h), math.exp(-1.0)), 1.0 - 1e-12)
    return -1.0 / math.log(rate)
