"""Estimators that draw blocks of rows in place of rows, from a copy of the data.

A block is a likelihood term like any other, so the estimator inside knows nothing of
it: of B blocks it draws m, and scales their sum by B/m. See `kernels.blocks` for what
this does to the variance, and `in_blocks` for models that have blocks.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.row_blocks import in_blocks, rows_per_term
from skbayes_sg.kernels.data.blocks import padded
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory
from skbayes_sg.kernels.protocol.model import n_rows

MIN_DRAWN = 8  # blocks in a minibatch: less than an eighth more rows than asked for


class Blocked(NamedTuple):
    """An estimator from blocks; minibatches are rounded up to whole ones."""

    batch_size: int  # n, rows
    gradient: NamedTuple  # the estimator, prepared for `copy`
    copy: NamedTuple  # the model


@init_memory.register(Blocked)
def _(gradient, model, theta, rng):
    return init_memory(gradient.gradient, gradient.copy, theta, rng)


@estimate.register(Blocked)
def _(gradient, memory, model, work, theta, rng, out):
    estimate(gradient.gradient, memory, gradient.copy, work, theta, rng, out)


class Terms(NamedTuple):
    """The likelihood terms that an estimator draws: rows, or blocks of a copy."""

    model: NamedTuple
    block_size: int  # k, 1 for rows
    order: np.ndarray  # (N,) of the rows in blocks

    @property
    def least(self):
        """How many to draw of a stratum: by twos, where the next is on its way."""
        return 1 if self.block_size == 1 else 2

    def table(self, values):
        """Return (m, N) values of the rows in the order of these terms."""
        if self.block_size == 1:  # those of one row side by side
            return np.asfortranarray(values)
        return np.stack([padded(row, self.order, self.block_size) for row in values])

    def sums(self, values):
        """Return the sum of one value per row over the rows of each term."""
        k = self.block_size
        if k == 1:
            return values
        return padded(values, self.order, k).reshape(-1, k).sum(axis=1)

    def size(self, batch_size):
        """Return how many terms have `batch_size` rows, at least."""
        return -(-batch_size // self.block_size)

    def estimator(self, gradient, batch_size):
        """Return an estimator that is prepared for these terms, for use with rows."""
        if self.block_size == 1:
            return gradient
        return Blocked(batch_size, gradient, self.model)


def terms_of(model, batch_size, classes=None):
    """Return blocks of a copy where they pay, else the rows of the model.

    The order of rows is random, but for classes of rows that stay together, of labels
    that the function `classes` returns.
    """
    k = rows_per_term(model)
    if k == 1 or batch_size < MIN_DRAWN * k:
        return Terms(model, 1, None)
    # Data do not depend on this order, so one is as random as another.
    order = np.random.default_rng(0).permutation(n_rows(model))
    if classes is not None:
        order = order[np.argsort(classes()[order], kind="stable")]
    return Terms(for_kernels(in_blocks(model, order)), k, order)
