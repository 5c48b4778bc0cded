"""Minibatches that the model chooses.

    g = grad log p(theta) + sum_b s_b grad log f(y_i | theta),    i = i_b

The model draws the rows i_1, ..., i_n and gives the factors s_b, the inverse of the
expected number of occurrences of row i_b. It is for models with few informative rows
that are known beforehand, such as the links of a graph.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import add_fresh_gradient
from skbayes_sg.kernels.capabilities.strata import choose_rows
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_prior_gradient


class ChosenByModel(NamedTuple):
    """Rows and factors drawn by the model's `choose_rows`."""

    batch_size: int = None  # n; None: to be chosen


class ChosenMemory(NamedTuple):
    """Rows of a minibatch and the factor of each."""

    idx: np.ndarray  # (n,)
    scale: np.ndarray  # (n,)


@prepare.register(ChosenByModel)
def _(gradient, model):
    if not implements(choose_rows, model):
        raise ValueError(
            f"{type(model).__name__} does not choose its own rows; use "
            'gradient="minibatch"'
        )
    return gradient


@init_memory.register(ChosenByModel)
def _(gradient, model, theta, rng):
    n = gradient.batch_size
    return ChosenMemory(np.zeros(n, INDEX), np.ones(n))


@estimate.register(ChosenByModel)
def _(gradient, memory, model, work, theta, rng, out):
    choose_rows(model, work, rng, memory.idx, memory.scale)
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    for b in range(memory.idx.size):
        row = memory.idx[b : b + 1]
        add_fresh_gradient(model, work, theta, row, memory.scale[b], rng, out)
