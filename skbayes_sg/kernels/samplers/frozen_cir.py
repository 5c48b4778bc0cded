"""Positive parameters by exact steps of a process that is frozen at the gradient.

Langevin in the metric 1 / theta has the drift (theta g + 1) / 2 = (b - c theta) / 2.
Over a step, b and c stay what they are at its start, and theta moves by the exact
transition of d theta = (b - c theta) / 2 dt + sqrt(theta) dW. Any split of theta g + 1
is right to first order in h. Here rates are at least c0 and shapes at least b0,

    b = max(A, b0),    c = c0 + max(b0 - A, 0) / theta,    A = theta g + 1 + c0 theta

so that a Gamma(b, rate c0) law with b >= b0 is exact at every h, and no step leads
below zero. With b0 and c0 of a Gamma prior, the likelihood's gains and losses are split
by their sign. Where counts are known, `frozen_counts` has the natural split.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.numerics.positive import cir_step
from skbayes_sg.kernels.protocol.sampler import (
    check_parts,
    init_state,
    preconditioner_of,
    relaxation,
    sees_model,
    stable_step,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at
from skbayes_sg.kernels.samplers.cir import check_positive, check_untouched
from skbayes_sg.kernels.samplers.sgld import SGLD

ROUNDING = 1e-12  # relative error of theta g


class FrozenCIR(NamedTuple):
    """Cox-Ingersoll-Ross steps for any gradient estimator.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Minibatch
    >>> from skbayes_sg.kernels.models import ExpandedDirichlet
    >>> from skbayes_sg.kernels.samplers import FrozenCIR
    >>> model = ExpandedDirichlet(np.array([0, 0, 0, 1, 1, 2]), np.full(3, 0.1))
    >>> options = {"step_size": 0.1, "start": np.ones(3), "random_state": 0}
    >>> sample(model, FrozenCIR(0.1, 1.0), Minibatch(3), **options).shape
    (1, 1000, 3)
    """

    shape: float  # b0, that of the prior
    rate: float = 1.0  # c0


@sees_model.register(FrozenCIR)
def _(sampler):
    return False


@init_state.register(FrozenCIR)
def _(sampler, position, rng):
    check_positive(position)
    return init_state(SGLD(), position, rng)


@step.register(FrozenCIR)
def _(sampler, state, target, h, rng):
    theta, g = state.position, state.g
    gradient_at(target, theta, rng, g)
    for j in range(theta.size):
        gain = theta[j] * g[j] + 1.0 + sampler.rate * theta[j]  # A
        rounding = ROUNDING * (1.0 + abs(theta[j] * g[j]))
        shape, rate = max(gain, sampler.shape), sampler.rate
        if gain < sampler.shape - rounding:  # over a tiny theta it would be a huge rate
            rate += (sampler.shape - gain) / theta[j]
        theta[j] = cir_step(theta[j], shape, rate, h, rng)


@relaxation.register(FrozenCIR)
def _(sampler, h):
    return max(1.0, 2.0 / (sampler.rate * h))


@stable_step.register(FrozenCIR)
def _(sampler):
    return math.inf


@preconditioner_of.register(FrozenCIR)
def _(sampler):
    return "none"


@check_parts.register(FrozenCIR)
def _(sampler, model, gradient, coordinates):
    check_untouched(sampler, coordinates)
    if not (sampler.shape > 0 and sampler.rate > 0):
        raise ValueError(f"shape and rate of {sampler} must be positive")
