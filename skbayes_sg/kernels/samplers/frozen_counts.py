"""Frozen steps of probabilities with the natural split of their drift.

Langevin in the metric 1 / theta has the drift (b - c theta) / 2 where x = theta / S are
probabilities, S = sum(theta), and n are (expected) counts of a minibatch:

    b = a + n,    c = c0 + sum(n) / S,    a and c0 of the Gamma prior

Over a step b and c stay what they are, and theta moves by an exact transition, see
`frozen_cir`. As c is common to all parts, x has the law Dirichlet(b) at every h where
the counts are exact. This is SG-RLD that needs no absolute values.

The sum S has its prior's law, Gamma(sum(a), c0), so that c is of the order of sum(n):
steps are to be that much smaller than those of `SCIR`, and shapes that sum to much less
than 0.1 leave the range of numbers; `ConstantMassCIR` knows neither limit. As S wanders
c does, so that noisy counts inflate variances by more than they do at a constant rate.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.capabilities.positive_blocks import (
    n_simplexes,
    positive_prior,
    typical_rates,
)
from skbayes_sg.kernels.capabilities.theta_blocks import draw_rows, is_lazy
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.numerics.positive import TINY, cir_step
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    check_parts,
    init_state,
    preconditioner_of,
    relaxation,
    stable_step,
    step,
)
from skbayes_sg.kernels.samplers.cir import (
    SCIR,
    add_minibatch,
    check_gains,
    check_untouched,
    init_positive,
)


class FrozenCountsCIR(NamedTuple):
    """Cox-Ingersoll-Ross steps that follow SG-RLD's drift, for models of counts.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Minibatch
    >>> from skbayes_sg.kernels.models import ExpandedDirichlet
    >>> from skbayes_sg.kernels.samplers import FrozenCountsCIR
    >>> model = ExpandedDirichlet(np.array([0, 0, 0, 1, 1, 2]), np.full(3, 0.1))
    >>> options = {"step_size": 0.1, "start": np.ones(3), "random_state": 0}
    >>> sample(model, FrozenCountsCIR(), Minibatch(6), **options).shape
    (1, 1000, 3)
    """


@init_state.register(FrozenCountsCIR)
def _(sampler, position, rng):
    return init_positive(position)


@step.register(FrozenCountsCIR)
def _(sampler, state, target, h, rng):
    model, theta, beta = target.model, state.position, target.inverse_temperature
    idx = draw_rows(target.gradient, target.memory, rng)
    positive_prior(model, target.work, state.shape, state.rate)
    add_minibatch(model, target.work, state, idx, rng)
    width = theta.size // n_simplexes(model)
    for first in range(0, theta.size, width):
        total, count = 0.0, 0.0
        for j in range(first, first + width):
            total += theta[j]
            count += state.gain[j]
        for j in range(first, first + width):
            shape = max(1.0 + beta * (state.shape[j] + state.gain[j] - 1.0), TINY)
            rate = beta * (state.rate[j] + count / total)
            theta[j] = cir_step(theta[j], shape, rate, h, rng)
            state.gain[j] = 0.0
            state.loss[j] = 0.0


@typical_rates.register(FrozenCountsCIR)
def _(sampler, model, shape, rate, gain):
    # Of the sum, the mean of its prior's law.
    parts = [x.reshape(n_simplexes(model), -1) for x in (shape, gain)]
    of_prior, count = (x.sum(axis=1, keepdims=True) for x in parts)
    return (rate.reshape(parts[0].shape) * (1.0 + count / of_prior)).ravel()


@is_lazy.register(FrozenCountsCIR)
def _(sampler):
    return True


@stable_step.register(FrozenCountsCIR)
def _(sampler):
    return math.inf


@accurate_step.register(FrozenCountsCIR)
def _(sampler, noise, tolerance):
    return accurate_step(SCIR(), noise, tolerance)


@relaxation.register(FrozenCountsCIR)
def _(sampler, h):
    return relaxation(SCIR(), h)


@preconditioner_of.register(FrozenCountsCIR)
def _(sampler):
    return "none"


@check_parts.register(FrozenCountsCIR)
def _(sampler, model, gradient, coordinates):
    check_gains(sampler, model, gradient)
    check_untouched(sampler, coordinates)
    if not implements(n_simplexes, model):
        raise ValueError(
            "FrozenCountsCIR needs a model of probabilities, which implements "
            f"n_simplexes(); {type(model).__name__} does not, use SCIR or FrozenCIR"
        )
