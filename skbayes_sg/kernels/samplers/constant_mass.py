"""Probabilities by exact steps with a constant mass.

    N_k ~ Poisson(kappa x_k),    x ~ Dirichlet(b + N),    kappa = B r / (1 - r)

where r = exp(-h / 2), and b = prior + counts of a minibatch. `SCIR` has the sum of
theta in place of the constant B. Where latent variables move counts between several
simplexes, as between topics, that sum remembers past counts and is coupled to the
probabilities. Here nothing but x is remembered, and every B leaves Dirichlet(b)
invariant.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.capabilities.positive_blocks import n_simplexes
from skbayes_sg.kernels.numerics.positive import TINY, draw_log_gamma, draw_poisson
from skbayes_sg.kernels.protocol.model import n_rows
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


@moves_counts
class ConstantMassCIR(NamedTuple):
    """Steps of probabilities that keep about exp(-h / 2) of what they were.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Minibatch
    >>> from skbayes_sg.kernels.models import ExpandedDirichlet
    >>> from skbayes_sg.kernels.samplers import ConstantMassCIR
    >>> model = ExpandedDirichlet(np.array([0, 0, 0, 1, 1, 2]), np.full(3, 0.1))
    >>> options = {"step_size": 1.0, "start": np.ones(3), "random_state": 0}
    >>> sample(model, ConstantMassCIR(6.3), Minibatch(6), **options).shape
    (1, 1000, 3)
    """

    mass: float  # B, about the sum of b over a simplex


@init_state.register(ConstantMassCIR)
def _(sampler, position, rng):
    return init_positive(position)


@step.register(ConstantMassCIR)
def _(sampler, state, target, h, rng):
    x, beta = state.position, target.inverse_temperature
    see_minibatch(state, target, rng)
    kappa = sampler.mass * math.exp(-0.5 * h) / -math.expm1(-0.5 * h)
    width = x.size // n_simplexes(target.model)
    for first in range(0, x.size, width):
        total, largest = 0.0, -math.inf
        for j in range(first, first + width):
            total += x[j]
        for j in range(first, first + width):
            n = draw_poisson(kappa * x[j] / total, rng)
            x[j] = draw_log_gamma(take_shape(state, j, beta) + n, rng)
            largest = max(largest, x[j])
        total = 0.0
        for j in range(first, first + width):
            x[j] = max(math.exp(x[j] - largest), TINY)
            total += x[j]
        for j in range(first, first + width):
            x[j] /= total


@check_parts.register(ConstantMassCIR)
def _(sampler, model, gradient, coordinates):
    check_counts(sampler, model, gradient, coordinates)
    if not sampler.mass > 0:
        raise ValueError(
            f"mass={sampler.mass} must be positive; use about the sum of the prior's "
            f"shapes and the counts of a simplex, here of {n_rows(model)} rows"
        )
