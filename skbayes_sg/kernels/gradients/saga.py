"""SAGA (Defazio, Bach & Lacoste-Julien, 2014; Dubey et al., 2016).

    g = grad log p(theta) + sum_i t_i + N/n sum_{i in S} [grad log f(y_i | theta) - t_i]

The table t holds the gradient of each row at the theta where the row was last used. It
is a control variate that needs no mode and follows the chain. The first estimate of a
chain fills the table with a pass over all rows. A regression model stores one number
per row and output, any other model one gradient per row.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.tables import init_table, replace_gradients
from skbayes_sg.kernels.data.minibatch import (
    INDEX,
    draw_minibatch,
    fill_rows,
    row_buffer,
)
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory
from skbayes_sg.kernels.protocol.model import add_prior_gradient, n_rows


class SAGA(NamedTuple):
    """Differences to the gradient of each row when it was last used."""

    batch_size: int = None  # n; None: to be chosen


class SAGAMemory(NamedTuple):
    """The table and its sum."""

    permutation: np.ndarray  # (N,)
    idx: np.ndarray  # a buffer of row indices
    table: np.ndarray  # t, in the format of the model
    total: np.ndarray  # (d,) sum of t; float64, because rounding errors accumulate
    change: np.ndarray  # (d,) buffer
    count: np.ndarray  # (1,) estimates so far


@init_memory.register(SAGA)
def _(gradient, model, theta, rng):
    return SAGAMemory(
        permutation=np.arange(n_rows(model), dtype=INDEX),
        idx=row_buffer(),
        table=init_table(model),
        total=np.zeros(theta.size),
        change=np.zeros_like(theta),
        count=np.zeros(1, np.int64),
    )


@estimate.register(SAGA)
def _(gradient, memory, model, work, theta, rng, out):
    n, change, total = n_rows(model), memory.change, memory.total
    if memory.count[0] == 0:
        for first in range(0, n, memory.idx.size):
            rows = fill_rows(memory.idx, first, n)
            change[:] = 0.0
            replace_gradients(model, work, theta, memory.table, rows, change)
            total += change
    memory.count[0] += 1
    idx = draw_minibatch(memory.permutation, gradient.batch_size, rng)
    change[:] = 0.0
    replace_gradients(model, work, theta, memory.table, idx, change)
    for j in range(out.size):
        out[j] = total[j] + n / idx.size * change[j]
        total[j] += change[j]
    add_prior_gradient(model, work, theta, out)
