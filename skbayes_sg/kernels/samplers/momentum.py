"""The state of samplers with momentum, and the analysis of linear schemes.

For a Gaussian of unit curvature, a step is z <- A z + noise of covariance Q.
"""

import math
from typing import NamedTuple

import numpy as np


class MomentumState(NamedTuple):
    """Position, momentum and buffers."""

    position: np.ndarray  # (d,) phi
    momentum: np.ndarray  # (d,) rho ~ N(0, I)
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)


def init_momentum(position, rng):
    """Return a state with a momentum from its stationary distribution."""
    momentum = rng.standard_normal(position.size).astype(position.dtype)
    return MomentumState(
        position.copy(), momentum, np.zeros_like(position), np.zeros_like(position)
    )


def position_variance(a, q):
    """Return the stationary variance of the first coordinate of z <- A z + noise."""
    n = len(a)
    return np.linalg.solve(np.eye(n * n) - np.kron(a, a), q.ravel())[0]


def decay_time(a):
    """Return the iterations after which z <- A z has decreased by a factor of e."""
    radius = np.abs(np.linalg.eigvals(a)).max()
    return -1.0 / math.log(min(max(radius, math.exp(-1.0)), 1.0 - 1e-12))


def largest_step(error, tolerance, most):
    """Return the largest h <= `most` with error(h) <= tolerance, by bisection.

    The function `error` must be increasing.
    """
    if error(most) <= tolerance:
        return most
    low, high = 0.0, most
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if error(middle) <= tolerance else (low, middle)
    return low
