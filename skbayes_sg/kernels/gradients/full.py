"""The exact gradient, from all rows.

g = grad log p(theta) + sum_i grad log f(y_i | theta)
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import add_fresh_gradient
from skbayes_sg.kernels.data.minibatch import fill_rows, row_buffer
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, is_exact
from skbayes_sg.kernels.protocol.model import add_prior_gradient, n_rows


class Full(NamedTuple):
    """All rows at every step."""


class FullMemory(NamedTuple):
    """A buffer of row indices."""

    idx: np.ndarray


@init_memory.register(Full)
def _(gradient, model, theta, rng):
    return FullMemory(row_buffer())


@estimate.register(Full)
def _(gradient, memory, model, work, theta, rng, out):
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    n = n_rows(model)
    for first in range(0, n, memory.idx.size):
        rows = fill_rows(memory.idx, first, n)
        add_fresh_gradient(model, work, theta, rows, 1.0, rng, out)


@is_exact.register(Full)
def _(gradient):
    return True
