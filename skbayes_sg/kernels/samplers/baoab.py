"""BAOAB, a splitting of underdamped Langevin (Leimkuhler & Matthews, 2013).

    B  rho <- rho + h/2 g(phi)
    A  phi <- phi + h/4 rho
    O  rho <- c rho + sqrt(1 - c^2) xi,    c = exp(-C h/2),    rho ~ N(0, I)
    A  phi <- phi + h/4 rho

The two half kicks before and after a recorded position have the same gradient and are
made as one. The stationary distribution is exact for a Gaussian posterior with exact
gradients, and of second order otherwise, at the cost of one gradient per iteration.
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
    relaxation,
    sees_model,
    stable_step,
    step,
    with_friction,
)
from skbayes_sg.kernels.protocol.target import gradient_at, noise_sd
from skbayes_sg.kernels.samplers.momentum import (
    decay_time,
    init_momentum,
    largest_step,
)


class BAOAB(NamedTuple):
    """Second-order steps of the underdamped Langevin diffusion."""

    friction: float = 1.0  # C


@sees_model.register(BAOAB)
def _(sampler):
    return False


@init_state.register(BAOAB)
def _(sampler, position, rng):
    return init_momentum(position, rng)


@step.register(BAOAB)
def _(sampler, state, target, h, rng):
    phi, rho, g, xi = state.position, state.momentum, state.g, state.xi
    number = phi.dtype.type  # single precision throughout is twice as fast
    c = math.exp(-0.5 * sampler.friction * h)
    variance, eps, damp = number(1.0 - c * c), number(0.5 * h), number(c)
    half = number(0.25 * h)
    # A kick moves phi both before and after damping, by (1 + c) / 2 of itself.
    kick = number(0.25 * (1.0 + c) * h)
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    for j in range(phi.size):
        rho[j] += eps * g[j]
        phi[j] += half * rho[j]
        sd = number(noise_sd(target, j, variance, kick))
        rho[j] = damp * rho[j] + sd * xi[j]
        phi[j] += half * rho[j]


@stable_step.register(BAOAB)
def _(sampler):
    return 4.0


@accurate_step.register(BAOAB)
def _(sampler, noise, tolerance):
    def error(h):  # of the stationary variance, all of it from gradient noise V
        return np.max(noise) * kick_variance(0.5 * h, sampler.friction)

    return largest_step(error, tolerance, 2.0)


def kick_variance(eps, friction):
    """Return what gradient noise of variance 1 adds to the variance of phi."""
    return eps**2 / (4.0 - eps**2) / math.tanh(0.5 * friction * eps)


@curvature_exponent.register(BAOAB)
def _(sampler):
    return 0.5


@relaxation.register(BAOAB)
def _(sampler, h):
    eps = 0.5 * h
    kick = np.array([[1.0, 0.0], [-eps, 1.0]])
    drift = np.array([[1.0, 0.5 * eps], [0.0, 1.0]])
    damp = np.diag([1.0, math.exp(-sampler.friction * eps)])
    return decay_time(drift @ damp @ drift @ kick)


@friction_of.register(BAOAB)
def _(sampler):
    return sampler.friction


@with_friction.register(BAOAB)
def _(sampler, friction):
    return sampler._replace(friction=friction)
