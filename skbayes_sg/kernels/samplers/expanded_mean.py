"""Riemannian Langevin dynamics in the expanded mean (Patterson & Teh, 2013), SG-RLD.

    theta <- |theta + h/2 (theta g + 1) + sqrt(h theta) xi|,    xi ~ N(0, I)

for positive parameters, with the metric 1 / theta. Reflection at zero biases parameters
whose posterior reaches it: use `CIR`, whose steps are exact, unless to reproduce it.
Their step size is half of ours.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.numerics.positive import TINY
from skbayes_sg.kernels.protocol.sampler import (
    init_state,
    relaxation,
    stable_step,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at


class ExpandedMean(NamedTuple):
    """Langevin steps of positive parameters, reflected at zero."""

    nothing: int = 0


class ExpandedMeanState(NamedTuple):
    """Position and buffers."""

    position: np.ndarray  # (d,)
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)


@init_state.register(ExpandedMean)
def _(sampler, position, rng):
    zeros = np.zeros_like(position), np.zeros_like(position)
    return ExpandedMeanState(position.copy(), *zeros)


@step.register(ExpandedMean)
def _(sampler, state, target, h, rng):
    theta, g, xi = state.position, state.g, state.xi
    gradient_at(target, theta, rng, g)
    fill_normals(rng, xi)
    for j in range(theta.size):
        drift = 0.5 * h * (theta[j] * g[j] + 1.0)
        value = abs(theta[j] + drift + math.sqrt(h * theta[j]) * xi[j])
        theta[j] = max(value, TINY)


@stable_step.register(ExpandedMean)
def _(sampler):
    return 4.0


@relaxation.register(ExpandedMean)
def _(sampler, h):
    return 2.0 / h
