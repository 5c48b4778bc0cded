"""SGLD with the averaged noise of Leimkuhler & Matthews (2013).

    phi <- phi + h/2 g + sqrt(h) (xi_k + xi_{k+1}) / 2

Each noise vector is used in two steps. The stationary distribution of phi is then exact
to second order in h, and exact for a Gaussian posterior with exact gradients, at the
same cost as SGLD.
"""

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
from skbayes_sg.kernels.samplers.sgld import SGLD


class LeimkuhlerMatthews(NamedTuple):
    """Second-order steps of the overdamped Langevin diffusion."""


class AveragedNoiseState(NamedTuple):
    """Position, buffers and the noise that the next step shares with the last one."""

    position: np.ndarray  # (d,) phi
    g: np.ndarray  # (d,)
    old: np.ndarray  # (d,) xi_k
    new: np.ndarray  # (d,) xi_{k+1}


@sees_model.register(LeimkuhlerMatthews)
def _(sampler):
    return False


@init_state.register(LeimkuhlerMatthews)
def _(sampler, position, rng):
    xi = rng.standard_normal(position.size).astype(position.dtype)
    return AveragedNoiseState(
        position.copy(), np.zeros_like(position), xi, np.zeros_like(position)
    )


@step.register(LeimkuhlerMatthews)
def _(sampler, state, target, h, rng):
    phi, g, old, new = state.position, state.g, state.old, state.new
    gradient_at(target, phi, rng, g)
    fill_normals(rng, new)
    for j in range(phi.size):
        sd = noise_sd(target, j, h, 0.5 * h)
        phi[j] += 0.5 * h * g[j] + 0.5 * sd * (old[j] + new[j])
        old[j] = new[j]


@stable_step.register(LeimkuhlerMatthews)
def _(sampler):
    return 4.0


@accurate_step.register(LeimkuhlerMatthews)
def _(sampler, noise, tolerance):
    # Only gradient noise changes the variance of a Gaussian: h V / (4 - h) = tolerance.
    return min(1.0, 4.0 * tolerance / (tolerance + np.max(noise)))


@relaxation.register(LeimkuhlerMatthews)
def _(sampler, h):
    return relaxation(SGLD(), h)
