"""Frozen steps of probabilities with the natural split of their drift.

Langevin in the metric 1 / theta has the drift (b - c theta) / 2 where x = theta / S are
probabilities, S = sum(theta), and n are (expected) counts of a minibatch:

    b = a + n,    c = c0 + sum(n) / S,    a and c0 of the Gamma prior

Over a step b and c stay what they are, and theta moves by an exact transition, see
`frozen_cir`. As c is common to all parts, x has the law Dirichlet(b) at every h where
the counts are exact. This is SG-RLD that needs no absolute values.

The sum S has its prior's law, Gamma(sum(a), c0), whatever the counts. A chain should
start there: from a larger sum, c is too small for x to move, and S takes 2 / (c0 h)
steps to come down. Then c is of the order of sum(n), and steps are to be that much
smaller than those of `SCIR`. As S wanders c does: over a chain, noisy counts inflate
variances by the mean of tanh(c h / 4) Var(b estimated). Shapes that sum to much less
than 0.1 leave the range of numbers. `ConstantMassCIR` knows none of these limits.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.positive_blocks import n_simplexes, typical_rates
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.numerics.positive import TINY, cir_step
from skbayes_sg.kernels.protocol.sampler import (
    check_parts,
    init_state,
    step,
)
from skbayes_sg.kernels.samplers.cir import (
    check_counts,
    init_positive,
    moves_counts,
    see_minibatch,
    take_shape,
)

N_SUMS = 2000  # draws of S by which rates are known


@moves_counts
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
    >>> options = {"step_size": 0.1, "start": np.full(3, 0.1), "random_state": 0}
    >>> sample(model, FrozenCountsCIR(), Minibatch(6), **options).shape
    (1, 1000, 3)
    """


@init_state.register(FrozenCountsCIR)
def _(sampler, position, rng):
    return init_positive(position)


@step.register(FrozenCountsCIR)
def _(sampler, state, target, h, rng):
    theta, beta = state.position, target.inverse_temperature
    see_minibatch(state, target, rng)
    width = theta.size // n_simplexes(target.model)
    for first in range(0, theta.size, width):
        total, count = 0.0, 0.0
        for j in range(first, first + width):
            total += theta[j]
            count += state.gain[j]
        for j in range(first, first + width):
            rate = beta * (state.rate[j] + count / total)
            theta[j] = cir_step(theta[j], take_shape(state, j, beta), rate, h, rng)


@typical_rates.register(FrozenCountsCIR)
def _(sampler, model, shape, rate, gain, theta, time):
    # The sum S moves by itself, with the shape and the rate of its prior.
    parts = [x.reshape(n_simplexes(model), -1) for x in (shape, rate, gain, theta)]
    a, count, start = (parts[i].sum(axis=1) for i in (0, 2, 3))
    c0, rng = parts[1][:, 0], np.random.default_rng(0)
    share = (np.arange(N_SUMS)[:, None] + 0.5) / N_SUMS
    kept = np.exp(-0.5 * c0 * share * time)
    gone = -np.expm1(-0.5 * c0 * share * time)
    extra = rng.poisson(np.minimum(c0 * start * kept / gone, 1e15))
    total = gone / c0 * rng.gamma(a + extra)
    rates = c0 + count / np.maximum(total, TINY)
    return np.repeat(rates, parts[0].shape[1], axis=1)


@check_parts.register(FrozenCountsCIR)
def _(sampler, model, gradient, coordinates):
    check_counts(sampler, model, gradient, coordinates)
    if not implements(n_simplexes, model):
        raise ValueError(
            "FrozenCountsCIR needs a model of probabilities, which implements "
            f"n_simplexes(); {type(model).__name__} does not, use SCIR or FrozenCIR"
        )
