"""SGLD with the averaged noise of Leimkuhler & Matthews (2013).

    phi <- phi + h/2 g + sqrt(h) (xi_k + xi_{k+1}) / 2

Each noise vector is used in two steps. The law of phi is then exact to second order in
h, and exact for a Gaussian posterior with exact gradients, at the cost of SGLD.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.ops import (
    accurate_step,
    gradient_at,
    init_state,
    noise_sd,
    relaxation,
    stable_step,
    step,
)


class LeimkuhlerMatthews(NamedTuple):
    """Second-order steps of the overdamped Langevin diffusion."""


class AveragedNoiseState(NamedTuple):
    """Position, gradient and the noise that the next step shares with the last one."""

    position: np.ndarray  # (d,) phi
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,) xi_k


@init_state.register(LeimkuhlerMatthews)
def _(sampler, position, rng):
    xi = rng.standard_normal(position.size).astype(position.dtype)
    return AveragedNoiseState(position.copy(), np.zeros_like(position), xi)


@step.register(LeimkuhlerMatthews)
def _(sampler, state, target, h, rng):
    phi, g, xi = state.position, state.g, state.xi
    gradient_at(target, phi, rng, g)
    for j in range(phi.size):
        new = rng.standard_normal()
        phi[j] += 0.5 * (h * g[j] + noise_sd(target, j, h, 0.5 * h) * (xi[j] + new))
        xi[j] = new


@stable_step.register(LeimkuhlerMatthews)
def _(sampler):
    return 4.0


@accurate_step.register(LeimkuhlerMatthews)
def _(sampler, noise, tolerance):
    # Only gradient noise moves the variance of a Gaussian: h V / (4 - h) = tolerance.
    return min(1.0, 4.0 * tolerance / (tolerance + noise))


@relaxation.register(LeimkuhlerMatthews)
def _(sampler, h):
    return -1.0 / math.log(max(abs(1.0 - 0.5 * h), math.exp(-1.0)))
