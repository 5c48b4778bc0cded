"""Estimators that draw row blocks instead of single rows, from a copy of the data.

A row block is a likelihood term like a single row, so the inner estimator is unchanged:
it draws m of B blocks, and scales their sum by B/m. See `kernels.data.blocks` for the
effect on the variance, and `in_blocks` for the models that support it.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.row_blocks import in_blocks, rows_per_term
from skbayes_sg.kernels.data.blocks import padded
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory
from skbayes_sg.kernels.protocol.model import n_rows

MIN_BLOCKS_DRAWN = 8  # per minibatch, so that rounding up adds at most 1/8 of the rows


class Blocked(NamedTuple):
    """An estimator on row blocks; minibatches are rounded up to whole blocks."""

    batch_size: int  # n, rows
    gradient: NamedTuple  # the estimator, prepared for `copy`
    copy: NamedTuple  # the model with row blocks


@init_memory.register(Blocked)
def _(gradient, model, theta, rng):
    return init_memory(gradient.gradient, gradient.copy, theta, rng)


@estimate.register(Blocked)
def _(gradient, memory, model, work, theta, rng, out):
    estimate(gradient.gradient, memory, gradient.copy, work, theta, rng, out)


class Terms(NamedTuple):
    """The likelihood terms that an estimator draws: single rows or row blocks."""

    model: NamedTuple
    block_size: int  # k, 1 for single rows
    order: np.ndarray  # (N,) in which rows are assigned to blocks

    @property
    def min_per_stratum(self):
        """Least number of terms to draw from a stratum, so that prefetching pays."""
        return 1 if self.block_size == 1 else 2

    def table(self, values):
        """Return (m, N) values of the rows in the order of these terms."""
        if self.block_size == 1:  # the values of a row are adjacent in memory
            return np.asfortranarray(values)
        return np.stack([padded(row, self.order, self.block_size) for row in values])

    def sums(self, values):
        """Return the sum of one value per row over the rows of each term."""
        k = self.block_size
        if k == 1:
            return values
        return padded(values, self.order, k).reshape(-1, k).sum(axis=1)

    def size(self, batch_size):
        """Return how many terms have at least `batch_size` rows."""
        return -(-batch_size // self.block_size)

    def estimator(self, gradient, batch_size):
        """Return an estimator, prepared for these terms, for use with the model."""
        if self.block_size == 1:
            return gradient
        return Blocked(batch_size, gradient, self.model)


def terms_of(model, batch_size, classes=None):
    """Return row blocks if they are worthwhile, otherwise the rows of the model.

    The order of rows is random. If the function `classes` is given, which returns a
    label for each row, rows with equal labels stay together.
    """
    k = rows_per_term(model)
    if k == 1 or batch_size < MIN_BLOCKS_DRAWN * k:
        return Terms(model, 1, None)
    # The data do not depend on this order, so a fixed seed is as good as any.
    order = np.random.default_rng(0).permutation(n_rows(model))
    if classes is not None:
        order = order[np.argsort(classes()[order], kind="stable")]
    return Terms(for_kernels(in_blocks(model, order)), k, order)
