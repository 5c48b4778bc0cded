"""Rows in blocks: a shuffled copy of a dense matrix, read at the speed of memory.

A gather of single rows waits for memory again and again; a block of k rows that lie
side by side comes in one stream, and is multiplied k rows at a time (`lanes`). An index
stands for a whole block, so a minibatch is a uniform set of blocks: a cluster sample.

Every row is in as many minibatches as any other, so estimates are unbiased for any
order of the rows. In a random order their variance is, on average over orders, that of
single rows; in the one order that a run uses, the covariance of the noise is that of
N / k blocks in place of N rows, and differs from the average by about sqrt(d k / N) in
d dimensions. Blocks are for data in which this is small (`MIN_BLOCKS`).
"""

import mmap
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data.rows import (
    add_rows,
    dot_rows,
    rows_at_index,
    shape_rows,
    take_values,
)
from skbayes_sg.kernels.numerics.lanes import LINE, add_lanes, copy_lanes, dot_lanes

MIN_BLOCKS = 32  # per parameter: the noise's covariance is known to some 18 %
MAX_BYTES = 2**30  # of a copy
CHUNK = 512  # blocks that are copied at once


class Blocks(NamedTuple):
    """Blocks of k rows; what is missing to whole blocks is filled with zeros."""

    data: np.ndarray  # (B, p, k) block, feature, row


def rows_per_block(rows, n_parameters):
    """Return k, or 1 where a copy in blocks does not pay or would take much memory."""
    if not isinstance(rows, np.ndarray) or _is_mapped(rows) or rows.nbytes > MAX_BYTES:
        return 1
    k = LINE // rows.itemsize
    return k if len(rows) >= MIN_BLOCKS * k * n_parameters else 1


def as_blocks(x, order, intercept):
    """Return the rows of `x` in this order, as blocks; an intercept is a last 1."""
    (n, p), k = x.shape, LINE // x.itemsize
    data = np.zeros((-(-n // k), p + int(intercept), k), x.dtype)
    whole, rest = divmod(n, k)
    for first in range(0, whole, CHUNK):
        part = data[first : min(first + CHUNK, whole)]
        rows = order[first * k : (first + len(part)) * k]
        part[:, :p] = x[rows].reshape(-1, k, p).transpose(0, 2, 1)
    data[:, p:] = 1.0
    if rest:
        data[whole, :p, :rest] = x[order[whole * k :]].T
        data[whole, :, rest:] = 0.0
    return Blocks(data)


def padded(values, order, k):
    """Return one value per row in this order, zeros up to whole blocks."""
    out = np.zeros(-(-len(order) // k) * k, values.dtype)
    out[: len(order)] = values[order]
    return out


def _is_mapped(x):
    while isinstance(x, np.ndarray):
        x = x.base
    return isinstance(x, mmap.mmap)


@shape_rows.register(Blocks)
def _(rows):
    return rows.data.shape[0], rows.data.shape[1]


@rows_at_index.register(Blocks)
def _(rows):
    return rows.data.shape[2]


@take_values.register(Blocks)
def _(rows, idx, values, out):
    for b in range(idx.size):
        copy_lanes(values, idx[b], out, b * rows.data.shape[2])


@dot_rows.register(Blocks)
def _(rows, idx, coef, out):
    for b in range(idx.size):
        dot_lanes(rows.data, idx[b], coef, out, b * rows.data.shape[2])


@add_rows.register(Blocks)
def _(rows, idx, weights, out):
    add_lanes(rows.data, idx, weights, out)
