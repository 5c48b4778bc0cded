"""Stochastic gradient Nose-Hoover thermostat (Ding et al., 2014).

    rho <- rho + h/2 (g(phi) - eta rho) + sqrt(h A) xi,    rho ~ N(0, I)
    phi <- phi + h/2 rho
    eta <- eta + h/2 (rho' rho / d - 1)

The friction eta adapts until the momentum has variance 1, and so absorbs gradient noise
of unknown variance. The energy is H = U + rho' rho / 2 + d (eta - A)^2 / 2. Its factor
is d, not 1 / d as in some texts, because of the division by d in the update of eta.
"""

import math
from typing import NamedTuple

import numpy as np

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
from skbayes_sg.kernels.samplers.momentum import (
    decay_time,
    init_momentum,
    largest_step,
)


class SGNHT(NamedTuple):
    """Euler steps of the Nose-Hoover-Langevin diffusion.

    For curvature 1, the error of a variance is proportional to A h, and the
    autocorrelation time of squares to (1 + A^2) / (A h). Values around 1/2 are best.
    """

    diffusion: float = 0.5  # A


class ThermostatState(NamedTuple):
    """Position, momentum, thermostat and buffers."""

    position: np.ndarray  # (d,) phi
    momentum: np.ndarray  # (d,) rho
    thermostat: np.ndarray  # (1,) eta
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)


def init_thermostat(sampler, position, rng):
    """Return a state whose thermostat has its mean value for exact gradients."""
    phi, rho, g, xi = init_momentum(position, rng)
    return ThermostatState(phi, rho, np.array([float(sampler.diffusion)]), g, xi)


@sees_model.register(SGNHT)
def _(sampler):
    return False


@init_state.register(SGNHT)
def _(sampler, position, rng):
    return init_thermostat(sampler, position, rng)


@step.register(SGNHT)
def _(sampler, state, target, h, rng):
    phi, rho, g, xi = state.position, state.momentum, state.g, state.xi
    eps, eta = 0.5 * h, state.thermostat[0]
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    energy = 0.0
    for j in range(phi.size):
        sd = noise_sd(target, j, h * sampler.diffusion, eps)
        rho[j] += eps * (g[j] - eta * rho[j]) + sd * xi[j]
        phi[j] += eps * rho[j]
        energy += rho[j] * rho[j]
    state.thermostat[0] = eta + eps * (energy / phi.size - 1.0)


@sampler_stats.register(SGNHT)
def _(sampler, state):
    return {"thermostat": float(state.thermostat[0])}


def thermostat_step(variance, noise, tolerance, most):
    """Return the largest step with errors of variance(h, mean V, V) within `tolerance`.

    All coordinates share one thermostat, which absorbs their mean noise. If `noise` is
    a single number, two cases are considered: only one coordinate has noise, or only
    one has none.
    """
    cases = [(0.0, noise), (noise, 0.0)]
    if np.ndim(noise) > 0:
        cases = [(np.mean(noise), here) for here in (np.max(noise), np.min(noise))]

    def error(h):
        return max(abs(variance(h, *case) - 1.0) for case in cases)

    return largest_step(error, tolerance, most)


def _friction(sampler, h, noise):
    """Return the mean thermostat, for equal gradient noise V in all coordinates.

    The momentum has variance 1 if eta (2 - eps eta - eps^2 / 2) = 2 A + eps V.
    """
    eps = 0.5 * h
    half = 1.0 - 0.25 * eps**2
    inside = half**2 - eps * (2.0 * sampler.diffusion + eps * noise)
    return (half - math.sqrt(inside)) / eps if inside > 0.0 else math.inf


@stable_step.register(SGNHT)
def _(sampler):
    # With larger steps no friction gives the momentum variance 1.
    return largest_step(lambda h: float(np.isinf(_friction(sampler, h, 0.0))), 0.5, 4.0)


@accurate_step.register(SGNHT)
def _(sampler, noise, tolerance):
    # The variance is 1 - eps eta / 2 in coordinates with the mean noise, and
    # proportionally larger in coordinates with more noise.
    def variance(h, mean, here):
        eps = 0.5 * h
        ratio = (2 * sampler.diffusion + eps * here) / (
            2 * sampler.diffusion + eps * mean
        )
        return (1.0 - 0.5 * eps * _friction(sampler, h, mean)) * ratio

    return thermostat_step(variance, noise, tolerance, 0.5 * stable_step(sampler))


@with_noise_absorbed.register(SGNHT)
def _(sampler, h, noise):
    return SGNHT(sampler.diffusion + 0.25 * h * noise)


@curvature_exponent.register(SGNHT)
def _(sampler):
    return 0.5


@relaxation.register(SGNHT)
def _(sampler, h):
    eps, eta = 0.5 * h, min(_friction(sampler, h, 0.0), 2.0 / h)
    return decay_time(np.array([[1.0, eps], [-eps, 1.0 - eps * eta - eps**2]]))


@friction_of.register(SGNHT)
def _(sampler):
    return sampler.diffusion


def thermostat_friction(d):
    """Return the swing 1 / sqrt(d) of the thermostat around A.

    With less noise than that, thermostat and momentum turn in circles: the chain keeps
    an energy of its own for long, and its variances are too small.
    """
    return 1.0 / math.sqrt(d)


@least_friction.register(SGNHT)
def _(sampler, d):
    return thermostat_friction(d)


@with_friction.register(SGNHT)
def _(sampler, friction):
    return sampler._replace(diffusion=friction)
