"""Metropolis-adjusted Langevin algorithm (Roberts & Tweedie, 1996), as a reference.

    phi' = phi + h/2 g(phi) + sqrt(h) xi,    accept with probability
    min(1, p(phi') q(phi | phi') / (p(phi) q(phi' | phi))),  q the proposal's density

The proposal is one leapfrog step of size sqrt(h) with momentum xi, and the ratio
follows from the energies at its ends.
"""

from typing import NamedTuple

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
from skbayes_sg.kernels.samplers.hmc import (
    acceptance,
    check_exact,
    init_exact,
    trajectory,
)
from skbayes_sg.kernels.samplers.sgld import SGLD


class MALA(NamedTuple):
    """Metropolis-adjusted steps of the overdamped Langevin diffusion."""


@init_state.register(MALA)
def _(sampler, position, rng):
    return init_exact(position, rng)


@step.register(MALA)
def _(sampler, state, target, h, rng):
    trajectory(state, target, h, 1, rng)


@sampler_stats.register(MALA)
def _(sampler, state):
    return acceptance(state)


@check_parts.register(MALA)
def _(sampler, model, gradient, coordinates):
    check_exact(sampler, model, gradient)


@stable_step.register(MALA)
def _(sampler):
    return 4.0


@accurate_step.register(MALA)
def _(sampler, noise, tolerance):
    # There is no bias; the acceptance rate with 100 parameters is about two thirds.
    return 0.5


@relaxation.register(MALA)
def _(sampler, h):
    return relaxation(SGLD(), h)


@takes_estimates.register(MALA)
def _(sampler):
    return False
