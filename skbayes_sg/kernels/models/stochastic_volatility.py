"""Stochastic volatility, whose rows are blocks of sequences of returns.

    x_t = phi x_(t-1) + sigma N(0, 1),    y_t = tau exp(x_t / 2) N(0, 1)

The first state of a sequence has the stationary law N(0, sigma^2 / (1 - phi^2)). The
parameters are phi, sigma and tau. By Fisher's identity the gradient of a block is the
mean of the gradient of log p(x, y) over paths of the states given the window: local
variables, which `draw_local` draws by a particle filter with backward simulation.

Priors: (1 + phi) / 2 ~ Beta(a, b), sigma^2 ~ InverseGamma(shape, scale) and
log tau ~ N(mean, sd^2).
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.data.sequences import Blocks, longest_window, window
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.particles import (
    choose_ancestor,
    choose_particle,
    run_particles,
    scale_score,
)
from skbayes_sg.kernels.models.transformed import Transformed
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_prior,
    n_parameters,
    n_rows,
)


class VolatilityPrior(NamedTuple):
    """The prior of phi, sigma and tau."""

    a: float
    b: float
    shape: float
    scale: float
    mean: float
    sd: float


class StochasticVolatility(NamedTuple):
    """The posterior of phi, sigma and tau."""

    y: np.ndarray  # (T,) returns, NaN for missing values
    blocks: Blocks
    law: NamedTuple  # of the observations, see `particles`
    n_particles: int
    n_paths: int
    prior: VolatilityPrior


class FreeVolatility(Transformed):
    """Stochastic volatility in free parameters; the fields are those of the base."""

    __slots__ = ()
    __annotations__ = Transformed.__annotations__


class VolatilityWork(NamedTuple):
    """Particles of a window, and the gradient of the rows that were drawn last."""

    x: np.ndarray  # (n + 1, n_particles)
    cumulated: np.ndarray  # (n + 1, n_particles) weights
    chances: np.ndarray  # (n_particles,)
    g: np.ndarray  # (3,)


@n_parameters.register(StochasticVolatility)
def _(model):
    return 3


@n_rows.register(StochasticVolatility)
def _(model):
    return model.blocks.first.size


@init_work.register(StochasticVolatility)
def _(model):
    shape = longest_window(model.blocks) + 1, model.n_particles
    return VolatilityWork(
        np.zeros(shape), np.zeros(shape), np.zeros(model.n_particles), np.zeros(3)
    )


@draw_local.register(StochasticVolatility)
def _(model, work, theta, idx, rng):
    blocks, g = model.blocks, work.g
    for j in range(3):
        g[j] = 0.0
    for i in idx:
        low, high = window(blocks, i)
        begin, x, cumulated = blocks.begin[i], work.x, work.cumulated
        run_particles(model.law, model.y, low, high, begin, theta, x, cumulated, rng)
        for _ in range(model.n_paths):
            _add_path(model, work, theta, i, low, high, rng)
    for j in range(3):
        g[j] *= blocks.weight / model.n_paths


@helper
def _add_path(model, work, theta, i, low, high, rng):
    """Add the gradient of log p(x, y) over block i on one path of the states."""
    phi, sigma, tau = theta[0], theta[1], theta[2]
    x, cumulated, chances, g = work.x, work.cumulated, work.chances, work.g
    first, last, begin = (
        model.blocks.first[i],
        model.blocks.last[i],
        model.blocks.begin[i],
    )
    k = high - low
    now = x[k, choose_particle(cumulated, k, rng.random())]
    for t in range(high - 1, first - 1, -1):
        k = t - low + 1
        inside = t < last
        if inside and not np.isnan(model.y[t]):
            g[2] += scale_score(model.law, model.y[t], now, tau)
        if t == begin:
            free = 1.0 - phi * phi
            g[0] += phi * (now * now / (sigma * sigma) - 1.0 / free)
            g[1] += (now * now * free / (sigma * sigma) - 1.0) / sigma
            return
        before = x[
            k - 1, choose_ancestor(phi, sigma, now, x, cumulated, k - 1, chances, rng)
        ]
        if inside:
            z = (now - phi * before) / sigma
            g[0] += z * before / sigma
            g[1] += (z * z - 1.0) / sigma
        now = before


@add_gradient.register(StochasticVolatility)
def _(model, work, theta, idx, scale, out):
    for j in range(3):
        out[j] += scale * work.g[j]


@log_prior.register(StochasticVolatility)
def _(model, work, theta):
    return log_volatility_prior(model.prior, theta[0], theta[1], theta[2])


@helper
def log_volatility_prior(prior, phi, sigma, tau):
    """Return the log density of phi, sigma and tau, up to a constant."""
    value = (prior.a - 1.0) * math.log1p(phi) + (prior.b - 1.0) * math.log1p(-phi)
    value -= (2.0 * prior.shape + 1.0) * math.log(sigma)
    value -= prior.scale / (sigma * sigma)
    away = (math.log(tau) - prior.mean) / prior.sd
    return value - 0.5 * away * away - math.log(tau)


@add_prior_gradient.register(StochasticVolatility)
def _(model, work, theta, out):
    add_volatility_prior_gradient(model.prior, theta, out)


@helper
def add_volatility_prior_gradient(prior, theta, out):
    """Add the gradient of `log_volatility_prior` to `out`."""
    phi, sigma, tau = theta[0], theta[1], theta[2]
    out[0] += (prior.a - 1.0) / (1.0 + phi) - (prior.b - 1.0) / (1.0 - phi)
    out[1] += 2.0 * prior.scale / sigma**3 - (2.0 * prior.shape + 1.0) / sigma
    away = (math.log(tau) - prior.mean) / (prior.sd * prior.sd)
    out[2] -= (away + 1.0) / tau
