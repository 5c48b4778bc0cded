"""Stochastic volatility before and after sampling: grids, windows, paths, forecasts."""

from typing import NamedTuple

import numpy as np
import scipy.optimize

from skbayes_sg.inference.sequences import exact_log_posterior, rough_factor
from skbayes_sg.kernels.capabilities.buffers import no_messages, with_blocks
from skbayes_sg.kernels.capabilities.maps import constrain, log_jacobian
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.generic import entry_point, for_kernels
from skbayes_sg.kernels.models import GridVolatility
from skbayes_sg.kernels.models.particles import (
    Scaled,
    choose_ancestor,
    choose_particle,
    run_particles,
)
from skbayes_sg.kernels.models.stochastic_volatility import log_volatility_prior
from skbayes_sg.kernels.models.volatility_laplace import (
    laplace_log_likelihood,
    write_state_variances,
)
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import init_work, log_likelihood, theta_of

MAX_POINTS = 20_000  # from which the first survey is made
FIRST = (0.95, 0.2)  # phi and sigma from which the mode is searched
N_TYPICAL = 128
STEPS = 3000  # of a random walk
REACH = 5.0  # standard deviations of states beyond which a grid ends
SPACING = 1.25  # of a grid, in units of sigma
LEAST_GRID, MAX_GRID = 24, 1024
TOLERANCE = 0.02  # posterior standard deviations, of the bias of buffers
PER_BUFFER = 4
LEAST_BLOCK = 100


class LaplacePosterior:
    """The approximate posterior of free parameters, from the first points of a series.

    It stands for all points: the log-likelihood is scaled up.
    """

    def __init__(self, model):
        inner, blocks = model.model, model.model.blocks
        self.model = model
        ends = np.unique(blocks.end)
        starts = np.concatenate([[0], ends[:-1]])
        within = starts < MAX_POINTS
        self.spans = list(
            zip(starts[within], np.minimum(ends[within], MAX_POINTS), strict=True)
        )
        used = self.spans[-1][1]
        self.factor = blocks.weight * ends[-1] / used
        self.y = np.ascontiguousarray(inner.y[:used], np.float64)
        self.x, self.buffers = np.zeros(used), np.zeros((2, used))

    def __call__(self, u):
        """Return the log density of free parameters u, (3,)."""
        theta = np.zeros(3)
        constrain(self.model.map, u, theta)
        phi, sigma, tau = theta
        if not (abs(phi) < 1.0 - 1e-9 and 1e-8 < sigma < 1e8 and 0.0 < tau < np.inf):
            return -np.inf
        value = 0.0
        for begin, end in self.spans:
            value += laplace_log_likelihood(
                self.y, begin, end, phi, sigma, tau, self.x, self.buffers
            )
        if not np.isfinite(value):
            self.x[:] = 0.0
            return -np.inf
        prior = log_volatility_prior(self.model.model.prior, phi, sigma, tau)
        return self.factor * value + prior + log_jacobian(self.model.map, u, theta)


class Typical(NamedTuple):
    """Typical draws of the approximate posterior, and its mode."""

    mode: np.ndarray  # (3,)
    draws: np.ndarray  # (N_TYPICAL, 3)
    covariance: np.ndarray  # (3, 3)
    steepness: float  # largest curvature at a draw, in units of the covariance


def approximate_mode(model):
    """Return the approximate log density, its mode, and F, F F' its covariance."""
    density = LaplacePosterior(model)
    start = theta_of(model, np.array([*FIRST, np.exp(model.model.prior.mean)]))
    found = scipy.optimize.minimize(
        lambda u: min(-density(u), 1e300), start, method="Nelder-Mead",
        options={"maxiter": 600, "xatol": 1e-3, "fatol": 1e-3},
    )  # fmt: skip
    mode = found.x
    covariance = np.linalg.inv(_positive(curvature(density, mode)))
    return density, mode, np.linalg.cholesky(covariance)


def typical_draws(model, rng):
    """Return typical draws of free parameters, by a random walk from the mode."""
    density, mode, root = approximate_mode(model)
    u, value, chain = mode, density(mode), []
    for t in range(STEPS):
        if t == STEPS // 3:  # in units of the walk itself from then on
            spread = np.cov(np.array(chain).T) + 1e-10 * np.eye(3)
            root = np.linalg.cholesky(spread)
        new = u + 1.2 * root @ rng.standard_normal(3)
        new_value = density(new)
        if np.log(rng.random()) < new_value - value:
            u, value = new, new_value
        chain.append(u)
    late = np.array(chain[STEPS // 3 :])
    draws = late[np.linspace(0, len(late) - 1, N_TYPICAL).astype(int)]
    covariance = np.cov(late.T)
    root = np.linalg.cholesky(covariance)
    some = [root.T @ curvature(density, each) @ root for each in draws[::8]]
    steep = max(1.0, max(np.linalg.eigvalsh(each)[-1] for each in some))
    return Typical(mode, draws, covariance, steep)


def curvature(density, u):
    """Return -Hessian of a log density by differences, (3, 3)."""
    width = 0.01
    steps = width * np.eye(u.size)
    out = np.empty((u.size, u.size))
    for i, a in enumerate(steps):
        for j, b in enumerate(steps[: i + 1]):
            corners = density(u + a + b) - density(u + a - b)
            corners += density(u - a - b) - density(u - a + b)
            out[i, j] = out[j, i] = -corners / (4.0 * width**2)
    return out


def _positive(matrix):
    values, vectors = np.linalg.eigh(np.nan_to_num(matrix))
    return (vectors * np.maximum(np.abs(values), 1e-3)) @ vectors.T


def state_grid(y, lengths, thetas):
    """Return evenly spaced states for the likelihood of y at (n, 3) `thetas`.

    They reach `REACH` standard deviations further than the states given y, by Laplace's
    approximation, and are at most `SPACING` times the least sigma apart.
    """
    blocks, y = make_blocks(lengths), np.ascontiguousarray(y, np.float64)
    x, buffers, variance = np.zeros(y.size), np.zeros((2, y.size)), np.zeros(y.size)
    farthest = 0.0
    for phi, sigma, tau in thetas:
        for begin, end in zip(blocks.first, blocks.last, strict=True):
            laplace_log_likelihood(y, begin, end, phi, sigma, tau, x, buffers)
            write_state_variances(begin, end, phi, sigma, buffers[0], variance)
        reached = np.abs(x) + REACH * np.sqrt(variance)
        farthest = max(farthest, float(np.max(reached)))
    step = SPACING * float(np.min(thetas[:, 1]))
    size = int(np.clip(np.ceil(2.0 * farthest / step) + 1, LEAST_GRID, MAX_GRID))
    return np.linspace(-farthest, farthest, size)


def around(model, mode, root, width=2.0):
    """Return the parameters at the mode and `width` sds away on all axes, (7, 3)."""
    away = width * root.T
    thetas = np.zeros((7, 3))
    for u, theta in zip([mode, *(mode + away), *(mode - away)], thetas, strict=True):
        constrain(model.map, u, theta)
    return thetas


def grid_log_likelihoods(y, lengths, draws, prior):
    """Return log p(y) for each of (n, 3) draws."""
    some = draws[:: max(1, len(draws) // 8)]
    grid = state_grid(y, lengths, np.vstack([some, draws[np.argmin(draws[:, 1])]]))
    blocks = make_blocks(lengths)
    y = np.ascontiguousarray(y, np.float64)
    model = for_kernels(GridVolatility(y, blocks, no_messages(grid.size), grid, prior))
    values, idx = np.zeros(len(draws)), np.arange(len(blocks.first))
    draws = np.ascontiguousarray(draws, np.float64)
    _write_log_likelihoods(model, init_work(model), draws, idx, values)
    return values


@entry_point
def _write_log_likelihoods(model, work, draws, idx, out):
    for i in range(out.size):
        out[i] = log_likelihood(model, work, draws[i], idx)


def windows_alone(model, lengths, mode, block_length="auto", buffer_length="auto"):
    """Return blocks whose windows suffice without messages, and their bias.

    The bias is that of the gradient at the mode in posterior standard deviations, by
    the model on a grid.
    """
    factor, exact, g = rough_factor(model, mode), np.zeros(3), np.zeros(3)
    exact_log_posterior(model, mode, exact)
    buffer = 1 if buffer_length == "auto" else int(buffer_length)
    while True:
        block = max(LEAST_BLOCK, PER_BUFFER * buffer)
        block = block if block_length == "auto" else int(block_length)
        blocks = make_blocks(lengths, block, buffer)
        part = for_kernels(with_blocks(model, blocks))
        log_posterior(part, init_work(part), mode, g)
        bias = float(np.abs(factor.T @ (g - exact)).max())
        if buffer_length != "auto" or bias <= TOLERANCE or buffer > np.max(lengths):
            return blocks, block, buffer, bias
        buffer *= 2


@entry_point
def _draw_path(y, begin, end, theta, x, cumulated, chances, rng, out):
    value = run_particles(Scaled(), y, begin, end, begin, theta, x, cumulated, rng)
    k = end - begin
    now = x[k, choose_particle(cumulated, k, rng.random())]
    out[end - 1] = now
    for k in range(end - begin, 1, -1):
        args = theta[0], theta[1], now, x, cumulated, k - 1, chances, rng
        now = x[k - 1, choose_ancestor(*args)]
        out[begin + k - 2] = now
    return value


def draw_paths(y, lengths, draws, n_particles, rng):
    """Return a path of the states for each of (n, 3) draws, (n, T), and log p(y).

    The likelihoods, (n,), are estimates by the particle filter.
    """
    blocks = make_blocks(lengths)
    shape = int(np.max(lengths)) + 1, n_particles
    x, cumulated = np.zeros((2, *shape))
    paths, values = np.zeros((len(draws), len(y))), np.zeros(len(draws))
    y = np.ascontiguousarray(y, np.float64)
    for theta, path, i in zip(draws, paths, range(len(draws)), strict=True):
        theta, chances = np.array(theta, np.float64), np.zeros(n_particles)
        for begin, end in zip(blocks.first, blocks.last, strict=True):
            values[i] += _draw_path(
                y, begin, end, theta, x, cumulated, chances, rng, path
            )
    return paths, values - 0.5 * np.log(2.0 * np.pi) * np.isfinite(y).sum()


def future_states(draws, last, steps, rng):
    """Return the next states after (n,) `last`, one path for each draw, (n, steps)."""
    states, out = np.array(last), np.empty((len(draws), steps))
    for t in range(steps):
        noise = rng.standard_normal(len(draws))
        states = draws[:, 0] * states + draws[:, 1] * noise
        out[:, t] = states
    return out
