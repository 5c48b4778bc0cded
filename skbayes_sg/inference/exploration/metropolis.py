"""Metropolis-adjusted trajectories, where Langevin steps would have to be tiny.

A posterior of few rows may be many times steeper in some places than in most others, as
that of separable classes. Steps that are stable at the steepest places forget slowly.
A Hamiltonian chain with exact gradients rejects the few proposals that fail there, has
no bias, and moves far with each trajectory.
"""

import math

from skbayes_sg.inference.exploration.pilot import TURN
from skbayes_sg.inference.exploration.unimodal import relaxation_time
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.protocol.gradient import is_exact
from skbayes_sg.kernels.protocol.model import refresh
from skbayes_sg.kernels.samplers import HMC

MAX_LEAPFROG = 64
FIRST_RETRY = 4.0  # over the share of the first retry, which has the pilot's own step
CHEAPER = 2.0  # times fewer gradients, from which on trajectories are chosen


def may_replace(model, request):
    """Whether users leave the choice of an exact sampler open, if one is possible."""
    settings = request.settings
    asked = request.is_default and settings.step_size == "auto"
    plain = settings.schedule == "constant" and not settings.noise_correction
    return asked and plain and request.total is None and not implements(refresh, model)


def may_adjust(model, request, region, typical, gradient):
    """Whether the sampler of an exploration may be replaced by trajectories."""
    known = typical.is_exact and region.preconditioner == "dense"
    return known and is_exact(gradient) and may_replace(model, request)


def adjusted(request, region, typical, step_size):
    """Return the sampler that takes fewer gradients per draw, and its step size.

    After a divergence, or draws that were found to be wrong, it is the exact one.
    """
    sampler = request.sampler
    h = min(1.0, FIRST_RETRY * request.share) * typical.leapfrog**2
    exact = HMC(min(MAX_LEAPFROG, math.ceil(TURN / math.sqrt(h))))
    # The density at the end of a trajectory costs about as much as a gradient.
    gradients = 0.5 * (exact.n_leapfrog + 1) + 1.0
    cost = gradients * relaxation_time(exact, region, h)
    is_cheaper = CHEAPER * cost < relaxation_time(sampler, region, step_size)
    return (exact, h) if request.share < 1.0 or is_cheaper else (sampler, step_size)
