"""Leimkuhler & Matthews' Langevin steps, postponed for blocks without gradients.

Theta blocks that a minibatch does not depend on only move by their prior
N(m, 1 / lambda). With a = h lambda / 2 and xi_k the noise that step k shares with the
last one,

    eta_1 = m + (1 - a) (phi - m) + sqrt(h) / 2 xi_0
    eta_k = m + (1 - a)^(k-1) (eta_1 - m) + sqrt(h) (1 - a/2) S_k zeta
    phi_k = eta_k + sqrt(h) / 2 xi_k,        S_k^2 = sum_{j < k-1} (1 - a)^(2j)

has the distribution of k such steps, so they are made together when a block is next
needed. The cost of an iteration depends on its minibatch, not on the number of blocks.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.theta_blocks import (
    block_prior,
    block_width,
    blocks_of,
    draw_rows,
    is_lazy,
    part_of,
)
from skbayes_sg.kernels.data.rows import AHEAD, prefetch_row
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.coordinates import pull_back, push_forward, to_theta
from skbayes_sg.kernels.protocol.model import add_gradient, n_rows
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    catch_up,
    check_parts,
    init_state,
    relaxation,
    stable_step,
    step,
    suited_to,
)
from skbayes_sg.kernels.samplers.leimkuhler_matthews import LeimkuhlerMatthews


class LazyLangevin(NamedTuple):
    """Second-order Langevin steps of the theta blocks that a minibatch depends on."""

    width: int = 1  # of a theta block


class LazyState(NamedTuple):
    """Position, and the number of steps that each block has made."""

    position: np.ndarray  # (d,) phi of each block after its last step
    old: np.ndarray  # (d,) xi that a block's next step shares with its last
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,) new noise
    moved: np.ndarray  # (d / width,) int64: steps made by each block
    blocks: np.ndarray  # (d / width,) int32: list of the blocks to move now
    count: np.ndarray  # (1,) int64: iterations so far
    step_size: np.ndarray  # (1,) of the postponed steps
    row: np.ndarray  # (6, width) float64 buffers
    ones: np.ndarray  # (width,)


@init_state.register(LazyLangevin)
def _(sampler, position, rng):
    n = position.size // sampler.width
    return LazyState(
        position=position.copy(),
        old=rng.standard_normal(position.size).astype(position.dtype),
        g=np.zeros_like(position),
        xi=np.zeros_like(position),
        moved=np.zeros(n, np.int64),
        blocks=np.zeros(n, np.int32),
        count=np.zeros(1, np.int64),
        step_size=np.zeros(1),
        row=np.zeros((6, sampler.width)),
        ones=np.ones(sampler.width, position.dtype),
    )


@step.register(LazyLangevin)
def _(sampler, state, target, h, rng):
    model, work, width = target.model, target.work, sampler.width
    if h != state.step_size[0]:  # postponed steps keep the step size of their time
        catch_up(sampler, state, target, rng)
        state.step_size[0] = h
    idx = draw_rows(target.gradient, target.memory, rng)
    n = _collect(model, idx, state)
    _catch_up(state, target, n, width, rng)
    for k in range(n):
        first = state.blocks[k] * width
        here = slice(first, first + width)
        part = part_of(target.coordinates, first, first + width)
        to_theta(part, state.position[here], target.theta[here])
        for f in range(first, first + width):
            target.g[f] = 0.0
    add_gradient(model, work, target.theta, idx, n_rows(model) / idx.size, target.g)
    noise = state.xi[: n * width]
    fill_normals(rng, noise)
    mean, precision, pulled = state.row[0], state.row[1], state.g[:width]
    for k in range(n):
        block = state.blocks[k]
        first = block * width
        here = slice(first, first + width)
        theta, g = target.theta[here], target.g[here]
        phi, old = state.position[here], state.old[here]
        block_prior(model, work, block, mean, precision)
        for f in range(width):
            g[f] += precision[f] * (mean[f] - theta[f])
        pull_back(part_of(target.coordinates, first, first + width), g, pulled)
        for f in range(width):
            new = noise[k * width + f]
            phi[f] += 0.5 * h * target.inverse_temperature * pulled[f]
            phi[f] += 0.5 * math.sqrt(h) * (old[f] + new)
            old[f] = new
        state.moved[block] += 1
    state.count[0] += 1


@catch_up.register(LazyLangevin)
def _(sampler, state, target, rng):
    n = 0
    for block in range(state.moved.size):
        if state.moved[block] < state.count[0]:
            state.blocks[n] = block
            n += 1
    _catch_up(state, target, n, sampler.width, rng)


@helper
def _collect(model, idx, state):
    """Write the blocks that rows depend on to ``state.blocks``; return their number."""
    n = 0
    for i in idx:
        for block in blocks_of(model, i):
            if state.moved[block] >= 0:
                # A negative number marks a block that is already listed.
                state.moved[block] = -1 - state.moved[block]
                state.blocks[n] = block
                n += 1
    for k in range(n):
        state.moved[state.blocks[k]] = -1 - state.moved[state.blocks[k]]
    return n


@helper
def _catch_up(state, target, n, width, rng):
    """Make all postponed steps of the first n listed blocks."""
    h, beta = state.step_size[0], target.inverse_temperature
    half, row, zeta = 0.5 * math.sqrt(h), state.row, state.g
    mean, precision, scale, rho, power, spread = (
        row[0],
        row[1],
        row[2],
        row[3],
        row[4],
        row[5],
    )
    late = 0
    for k in range(n):
        if state.moved[state.blocks[k]] < state.count[0]:
            state.blocks[late], state.blocks[k] = state.blocks[k], state.blocks[late]
            late += 1
    fill_normals(rng, state.xi[: late * width])
    fill_normals(rng, zeta[: late * width])
    blocks = state.blocks[:late]
    for k in range(late):
        for x in (state.position, state.old, target.theta, target.g):
            prefetch_row(x.reshape(-1, width), blocks, k + AHEAD)
        block = state.blocks[k]
        first = block * width
        here = slice(first, first + width)
        phi, old = state.position[here], state.old[here]
        part = part_of(target.coordinates, first, first + width)
        block_prior(target.model, target.work, block, mean, precision)
        buffer, center = target.g[here], target.theta[here]
        push_forward(part, state.ones, buffer)
        for f in range(width):
            scale[f], buffer[f] = buffer[f], 0.0
            rho[f] = 1.0 - 0.5 * h * beta * precision[f] * scale[f] * scale[f]
        to_theta(part, buffer, center)  # theta where phi is 0
        _powers(state.count[0] - state.moved[block] - 1, rho, power, spread)
        for f in range(width):
            m = (mean[f] - center[f]) / scale[f]
            eta = m + power[f] * (rho[f] * (phi[f] - m) + half * old[f])
            eta += half * (1.0 + rho[f]) * math.sqrt(spread[f]) * zeta[k * width + f]
            old[f] = state.xi[k * width + f]
            phi[f] = eta + half * old[f]
        state.moved[block] = state.count[0]


@helper
def _powers(k, rho, power, spread):
    """Write rho^k to `power` and sum_{j < k} rho^(2j) to `spread`.

    Uses the binary digits of k, at a cost of log k.
    """
    for f in range(rho.size):
        power[f], spread[f] = 1.0, 0.0
    bit = 1
    while 2 * bit <= k:
        bit *= 2
    while bit > 0:  # twice as many factors, then one more if the bit is set
        odd = (k // bit) % 2 == 1
        for f in range(rho.size):
            spread[f] *= 1.0 + power[f] * power[f]
            power[f] *= power[f]
            if odd:
                spread[f] = 1.0 + rho[f] * rho[f] * spread[f]
                power[f] *= rho[f]
        bit //= 2


@is_lazy.register(LazyLangevin)
def _(sampler):
    return True


@check_parts.register(LazyLangevin)
def _(sampler, model, gradient, coordinates):
    needs = (blocks_of, model), (draw_rows, gradient), (part_of, coordinates)
    for op, component in needs:
        if not implements(op, component):
            raise ValueError(
                f"LazyLangevin cannot work with {type(component).__name__}, which has "
                f"no {op.__name__}(); it needs a model with theta blocks, simple "
                "minibatches and a diagonal preconditioner or none"
            )


@stable_step.register(LazyLangevin)
def _(sampler):
    return stable_step(LeimkuhlerMatthews())


@accurate_step.register(LazyLangevin)
def _(sampler, noise, tolerance):
    return accurate_step(LeimkuhlerMatthews(), noise, tolerance)


@relaxation.register(LazyLangevin)
def _(sampler, h):
    return relaxation(LeimkuhlerMatthews(), h)


@suited_to.register(LazyLangevin)
def _(sampler, model):
    if not implements(block_width, model):
        return sampler
    return sampler._replace(width=block_width(model))
