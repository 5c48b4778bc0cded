"""BADODAB, the splitting of the Nose-Hoover thermostat (Leimkuhler & Shang, 2016).

    B  rho <- rho + h/2 g(phi)
    A  phi <- phi + h/4 rho
    D  eta <- eta + h/4 (rho' rho / d - 1)
    O  rho <- c rho + sqrt(A (1 - c^2) / eta) xi,    c = exp(-eta h/2)
    D, A again

Second order in h, and as the thermostat of `SGNHT` it absorbs gradient noise. The two
half kicks around a recorded position share its gradient: one whole kick here.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.normals import fill_normals
from skbayes_sg.kernels.ops import (
    accurate_step,
    curvature_exponent,
    gradient_at,
    helper,
    init_state,
    noise_sd,
    relaxation,
    sampler_stats,
    stable_step,
    step,
)
from skbayes_sg.kernels.samplers.baoab import BAOAB
from skbayes_sg.kernels.samplers.sgnht import init_thermostat


class BADODAB(NamedTuple):
    """Second-order steps of the Nose-Hoover-Langevin diffusion."""

    diffusion: float = 1.0  # A


@init_state.register(BADODAB)
def _(sampler, position, rng):
    return init_thermostat(sampler, position, rng)


@step.register(BADODAB)
def _(sampler, state, target, h, rng):
    phi, rho, g, xi = state.position, state.momentum, state.g, state.xi
    eps = 0.5 * h
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    for j in range(phi.size):
        rho[j] += eps * g[j]
        phi[j] += 0.5 * eps * rho[j]
    _adapt(state, eps)
    eta = state.thermostat[0]
    c = math.exp(-eta * eps)
    variance = sampler.diffusion * h  # the limit of no friction
    if abs(eta * eps) > 1e-8:
        variance = -sampler.diffusion * math.expm1(-eta * h) / eta
    for j in range(phi.size):
        sd = noise_sd(target, j, variance, 0.5 * (1.0 + c) * eps)
        rho[j] = c * rho[j] + sd * xi[j]
        phi[j] += 0.5 * eps * rho[j]
    _adapt(state, eps)


@helper
def _adapt(state, eps):
    energy = 0.0
    for j in range(state.momentum.size):
        energy += state.momentum[j] * state.momentum[j]
    state.thermostat[0] += 0.5 * eps * (energy / state.momentum.size - 1.0)


@sampler_stats.register(BADODAB)
def _(sampler, state):
    return {"thermostat": float(state.thermostat[0])}


@stable_step.register(BADODAB)
def _(sampler):
    return 4.0


@accurate_step.register(BADODAB)
def _(sampler, noise, tolerance):
    # Gradient noise alike in all coordinates would be absorbed almost wholly, but one
    # thermostat serves them all: as though it absorbed none.
    return accurate_step(BAOAB(sampler.diffusion), noise, tolerance)


@curvature_exponent.register(BADODAB)
def _(sampler):
    return 0.5


@relaxation.register(BADODAB)
def _(sampler, h):
    return relaxation(BAOAB(sampler.diffusion), h)
