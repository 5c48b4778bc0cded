"""Rows in turn, a few at a time, for samplers that draw from conditionals.

It does not estimate gradients, which such samplers do not need. In N/n iterations every
row is used once, which mixes faster than random rows.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.theta_blocks import draw_rows
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.protocol.gradient import init_memory
from skbayes_sg.kernels.protocol.model import n_rows


class InTurn(NamedTuple):
    """The next rows, at every iteration."""

    batch_size: int  # n


class TurnMemory(NamedTuple):
    """Rows of the last iteration; initially those before the first row."""

    idx: np.ndarray  # (n,)
    n_rows: np.ndarray  # (1,)


@init_memory.register(InTurn)
def _(gradient, model, theta, rng):
    n, total = gradient.batch_size, n_rows(model)
    before = (np.arange(-n, 0) % total).astype(INDEX)
    return TurnMemory(before, np.array([total], INDEX))


@draw_rows.register(InTurn)
def _(gradient, memory, rng):
    for b in range(memory.idx.size):
        memory.idx[b] = (memory.idx[b] + memory.idx.size) % memory.n_rows[0]
    return memory.idx
