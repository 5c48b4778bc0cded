"""Rows in turn, a few at a time, for samplers that draw from conditionals.

It does not estimate gradients, which such samplers do not need. In N/n iterations every
row is used once, which mixes faster than random rows.

At first only some rows may take part, evenly spread: every 2^S-th row, after some
sweeps over these every 2^(S-1)-th, and so on until all do. Local variables of few rows
soon agree on the parameters; those of many would need as many sweeps, all of them long.
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
    n_stages: int = 0  # S, before all rows take part
    n_first: int = 1  # sweeps over the rows of the first stage
    n_each: int = 1  # sweeps over those of every other stage


class TurnMemory(NamedTuple):
    """Rows of the last iteration, and where the next one goes on."""

    idx: np.ndarray  # (n,)
    row: np.ndarray  # (1,) the next row
    spacing: np.ndarray  # (1,) of the rows that take part
    left: np.ndarray  # (1,) sweeps of this stage, with the one begun
    n_rows: np.ndarray  # (1,)


@init_memory.register(InTurn)
def _(gradient, model, theta, rng):
    starts = 0, 2**gradient.n_stages, gradient.n_first, n_rows(model)
    idx = np.zeros(gradient.batch_size, INDEX)
    return TurnMemory(idx, *(np.array([start], np.int64) for start in starts))


@draw_rows.register(InTurn)
def _(gradient, memory, rng):
    row, spacing, left = memory.row[0], memory.spacing[0], memory.left[0]
    for b in range(memory.idx.size):
        memory.idx[b] = row
        row += spacing
        if row >= memory.n_rows[0]:
            row = 0
            left -= 1
            if left <= 0 and spacing > 1:
                spacing //= 2
                left = gradient.n_each
    memory.row[0], memory.spacing[0], memory.left[0] = row, spacing, left
    return memory.idx
