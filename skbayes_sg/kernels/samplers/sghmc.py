"""Stochastic gradient Hamiltonian Monte Carlo (Chen, Fox & Guestrin, 2014).

    L times:  phi <- phi + h/2 rho
              rho <- rho + h/2 (g(phi) - C rho) + sqrt(h C) xi,    rho ~ N(0, I)

Each of the L steps uses a new gradient estimate. The friction C removes energy at the
same rate at which the noise adds it. The learning rate eta and the momentum decay alpha
of the original paper are eta = h^2 / 4 and alpha = C h / 2.
"""

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
    position_variance,
)


class SGHMC(NamedTuple):
    """Euler steps of the underdamped Langevin diffusion, `n_leapfrog` per iteration.

    For curvature 1, the autocorrelation decays fastest with friction 1. With `resample`
    a new momentum is drawn at the start of each iteration.
    """

    friction: float = 1.0  # C
    n_leapfrog: int = 5  # L
    resample: bool = False


@sees_model.register(SGHMC)
def _(sampler):
    return False


@init_state.register(SGHMC)
def _(sampler, position, rng):
    return init_momentum(position, rng)


@step.register(SGHMC)
def _(sampler, state, target, h, rng):
    phi, rho, g, xi = state.position, state.momentum, state.g, state.xi
    eps, friction = 0.5 * h, sampler.friction
    if sampler.resample:
        fill_normals(rng, rho)
    for _ in range(sampler.n_leapfrog):
        for j in range(phi.size):
            phi[j] += eps * rho[j]
        gradient_at(target, phi, rng, g)
        fill_normals(rng, xi)
        for j in range(phi.size):
            sd = noise_sd(target, j, h * friction, eps)
            rho[j] += eps * (g[j] - friction * rho[j]) + sd * xi[j]


@stable_step.register(SGHMC)
def _(sampler):
    # The map is stable if its trace is larger than minus one minus its determinant.
    return 2.0 * (np.sqrt(sampler.friction**2 + 4.0) - sampler.friction)


@accurate_step.register(SGHMC)
def _(sampler, noise, tolerance):
    highest = np.max(noise)

    def error(h):
        return abs(position_variance(*_transition(sampler, h, highest)) - 1.0)

    return largest_step(error, tolerance, 0.5 * stable_step(sampler))


@curvature_exponent.register(SGHMC)
def _(sampler):
    return 0.5


@relaxation.register(SGHMC)
def _(sampler, h):
    return decay_time(_transition(sampler, h, 0.0)[0])


def _transition(sampler, h, noise):
    """Return the map A and the noise covariance Q of an iteration for curvature 1."""
    eps, friction = 0.5 * h, sampler.friction
    a = np.array([[1.0, eps], [-eps, 1.0 - eps * friction - eps**2]])
    q = np.diag([0.0, h * friction + eps**2 * noise])
    total, spread = np.eye(2), np.zeros((2, 2))
    if sampler.resample:
        total, spread = np.diag([1.0, 0.0]), np.diag([0.0, 1.0])
    for _ in range(sampler.n_leapfrog):
        total, spread = a @ total, a @ spread @ a.T + q
    return total, spread


@friction_of.register(SGHMC)
def _(sampler):
    return sampler.friction


@with_friction.register(SGHMC)
def _(sampler, friction):
    return sampler._replace(friction=friction)
