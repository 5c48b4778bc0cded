"""Stochastic variance reduced gradients (Johnson & Zhang, 2013; Dubey et al., 2016).

    g = g(a) + grad log p(theta) - grad log p(a)
        + N/n sum_{i in S} [grad log f(y_i | theta) - grad log f(y_i | a)]

This is a control variate whose anchor a follows the chain: every `refresh_every`
estimates, a pass over all rows moves it to the current theta. It needs neither a mode
nor a table.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data.minibatch import (
    INDEX,
    draw_minibatch,
    fill_rows,
    row_buffer,
)
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_gradient, add_prior_gradient, n_rows


class SVRG(NamedTuple):
    """Differences to the gradient at a recent position of the chain."""

    batch_size: int = None  # n; None: to be chosen
    refresh_every: int = None  # estimates; None: N/n, one pass over the data


class SVRGMemory(NamedTuple):
    """The anchor and the gradient there."""

    permutation: np.ndarray  # (N,)
    idx: np.ndarray  # a buffer of row indices
    anchor: np.ndarray  # (d,) a
    likelihood: np.ndarray  # (d,) the likelihood's full gradient at a
    count: np.ndarray  # (1,) estimates so far


@prepare.register(SVRG)
def _(gradient, model):
    if gradient.refresh_every is not None:
        return gradient
    return gradient._replace(refresh_every=-(-n_rows(model) // gradient.batch_size))


@init_memory.register(SVRG)
def _(gradient, model, theta, rng):
    return SVRGMemory(
        permutation=np.arange(n_rows(model), dtype=INDEX),
        idx=row_buffer(),
        anchor=np.zeros_like(theta),
        likelihood=np.zeros_like(theta),
        count=np.zeros(1, np.int64),
    )


@estimate.register(SVRG)
def _(gradient, memory, model, work, theta, rng, out):
    n, anchor, likelihood = n_rows(model), memory.anchor, memory.likelihood
    if memory.count[0] % gradient.refresh_every == 0:
        copy_to(theta, anchor)
        likelihood[:] = 0.0
        for first in range(0, n, memory.idx.size):
            rows = fill_rows(memory.idx, first, n)
            add_gradient(model, work, anchor, rows, 1.0, likelihood)
    memory.count[0] += 1
    idx = draw_minibatch(memory.permutation, gradient.batch_size, rng)
    copy_to(likelihood, out)
    add_prior_gradient(model, work, theta, out)
    add_gradient(model, work, theta, idx, n / idx.size, out)
    add_gradient(model, work, anchor, idx, -n / idx.size, out)
