"""Hamiltonian Monte Carlo (Duane et al., 1987), as an exact reference.

    rho ~ N(0, I),  then l leapfrog steps of size sqrt(h):
        rho <- rho + sqrt(h)/2 g(phi)
        phi <- phi + sqrt(h) rho
        rho <- rho + sqrt(h)/2 g(phi)
    accept with probability min(1, exp(H_before - H_after)),  H = U + rho' rho / 2

One leapfrog step moves by h/2 g and adds noise of variance h. The number of steps l is
uniform on 1, ..., L, so that not all trajectories are full periods in some direction.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data.minibatch import row_buffer
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.passes import log_density_at
from skbayes_sg.kernels.protocol.gradient import is_exact
from skbayes_sg.kernels.protocol.model import refresh
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    check_parts,
    init_state,
    relaxation,
    sampler_stats,
    stable_step,
    step,
    takes_estimates,
)
from skbayes_sg.kernels.protocol.target import gradient_at


class HMC(NamedTuple):
    """Metropolis-adjusted leapfrog trajectories of up to `n_leapfrog` steps."""

    n_leapfrog: int = 5  # L


class ExactState(NamedTuple):
    """Position, momentum, gradients at both ends of a trajectory, and counts."""

    position: np.ndarray  # (d,) phi
    momentum: np.ndarray  # (d,) rho
    g: np.ndarray  # (d,) gradient at phi
    log_density: np.ndarray  # (1,) at phi, NaN before the first step
    start: np.ndarray  # (d,) phi at the start of the trajectory
    g_start: np.ndarray  # (d,)
    counts: np.ndarray  # (2,) trajectories accepted, and all
    idx: np.ndarray  # buffer of row indices


def init_exact(position, rng):
    """Return a state of a Metropolis sampler."""
    d, dtype = position.size, position.dtype
    zeros = [np.zeros(d, dtype) for _ in range(4)]
    unknown, counts = np.full(1, np.nan), np.zeros(2)
    return ExactState(
        position.copy(), *zeros[:2], unknown, *zeros[2:], counts, row_buffer()
    )


@init_state.register(HMC)
def _(sampler, position, rng):
    return init_exact(position, rng)


@step.register(HMC)
def _(sampler, state, target, h, rng):
    trajectory(state, target, h, 1 + int(rng.random() * sampler.n_leapfrog), rng)


@helper
def trajectory(state, target, h, n_leapfrog, rng):
    """Propose the end of a leapfrog trajectory, and accept or reject it."""
    phi, rho, g = state.position, state.momentum, state.g
    if np.isnan(state.log_density[0]):
        gradient_at(target, phi, rng, g)
        state.log_density[0] = log_density_at(target, phi, state.idx)
    copy_to(phi, state.start)
    copy_to(g, state.g_start)
    fill_normals(rng, rho)
    before = state.log_density[0] - _kinetic(rho)
    eps = math.sqrt(h)
    for _ in range(n_leapfrog):
        for j in range(phi.size):
            rho[j] += 0.5 * eps * g[j]
            phi[j] += eps * rho[j]
        gradient_at(target, phi, rng, g)
        for j in range(phi.size):
            rho[j] += 0.5 * eps * g[j]
    log_density = log_density_at(target, phi, state.idx)
    state.counts[1] += 1.0
    # A NaN is rejected, since the comparison is False.
    if math.log(1.0 - rng.random()) < log_density - _kinetic(rho) - before:
        state.log_density[0] = log_density
        state.counts[0] += 1.0
    else:
        copy_to(state.start, phi)
        copy_to(state.g_start, g)


@helper
def _kinetic(rho):
    total = 0.0
    for j in range(rho.size):
        total += 0.5 * rho[j] * rho[j]
    return total


def acceptance(state):
    """Return the acceptance rate, as a dict of statistics."""
    return {"acceptance": float(state.counts[0] / max(state.counts[1], 1.0))}


def check_exact(sampler, model, gradient):
    """Raise an error if gradients are noisy or the density changes between steps."""
    name = type(sampler).__name__
    if not is_exact(gradient):
        raise ValueError(
            f"{name} accepts or rejects on the exact posterior, so it needs the exact "
            f'gradient: gradient="full", not {type(gradient).__name__}'
        )
    if implements(refresh, model):
        raise ValueError(
            f"{name} needs a posterior that stays the same between its steps, but "
            f"{type(model).__name__} draws hyperparameters there"
        )


@sampler_stats.register(HMC)
def _(sampler, state):
    return acceptance(state)


@check_parts.register(HMC)
def _(sampler, model, gradient, coordinates):
    check_exact(sampler, model, gradient)


@stable_step.register(HMC)
def _(sampler):
    return 4.0


@accurate_step.register(HMC)
def _(sampler, noise, tolerance):
    # There is no bias; the acceptance rate with 100 parameters is about two thirds.
    return 0.5


@relaxation.register(HMC)
def _(sampler, h):
    # l steps rotate phi by l times the angle whose cosine is 1 - h/2.
    angle = math.acos(max(1.0 - 0.5 * h, -1.0))
    turns = np.cos(angle * np.arange(1, sampler.n_leapfrog + 1))
    return -1.0 / math.log(max(abs(turns.mean()), math.exp(-1.0)))


@takes_estimates.register(HMC)
def _(sampler):
    return False
