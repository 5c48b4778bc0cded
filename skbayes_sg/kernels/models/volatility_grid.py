"""Stochastic volatility on a grid of states, whose rows are blocks of sequences.

    x_t = phi x_(t-1) + sigma N(0, 1),    y_t = tau exp(x_t / 2) N(0, 1)

The state is one number, so that filters and smoothers are sums over evenly spaced
places. The error of such sums falls faster than any power of the spacing h: it is about
exp(-2 pi^2 (s / h)^2) for a Gaussian integrand of standard deviation s. Transitions
from a place are normalized, which changes nothing unless sigma is less than h; then it
makes the likelihood that of a walk on the grid. The grid is fixed, so that this is a
smooth function of phi, sigma and tau, and by Fisher's identity the row gradients are
its exact derivatives. Priors are those of `stochastic_volatility`.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.buffers import (
    Messages,
    select_messages,
    selected,
    with_messages,
)
from skbayes_sg.kernels.data.sequences import (
    Blocks,
    longest_window,
    select_blocks,
    window,
)
from skbayes_sg.kernels.generic import entry_point, for_kernels, helper
from skbayes_sg.kernels.models.stochastic_volatility import (
    VolatilityPrior,
    add_volatility_prior_gradient,
    log_volatility_prior,
)
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)

REACH = 6.0  # standard deviations of a transition that are summed
AT_REACH = math.exp(-0.5 * REACH**2)  # the density there, over the largest
LEAST_SIGMA = 0.2  # in units of the spacing
HALF_LOG_2PI = 0.5 * math.log(2.0 * math.pi)


class GridVolatility(NamedTuple):
    """The posterior of phi, sigma and tau."""

    y: np.ndarray  # (T,) returns, NaN for missing values
    blocks: Blocks
    messages: Messages
    grid: np.ndarray  # (G,) evenly spaced states
    prior: VolatilityPrior


class GridWork(NamedTuple):
    """Transitions between places, and buffers for the points of one window."""

    inverse: np.ndarray  # (G,) exp(-x)
    moves: np.ndarray  # (G, G) probabilities from i to j
    slopes: np.ndarray  # (2, G) derivatives in phi, sigma of the log sum of row i
    low: np.ndarray  # (G,) first j of row i that is summed
    high: np.ndarray  # (G,) the one after the last
    density: np.ndarray  # (n, G) p(y_t | x) up to a factor of the point
    filters: np.ndarray  # (n + 1, G) from the point before the window on
    q: np.ndarray  # (G,) what the future says
    v: np.ndarray  # (G,) density times q
    ahead: np.ndarray  # (2, G) sums over j of moves v, and of moves v x
    sums: np.ndarray  # (8,) of moments, see `_add_moments` and `_add_pairs`


@n_parameters.register(GridVolatility)
def _(model):
    return 3


@n_rows.register(GridVolatility)
def _(model):
    return model.blocks.first.size


@init_work.register(GridVolatility)
def _(model):
    return grid_work(model, longest_window(model.blocks))


def grid_work(model, n):
    """Return buffers for windows of up to `n` points."""
    m = model.grid.size
    return GridWork(
        inverse=np.exp(-np.asarray(model.grid)),
        moves=np.zeros((m, m)),
        slopes=np.zeros((2, m)),
        low=np.zeros(m, np.int64),
        high=np.zeros(m, np.int64),
        density=np.zeros((n, m)),
        filters=np.zeros((n + 1, m)),
        q=np.zeros(m),
        v=np.zeros(m),
        ahead=np.zeros((2, m)),
        sums=np.zeros(8),
    )


@helper
def set_moves(grid, work, phi, sigma):
    """Write the transitions between places."""
    m, step = grid.size, grid[1] - grid[0]
    # Far below the spacing a transition would reach no place, and its law is not known.
    sigma = max(sigma, LEAST_SIGMA * step)
    for i in range(m):
        center = phi * grid[i]
        low = int(math.ceil((center - REACH * sigma - grid[0]) / step))
        high = int(math.floor((center + REACH * sigma - grid[0]) / step)) + 1
        work.low[i], work.high[i] = min(max(low, 0), m), min(max(high, 0), m)
        total, first, second = 0.0, 0.0, 0.0
        for j in range(work.low[i], work.high[i]):
            z = (grid[j] - center) / sigma
            # Without the value at the end sums would jump as places come and go.
            share = math.exp(-0.5 * z * z) - AT_REACH
            work.moves[i, j] = share
            total += share
            first += share * z
            second += share * z * z
        work.slopes[0, i] = first / total * grid[i] / sigma
        work.slopes[1, i] = second / total / sigma
        for j in range(work.low[i], work.high[i]):
            work.moves[i, j] /= total


@helper
def write_density(y, tau, grid, inverse, out):
    """Write p(y | x) over its largest value; return the logarithm of this value."""
    m = grid.size
    if np.isnan(y):
        for j in range(m):
            out[j] = 1.0
        return 0.0
    square = (y / tau) ** 2
    best = grid[0] if square <= 0.0 else math.log(square)
    best = min(max(best, grid[0]), grid[m - 1])
    top = -0.5 * (square * math.exp(-best) + best)
    for j in range(m):
        out[j] = math.exp(-0.5 * (square * inverse[j] + grid[j]) - top)
    return top - math.log(tau) - HALF_LOG_2PI


@helper
def write_stationary(grid, phi, sigma, out):
    """Write the stationary law of the state; its sum is one up to a small error."""
    wide = sigma / math.sqrt(1.0 - phi * phi)
    factor = (grid[1] - grid[0]) / (wide * math.sqrt(2.0 * math.pi))
    for j in range(grid.size):
        z = grid[j] / wide
        out[j] = factor * math.exp(-0.5 * z * z)


@helper
def predict(work, before, out):
    """Write the law of the next state."""
    for j in range(out.size):
        out[j] = 0.0
    for i in range(out.size):
        share, row = before[i], work.moves[i]
        for j in range(work.low[i], work.high[i]):
            out[j] += share * row[j]


@helper
def absorb(density, out):
    """Multiply a law by a density and normalize it; return the log of its sum."""
    total = 0.0
    for j in range(out.size):
        out[j] *= density[j]
        total += out[j]
    scale = 1.0 / total
    for j in range(out.size):
        out[j] *= scale
    return math.log(total)


@helper
def step_back(work, grid, density, q):
    """Replace what the future says of a state by what it says of the one before."""
    v, ahead, total = work.v, work.ahead, 0.0
    for j in range(q.size):
        v[j] = density[j] * q[j]
        total += v[j]
    scale = 1.0 / total
    for j in range(q.size):
        v[j] *= scale
    for i in range(q.size):
        row, one, moved = work.moves[i], 0.0, 0.0
        for j in range(work.low[i], work.high[i]):
            part = row[j] * v[j]
            one += part
            moved += part * grid[j]
        ahead[0, i], ahead[1, i], q[i] = one, moved, one


@helper
def filter_row(model, work, theta, i, stop):
    """Filter the window of row i up to point `stop`; return log p of its block."""
    blocks, grid, messages = model.blocks, model.grid, model.messages
    phi, sigma, tau = theta[0], theta[1], theta[2]
    begin, first, last = blocks.begin[i], blocks.first[i], blocks.last[i]
    low, value = window(blocks, i)[0], 0.0
    if low > begin and messages.forward.shape[0] > 0:
        for j in range(grid.size):
            work.filters[0, j] = messages.forward[i, j]
    else:
        write_stationary(grid, phi, sigma, work.filters[0])
    for t in range(low, stop):
        k = t - low
        out, density = work.filters[k + 1], work.density[k]
        top = write_density(model.y[t], tau, grid, work.inverse, density)
        if t == begin:
            for j in range(grid.size):
                out[j] = work.filters[0, j]
        else:
            predict(work, work.filters[k], out)
        top += absorb(density, out)
        if first <= t < last:
            value += top
    return value


@helper
def smooth_row(model, work, theta, i, out, scale):
    """Add scale times the gradient of row i to `out`, after `filter_row`."""
    blocks, grid, messages = model.blocks, model.grid, model.messages
    begin, first, last = blocks.begin[i], blocks.first[i], blocks.last[i]
    low, high = window(blocks, i)
    q, sums = work.q, work.sums
    ends = high < blocks.end[i] and messages.backward.shape[0] > 0
    for j in range(grid.size):
        q[j] = messages.backward[i, j] if ends else 1.0
    for j in range(sums.size):
        sums[j] = 0.0
    for t in range(high - 1, first - 1, -1):
        k = t - low
        if t < last:
            known = not np.isnan(model.y[t])
            square = (model.y[t] / theta[2]) ** 2 if known else 0.0
            _add_moments(grid, work, k, square)
            sums[5] += 1.0 if known else 0.0
        if t == begin:
            break
        step_back(work, grid, work.density[k], q)
        if t < last:
            _add_pairs(grid, work, k)
    _add_gradient(theta, sums, first == begin, out, scale)


@helper
def _add_moments(grid, work, k, square):
    """Add E x^2 of the k-th point and E exp(-x) y^2 / tau^2 to the sums."""
    total, second, size = 0.0, 0.0, 0.0
    for j in range(grid.size):
        share = work.filters[k + 1, j] * work.q[j]
        total += share
        second += share * grid[j] * grid[j]
        size += share * work.inverse[j]
    work.sums[0] += second / total
    work.sums[4] += square * size / total
    work.sums[3] = second / total  # of the first point in the end


@helper
def _add_pairs(grid, work, k):
    """Add E x_t x_(t-1), E x_(t-1)^2 and E slopes to the sums, after a step back."""
    total, moved, second, of_phi, of_sigma = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(grid.size):
        share = work.filters[k, i] * work.ahead[0, i]
        total += share
        second += share * grid[i] * grid[i]
        moved += work.filters[k, i] * grid[i] * work.ahead[1, i]
        of_phi += share * work.slopes[0, i]
        of_sigma += share * work.slopes[1, i]
    work.sums[1] += moved / total
    work.sums[2] += second / total
    work.sums[6] += of_phi / total
    work.sums[7] += of_sigma / total


@helper
def _add_gradient(theta, sums, starts, out, scale):
    """Add scale times the gradient that follows from the sums."""
    phi, sigma, tau = theta[0], theta[1], theta[2]
    second, moved, before, precision = sums[0], sums[1], sums[2], 1.0 / sigma**2
    if starts:  # the first point has the stationary law
        free, start = 1.0 - phi * phi, sums[3]
        out[0] += scale * phi * (start * precision - 1.0 / free)
        out[1] += scale * (start * free * precision - 1.0) / sigma
        second -= start
    out[0] += scale * (precision * (moved - phi * before) - sums[6])
    square = second - 2.0 * phi * moved + phi * phi * before
    out[1] += scale * (square * precision / sigma - sums[7])
    out[2] += scale * (sums[4] - sums[5]) / tau


@add_value_and_gradient.register(GridVolatility)
def _(model, work, theta, idx, scale, out):
    set_moves(model.grid, work, theta[0], theta[1])
    scale, value = scale * model.blocks.weight, 0.0
    for b in range(idx.size):
        stop = window(model.blocks, idx[b])[1]
        value += filter_row(model, work, theta, idx[b], stop)
        smooth_row(model, work, theta, idx[b], out, scale)
    return scale * value


@add_gradient.register(GridVolatility)
def _(model, work, theta, idx, scale, out):
    add_value_and_gradient(model, work, theta, idx, scale, out)


@log_likelihood.register(GridVolatility)
def _(model, work, theta, idx):
    set_moves(model.grid, work, theta[0], theta[1])
    value = 0.0
    for i in idx:
        value += filter_row(model, work, theta, i, model.blocks.last[i])
    return model.blocks.weight * value


@log_prior.register(GridVolatility)
def _(model, work, theta):
    return log_volatility_prior(model.prior, theta[0], theta[1], theta[2])


@add_prior_gradient.register(GridVolatility)
def _(model, work, theta, out):
    add_volatility_prior_gradient(model.prior, theta, out)


@selected.register(GridVolatility)
def _(model, rows, factor=1.0):
    return model._replace(
        blocks=select_blocks(model.blocks, rows, factor),
        messages=select_messages(model.messages, rows),
    )


@with_messages.register(GridVolatility)
def _(model, theta):
    forward, backward = np.ones((2, model.blocks.first.size, model.grid.size))
    model, theta = for_kernels(model), np.array(theta, np.float64)
    write_grid_messages(model, grid_work(model, 1), theta, forward, backward)
    return model._replace(messages=Messages(theta, forward, backward))


@entry_point
def write_grid_messages(model, work, theta, forward, backward):
    """Write filters before all windows and messages of the future after them.

    Windows are in the order of their points, as blocks are.
    """
    blocks, row = model.blocks, 0
    set_moves(model.grid, work, theta[0], theta[1])
    while row < blocks.first.size:  # a sequence at a time
        stop = row
        while stop < blocks.first.size and blocks.begin[stop] == blocks.begin[row]:
            stop += 1
        _write_forward(model, work, theta, row, stop, forward)
        _write_backward(model, work, theta, row, stop, backward)
        row = stop


@helper
def _write_forward(model, work, theta, row, stop, forward):
    blocks, grid, i = model.blocks, model.grid, row
    now, new = work.filters[0], work.filters[1]
    for t in range(blocks.begin[row], window(blocks, stop - 1)[0]):
        write_density(model.y[t], theta[2], grid, work.inverse, work.density[0])
        if t == blocks.begin[row]:
            write_stationary(grid, theta[0], theta[1], new)
        else:
            predict(work, now, new)
        absorb(work.density[0], new)
        for j in range(grid.size):
            now[j] = new[j]
        while i < stop and window(blocks, i)[0] <= t + 1:
            if window(blocks, i)[0] == t + 1:
                for j in range(grid.size):
                    forward[i, j] = now[j]
            i += 1


@helper
def _write_backward(model, work, theta, row, stop, backward):
    blocks, grid, q, i = model.blocks, model.grid, work.q, stop - 1
    for j in range(grid.size):
        q[j] = 1.0
    for t in range(blocks.end[row] - 1, window(blocks, row)[1] - 1, -1):
        write_density(model.y[t], theta[2], grid, work.inverse, work.density[0])
        step_back(work, grid, work.density[0], q)
        while i >= row and window(blocks, i)[1] >= t:
            if window(blocks, i)[1] == t:
                for j in range(grid.size):
                    backward[i, j] = q[j]
            i -= 1
