"""Hamiltonian Monte Carlo that follows a Gaussian prior exactly (Beskos et al., 2011).

    theta ~ N(0, C) a priori,  v ~ N(0, C),  l steps with f = grad log p(y | theta):
        v <- v + eps/2 C f(theta)
        theta, v <- cos(eps) theta + sin(eps) v,  cos(eps) v - sin(eps) theta
        v <- v + eps/2 C f(theta)
    accept with probability min(1, exp(H_before - H_after)),
    H = -log p(y | theta) + (theta' C^-1 theta + v' C^-1 v) / 2,  eps = sqrt(h)

The rotation does not change the second part of H, and a kick by s C f changes it by
s f' (v_before + v_after) / 2, so that C^-1 is not needed. An angle of pi turns a
parameter that the data tell nothing about into its negative; l is uniform on
1, ..., L, so that with L eps = pi such parameters are uncorrelated on average.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.gaussian_prior import (
    add_prior_covariance,
    draw_from_prior,
    likelihood_force,
)
from skbayes_sg.kernels.data.minibatch import fill_rows, row_buffer
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.coordinates import is_identity
from skbayes_sg.kernels.protocol.model import log_likelihood, n_rows
from skbayes_sg.kernels.protocol.sampler import (
    check_parts,
    init_state,
    preconditioner_of,
    sampler_stats,
    step,
    takes_estimates,
)
from skbayes_sg.kernels.samplers.hmc import acceptance, check_exact


class SplitHMC(NamedTuple):
    """Metropolis-adjusted trajectories of up to `n_leapfrog` steps along the prior.

    It needs a model with the operations of `capabilities.gaussian_prior`.
    """

    n_leapfrog: int  # L


class SplitState(NamedTuple):
    """Position and velocity, and what a trajectory remembers."""

    position: np.ndarray  # (d,) theta
    velocity: np.ndarray  # (d,) v
    force: np.ndarray  # (d,) f(theta)
    start: np.ndarray  # (d,) theta at the start of the trajectory
    counts: np.ndarray  # (2,) sum of acceptance probabilities, and trajectories
    idx: np.ndarray  # buffer of row indices


@init_state.register(SplitHMC)
def _(sampler, position, rng):
    buffers = (np.zeros_like(position) for _ in range(3))
    return SplitState(position.copy(), *buffers, np.zeros(2), row_buffer())


@step.register(SplitHMC)
def _(sampler, state, target, h, rng):
    model, work, beta = target.model, target.work, target.inverse_temperature
    theta, v, f, eps = state.position, state.velocity, state.force, math.sqrt(h)
    copy_to(theta, state.start)
    draw_from_prior(model, work, rng, v)
    for j in range(v.size):
        v[j] /= math.sqrt(beta)
    before = _log_likelihood(model, work, theta, state.idx)
    likelihood_force(model, work, theta, f)
    gained = _kick(model, work, 0.5 * eps, f, v)
    n_leapfrog = 1 + int(rng.random() * sampler.n_leapfrog)
    for i in range(n_leapfrog):
        _rotate(theta, v, eps)
        likelihood_force(model, work, theta, f)
        size = eps if i + 1 < n_leapfrog else 0.5 * eps  # two halves between steps
        gained += _kick(model, work, size, f, v)
    change = _log_likelihood(model, work, theta, state.idx) - before - gained
    probability = 1.0 if change >= 0.0 else math.exp(beta * change)
    if math.isnan(probability):
        probability = 0.0
    state.counts[0] += probability
    state.counts[1] += 1.0
    if not rng.random() < probability:
        copy_to(state.start, theta)


@helper
def _kick(model, work, size, f, v):
    """Add size * C f to v; return the change of v' C^-1 v / 2."""
    before = _dot(f, v)
    add_prior_covariance(model, work, size, f, v)
    return 0.5 * size * (before + _dot(f, v))


@helper
def _dot(a, b):
    total = 0.0
    for j in range(a.size):
        total += a[j] * b[j]
    return total


@helper
def _rotate(theta, v, angle):
    c, s = math.cos(angle), math.sin(angle)
    for j in range(theta.size):
        theta[j], v[j] = c * theta[j] + s * v[j], c * v[j] - s * theta[j]


@helper
def _log_likelihood(model, work, theta, idx):
    value = 0.0
    for first in range(0, n_rows(model), idx.size):
        rows = fill_rows(idx, first, n_rows(model))
        value += log_likelihood(model, work, theta, rows)
    return value


@sampler_stats.register(SplitHMC)
def _(sampler, state):
    return acceptance(state)


@takes_estimates.register(SplitHMC)
def _(sampler):
    return False


@preconditioner_of.register(SplitHMC)
def _(sampler):
    return "none"


@check_parts.register(SplitHMC)
def _(sampler, model, gradient, coordinates):
    check_exact(sampler, model, gradient)
    if not (implements(likelihood_force, model) and is_identity(coordinates)):
        raise ValueError(
            "SplitHMC needs a model with a Gaussian prior in its own coordinates, such "
            f"as PredictorGLM, not {type(model).__name__}"
        )
