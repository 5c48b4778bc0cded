"""Adam (Kingma & Ba, 2015), as a sampler without noise that runs in the same loop.

m <- b1 m + (1 - b1) g,    v <- b2 v + (1 - b2) g^2
phi <- phi + h m / (1 - b1^k) / (sqrt(v / (1 - b2^k)) + e)
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.protocol.sampler import init_state, sees_model, step
from skbayes_sg.kernels.protocol.target import gradient_at


class Adam(NamedTuple):
    """Ascent of the log posterior; the step size is Adam's learning rate."""

    b1: float = 0.9
    b2: float = 0.999


class AdamState(NamedTuple):
    """Position, gradient, its two moments and the number of steps."""

    position: np.ndarray  # (d,) phi
    g: np.ndarray  # (d,)
    m: np.ndarray  # (d,)
    v: np.ndarray  # (d,)
    k: np.ndarray  # (1,)


@sees_model.register(Adam)
def _(sampler):
    return False


@init_state.register(Adam)
def _(sampler, position, rng):
    zeros = [np.zeros_like(position) for _ in range(3)]
    return AdamState(position.copy(), *zeros, np.zeros(1))


@step.register(Adam)
def _(sampler, state, target, h, rng):
    phi, g, m, v = state.position, state.g, state.m, state.v
    gradient_at(target, phi, rng, g)
    state.k[0] += 1.0
    rate = h / (1.0 - sampler.b1 ** state.k[0])
    grow = 1.0 / (1.0 - sampler.b2 ** state.k[0])
    for j in range(phi.size):
        m[j] += (1.0 - sampler.b1) * (g[j] - m[j])
        v[j] += (1.0 - sampler.b2) * (g[j] * g[j] - v[j])
        phi[j] += rate * m[j] / (math.sqrt(grow * v[j]) + 1e-8)
