"""Gibbs steps: local variables that are kept, drawn given all others.

    z_i ~ p(z_i | all other z, theta, data)    for the rows i of a minibatch

Every step leaves the posterior invariant for any minibatch, so that draws are not
biased by a step size or by gradient noise. Parameters are drawn by the model's
`refresh`.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.theta_blocks import draw_rows, is_lazy
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.protocol.sampler import check_parts, init_state, step
from skbayes_sg.kernels.protocol.target import locate


class Gibbs(NamedTuple):
    """Draws of local variables from their conditional distributions."""

    nothing: int = 0


class GibbsState(NamedTuple):
    """The parameters."""

    position: np.ndarray  # (d,)


@init_state.register(Gibbs)
def _(sampler, position, rng):
    return GibbsState(position.copy())


@step.register(Gibbs)
def _(sampler, state, target, h, rng):
    idx = draw_rows(target.gradient, target.memory, rng)
    theta = locate(target, state.position)
    draw_local(target.model, target.work, theta, idx, rng)


@check_parts.register(Gibbs)
def _(sampler, model, gradient, coordinates):
    for op, component in ((draw_local, model), (draw_rows, gradient)):
        if not implements(op, component):
            raise ValueError(
                f"Gibbs cannot work with {type(component).__name__}, which has no "
                f"{op.__name__}(); it needs a model with local variables that are "
                "kept, and simple minibatches"
            )


@is_lazy.register(Gibbs)
def _(sampler):
    return True
