"""Riemannian Langevin of positive parameters, as published (Patterson & Teh, 2013).

    theta <- |theta + h/2 (theta g + 1) + sqrt(h theta) xi|

With Gamma(a, 1) priors and counts n of probabilities phi = theta / sum(theta), theta g
+ 1 is a - theta + n - sum(n) phi: stochastic gradient Riemannian Langevin dynamics with
the expanded mean. The paper's step is h / 2. Where the density is infinite at zero,
taking absolute values errs by far more than the order h, see `SCIR` and `FrozenCIR`.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.numerics.positive import TINY
from skbayes_sg.kernels.protocol.sampler import (
    check_parts,
    init_state,
    preconditioner_of,
    relaxation,
    sees_model,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at
from skbayes_sg.kernels.samplers.cir import check_positive, check_untouched
from skbayes_sg.kernels.samplers.sgld import SGLD


class ExpandedMean(NamedTuple):
    """Euler steps in the metric 1 / theta, reflected at zero."""


@sees_model.register(ExpandedMean)
def _(sampler):
    return False


@init_state.register(ExpandedMean)
def _(sampler, position, rng):
    check_positive(position)
    return init_state(SGLD(), position, rng)


@step.register(ExpandedMean)
def _(sampler, state, target, h, rng):
    theta, g, xi = state.position, state.g, state.xi
    gradient_at(target, theta, rng, g)
    fill_normals(rng, xi)
    for j in range(theta.size):
        drift = 0.5 * h * (theta[j] * g[j] + 1.0)
        theta[j] = abs(theta[j] + drift + math.sqrt(h * theta[j]) * xi[j])
        theta[j] = max(theta[j], TINY)


@relaxation.register(ExpandedMean)
def _(sampler, h):
    return relaxation(SGLD(), h)


@preconditioner_of.register(ExpandedMean)
def _(sampler):
    return "none"


@check_parts.register(ExpandedMean)
def _(sampler, model, gradient, coordinates):
    check_untouched(sampler, coordinates)
