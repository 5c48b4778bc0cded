"""Exact steps of positive parameters, SCIR (Baker, Fearnhead, Fox & Nemeth, 2018).

    theta_j moves for time h by d theta = (b - c theta) / 2 dt + sqrt(theta) dW

where b and c are shape and rate of the Gamma posterior of theta_j, estimated from a
minibatch. With exact counts every h is exact; with noisy ones the mean is, and

    Var theta = b + tanh(h / 4) Var(b estimated)    at c = 1.

The paper's step is h / 2. A part of theta that a minibatch does not touch moves with
its prior's b and c, and k such steps are one of time k h: models whose rows touch few
blocks are moved lazily.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.positive_blocks import (
    add_gain_and_loss,
    positive_prior,
)
from skbayes_sg.kernels.capabilities.theta_blocks import (
    block_width,
    blocks_of,
    draw_rows,
    is_lazy,
)
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.numerics.positive import TINY, cir_step
from skbayes_sg.kernels.protocol.coordinates import is_identity
from skbayes_sg.kernels.protocol.model import n_rows, refresh
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    catch_up,
    check_parts,
    init_state,
    preconditioner_of,
    relaxation,
    stable_step,
    step,
    suited_to,
)


class SCIR(NamedTuple):
    """Cox-Ingersoll-Ross steps with gains and losses from a minibatch."""


class LazySCIR(NamedTuple):
    """The same, for models whose rows touch few blocks of theta; `SCIR` becomes it."""

    width: int  # of a block


class PositiveState(NamedTuple):
    """Position, the laws that it moves to, and how far each block has come."""

    position: np.ndarray  # (d,) theta
    shape: np.ndarray  # (d,) of the prior
    rate: np.ndarray  # (d,)
    gain: np.ndarray  # (d,) of a minibatch, zero between steps
    loss: np.ndarray  # (d,)
    time: np.ndarray  # (n_blocks,) until which each block has moved
    now: np.ndarray  # (1,)


def init_positive(position, n_blocks=0):
    """Return the state of a chain at positive parameters."""
    check_positive(position)
    zeros = [np.zeros(position.size) for _ in range(4)]
    return PositiveState(position.copy(), *zeros, np.zeros(n_blocks), np.zeros(1))


@init_state.register(SCIR)
def _(sampler, position, rng):
    return init_positive(position)


@init_state.register(LazySCIR)
def _(sampler, position, rng):
    return init_positive(position, position.size // sampler.width)


@step.register(SCIR)
def _(sampler, state, target, h, rng):
    see_minibatch(state, target, rng)
    _move(state, 0, state.position.size, h, target.inverse_temperature, rng)


@step.register(LazySCIR)
def _(sampler, state, target, h, rng):
    model, work, beta = target.model, target.work, target.inverse_temperature
    if state.now[0] == 0.0:
        positive_prior(model, work, state.shape, state.rate)
    idx = draw_rows(target.gradient, target.memory, rng)
    for i in idx:
        for block in blocks_of(model, i):
            _move_block(sampler, state, block, beta, rng)
    _add_minibatch(model, work, state, idx, rng)
    state.now[0] += h
    for i in idx:
        for block in blocks_of(model, i):
            _move_block(sampler, state, block, beta, rng)


@catch_up.register(LazySCIR)
def _(sampler, state, target, rng):
    for block in range(state.time.size):
        _move_block(sampler, state, block, target.inverse_temperature, rng)


@helper
def see_minibatch(state, target, rng):
    """Write the prior and the gains and losses of a minibatch to the state."""
    idx = draw_rows(target.gradient, target.memory, rng)
    positive_prior(target.model, target.work, state.shape, state.rate)
    _add_minibatch(target.model, target.work, state, idx, rng)


@helper
def take_shape(state, j, beta):
    """Return the shape of part j given the minibatch; clear its gain and loss."""
    # Gamma(b, c) to the power of beta; of no other shape at temperature 1.
    shape = max(1.0 + beta * (state.shape[j] + state.gain[j] - 1.0), TINY)
    state.gain[j] = 0.0
    state.loss[j] = 0.0
    return shape


@helper
def _add_minibatch(model, work, state, idx, rng):
    """Add the scaled gains and losses of rows to those of the state."""
    draw_local(model, work, state.position, idx, rng)
    scale = n_rows(model) / idx.size
    add_gain_and_loss(model, work, state.position, idx, scale, state.gain, state.loss)


@helper
def _move_block(sampler, state, block, beta, rng):
    """Move a block up to now, unless it is there."""
    elapsed = state.now[0] - state.time[block]
    if elapsed > 0.0:
        first = block * sampler.width
        _move(state, first, first + sampler.width, elapsed, beta, rng)
        state.time[block] = state.now[0]


@helper
def _move(state, first, last, h, beta, rng):
    """Move parameters for time h, and clear their gains and losses."""
    theta = state.position
    for j in range(first, last):
        rate = beta * (state.rate[j] + state.loss[j])
        theta[j] = cir_step(theta[j], take_shape(state, j, beta), rate, h, rng)


@suited_to.register(SCIR)
def _(sampler, model):
    lazily = implements(blocks_of, model) and implements(block_width, model)
    if lazily and not implements(refresh, model):  # which would change the prior
        return LazySCIR(block_width(model))
    return sampler


def _always(sampler):
    return True


def _any_step(sampler):
    return math.inf


def _accurate_step(sampler, noise, tolerance):
    # tanh(h / 4) V = tolerance, where V is the variance of b over b itself.
    return 4.0 * math.atanh(min(tolerance / max(float(np.max(noise)), TINY), 0.995))


def _relaxation(sampler, h):
    return max(1.0, 2.0 / h)


def _no_preconditioner(sampler):
    return "none"


def moves_counts(kind):
    """Register what all samplers that move counts by exact transitions share."""
    is_lazy.register(kind)(_always)
    stable_step.register(kind)(_any_step)
    accurate_step.register(kind)(_accurate_step)
    relaxation.register(kind)(_relaxation)
    preconditioner_of.register(kind)(_no_preconditioner)
    check_parts.register(kind)(check_counts)
    return kind


def check_counts(sampler, model, gradient, coordinates):
    """Raise a ValueError unless gains and losses of minibatches are to be had."""
    if not implements(add_gain_and_loss, model):
        raise ValueError(
            f"{type(sampler).__name__} needs a model that implements "
            f"add_gain_and_loss(); {type(model).__name__} does not, FrozenCIR works "
            "with gradients alone"
        )
    if not implements(draw_rows, gradient):
        raise ValueError(
            f"{type(sampler).__name__} needs the rows of uniform minibatches; use "
            f"Minibatch, of all rows for exact counts, not {type(gradient).__name__}"
        )
    check_untouched(sampler, coordinates)


def check_untouched(sampler, coordinates):
    """Raise a ValueError if the position is not theta itself."""
    if not is_identity(coordinates):
        raise ValueError(
            f"{type(sampler).__name__} moves positive parameters in their own "
            f"coordinates; use no preconditioner, not {type(coordinates).__name__}"
        )


def check_positive(position):
    """Raise a ValueError unless a chain starts at positive parameters."""
    if not np.all(position > 0.0):
        raise ValueError(
            f"start must be positive for samplers of positive parameters, but its "
            f"smallest value is {np.min(position):.3g}; use np.ones(n_parameters)"
        )


moves_counts(SCIR)
moves_counts(LazySCIR)
