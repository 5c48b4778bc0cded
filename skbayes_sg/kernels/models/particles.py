"""Particle filter with backward simulation, for one hidden autoregression.

    x_t = phi x_(t-1) + sigma N(0, 1),    y_t ~ p(y_t | x_t, tau)

The bootstrap filter resamples at every point. Paths of the states given a window are
then drawn backward (Godsill, Doucet & West, 2004): an ancestor is proposed by its
weight, and accepted with the probability exp(-(x_t - phi x_(t-1))^2 / (2 sigma^2))
(Douc, Garivier, Moulines & Olsson, 2011). Sums over paths have no path degeneracy, and
errors that fall with the number of particles.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper, kernel_op

MAX_PROPOSALS = 50  # then all particles are weighed


@kernel_op
def log_observation(law, y, x, tau):
    """Return log p(y | x, tau)."""
    raise NotImplementedError


@kernel_op
def scale_score(law, y, x, tau):
    """Return the derivative of log p(y | x, tau) in tau."""
    raise NotImplementedError


class Scaled(NamedTuple):
    """Stochastic volatility: y ~ N(0, tau^2 exp(x))."""


@log_observation.register(Scaled)
def _(law, y, x, tau):
    scaled = y / tau
    return -0.5 * (scaled * scaled * math.exp(-x) + x) - math.log(tau)


@scale_score.register(Scaled)
def _(law, y, x, tau):
    scaled = y / tau
    return (scaled * scaled * math.exp(-x) - 1.0) / tau


@helper
def run_particles(law, y, low, high, begin, theta, x, cumulated, rng):
    """Filter points low ... high - 1; return the log-likelihood of these points.

    Place k of (n + 1, N) `x` and of the cumulated weights is point low + k - 1. Unless
    the sequence begins at `low`, place 0 has the stationary law.
    """
    phi, sigma, tau = theta[0], theta[1], theta[2]
    n, value = x.shape[1], 0.0
    wide = sigma / math.sqrt(1.0 - phi * phi)
    if low > begin:
        for i in range(n):
            x[0, i] = wide * rng.standard_normal()
            cumulated[0, i] = (i + 1.0) / n
    for t in range(low, high):
        k = t - low + 1
        if t == begin:
            for i in range(n):
                x[k, i] = wide * rng.standard_normal()
        else:
            at, shift = 0, rng.random()
            for i in range(n):  # systematic resampling
                while at < n - 1 and cumulated[k - 1, at] * n < i + shift:
                    at += 1
                x[k, i] = phi * x[k - 1, at] + sigma * rng.standard_normal()
        value += _weigh(law, y[t], tau, x, cumulated, k)
    return value


@helper
def _weigh(law, y, tau, x, cumulated, k):
    """Write cumulated weights of place k; return the log of their mean."""
    n = x.shape[1]
    if np.isnan(y):
        for i in range(n):
            cumulated[k, i] = (i + 1.0) / n
        return 0.0
    largest = -math.inf
    for i in range(n):
        cumulated[k, i] = log_observation(law, y, x[k, i], tau)
        largest = max(largest, cumulated[k, i])
    total = 0.0
    for i in range(n):
        total += math.exp(cumulated[k, i] - largest)
        cumulated[k, i] = total
    for i in range(n):
        cumulated[k, i] /= total
    return largest + math.log(total / n)


@helper
def choose_particle(cumulated, k, u):
    """Return the first particle of place k with a cumulated weight of at least u."""
    low, high = 0, cumulated.shape[1] - 1
    while low < high:
        middle = (low + high) // 2
        if cumulated[k, middle] < u:
            low = middle + 1
        else:
            high = middle
    return low


@helper
def choose_ancestor(phi, sigma, now, x, cumulated, k, chances, rng):
    """Return a particle of place k that may have led to the state `now`."""
    for _ in range(MAX_PROPOSALS):
        i = choose_particle(cumulated, k, rng.random())
        z = (now - phi * x[k, i]) / sigma
        if math.log(1.0 - rng.random()) < -0.5 * z * z:
            return i
    return _weigh_ancestors(phi, sigma, now, x, cumulated, k, chances, rng)


@helper
def _weigh_ancestors(phi, sigma, now, x, cumulated, k, chances, rng):
    least = math.inf
    for i in range(chances.size):
        z = (now - phi * x[k, i]) / sigma
        chances[i] = 0.5 * z * z
        least = min(least, chances[i])
    total = 0.0
    for i in range(chances.size):
        weight = cumulated[k, i] - (cumulated[k, i - 1] if i > 0 else 0.0)
        total += weight * math.exp(least - chances[i])
        chances[i] = total
    u = total * rng.random()
    for i in range(chances.size):
        if chances[i] >= u:
            return i
    return chances.size - 1
