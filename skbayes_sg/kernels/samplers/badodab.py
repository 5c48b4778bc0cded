"""BADODAB, the splitting of the Nose-Hoover thermostat (Leimkuhler & Shang, 2016).

    B  rho <- rho + h/2 g(phi)
    A  phi <- phi + h/4 rho
    D  eta <- eta + h/4 (rho' rho / d - 1)
    O  rho <- c rho + sqrt(A (1 - c^2) / eta) xi,    c = exp(-eta h/2)
    D, A again

It is of second order in h, and absorbs gradient noise as `SGNHT` does. The two half
kicks before and after a recorded position have the same gradient and are made as one.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    curvature_exponent,
    friction_of,
    init_state,
    least_friction,
    relaxation,
    sampler_stats,
    sees_model,
    stable_step,
    step,
    with_friction,
    with_noise_absorbed,
)
from skbayes_sg.kernels.protocol.target import gradient_at, noise_sd
from skbayes_sg.kernels.samplers.baoab import BAOAB, kick_variance
from skbayes_sg.kernels.samplers.sgnht import (
    init_thermostat,
    thermostat_friction,
    thermostat_step,
)


class BADODAB(NamedTuple):
    """Second-order steps of the Nose-Hoover-Langevin diffusion."""

    diffusion: float = 1.0  # A


@sees_model.register(BADODAB)
def _(sampler):
    return False


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
    return 4.0 if math.isfinite(sampler.diffusion) else 0.0


@accurate_step.register(BADODAB)
def _(sampler, noise, tolerance):
    # The stationary distribution of BAOAB with friction eta at temperature A / eta.
    def variance(h, mean, here):
        eta = _friction(sampler, h, mean)
        if math.isinf(eta):
            return math.inf
        return sampler.diffusion / eta + here * kick_variance(0.5 * h, eta)

    return thermostat_step(variance, noise, tolerance, 2.0)


@with_noise_absorbed.register(BADODAB)
def _(sampler, h, noise):
    return BADODAB(_friction(sampler, h, noise))


def _friction(sampler, h, noise):
    """Return the mean thermostat, for equal gradient noise V in all coordinates.

    Before the friction acts, the momentum has variance 1 + delta, and afterwards
    1 - delta = exp(-2 eps eta) (1 + delta) + A (1 - exp(-2 eps eta)) / eta, where
    delta = 2 eps^2 V / (4 - eps^2). Hence A / eta + delta coth(eps eta) = 1, which is
    solved by Newton's method from below.
    """
    eps = 0.5 * h
    if eps**2 * (1.0 + 2.0 * noise) >= 4.0:  # delta >= 1
        return math.inf
    delta = 2.0 * eps**2 * noise / (4.0 - eps**2)
    eta = sampler.diffusion + 0.5 * eps * noise
    for _ in range(50):
        coth = 1.0 / math.tanh(eps * eta)
        excess = sampler.diffusion / eta + delta * coth - 1.0
        slope = sampler.diffusion / eta**2 + delta * eps * (coth**2 - 1.0)
        if excess < 1e-9:
            break
        eta += excess / slope
    return eta


@curvature_exponent.register(BADODAB)
def _(sampler):
    return 0.5


@relaxation.register(BADODAB)
def _(sampler, h):
    return relaxation(BAOAB(sampler.diffusion), h)


@friction_of.register(BADODAB)
def _(sampler):
    return sampler.diffusion


@least_friction.register(BADODAB)
def _(sampler, d):
    return thermostat_friction(d)


@with_friction.register(BADODAB)
def _(sampler, friction):
    return sampler._replace(diffusion=friction)
