"""Stochastic Cox-Ingersoll-Ross dynamics (Baker, Fearnhead, Fox & Nemeth, 2018).

    d theta = (b - c theta) / 2 dt + sqrt(theta) dW

with b and c estimated from a minibatch, by the exact transition of each step: no step
leaves the positive numbers, and none is unstable. Noise of b alone inflates variances,

    Var theta = b / c^2 + tanh(c h / 4) Var(b) / c^2.

Their step h is half of ours.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.positive_blocks import gain_and_loss
from skbayes_sg.kernels.capabilities.theta_blocks import (
    block_width,
    draw_rows,
    is_lazy,
)
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.numerics.positive import cir_step
from skbayes_sg.kernels.protocol.sampler import (
    check_parts,
    init_state,
    relaxation,
    stable_step,
    step,
    suited_to,
)
from skbayes_sg.kernels.protocol.target import locate


class CIR(NamedTuple):
    """Exact transitions of positive parameters, given estimated gains and losses."""

    width: int = 1  # of a block


class CIRState(NamedTuple):
    """Position, and the gains and losses of one block."""

    position: np.ndarray  # (d,)
    gain: np.ndarray  # (width,)
    loss: np.ndarray  # (width,)


@init_state.register(CIR)
def _(sampler, position, rng):
    zeros = np.zeros((2, sampler.width), position.dtype)
    return CIRState(position.copy(), zeros[0], zeros[1])


@step.register(CIR)
def _(sampler, state, target, h, rng):
    model, work, theta = target.model, target.work, locate(target, state.position)
    phi, width = state.position, sampler.width
    idx = draw_rows(target.gradient, target.memory, rng)
    draw_local(model, work, theta, idx, rng)
    for block in range(phi.size // width):
        gain_and_loss(model, work, theta, block, rng, state.gain, state.loss)
        for f in range(width):
            j = block * width + f
            phi[j] = cir_step(phi[j], state.gain[f], state.loss[f], h, rng)


@check_parts.register(CIR)
def _(sampler, model, gradient, coordinates):
    for op, component in ((gain_and_loss, model), (draw_rows, gradient)):
        if not implements(op, component):
            raise ValueError(
                f"CIR cannot work with {type(component).__name__}, which has no "
                f"{op.__name__}(); it needs a model of positive blocks and simple "
                "minibatches"
            )


@suited_to.register(CIR)
def _(sampler, model):
    if not implements(block_width, model):
        return sampler
    return sampler._replace(width=block_width(model))


@is_lazy.register(CIR)
def _(sampler):
    return True  # it never looks at a gradient


@stable_step.register(CIR)
def _(sampler):
    return np.inf


@relaxation.register(CIR)
def _(sampler, h):
    return 2.0 / h
