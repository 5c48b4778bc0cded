"""Row blocks: a shuffled copy of a dense matrix that is faster to read.

Reading single rows at random is limited by the latency of memory. A block of k rows
that are adjacent in memory is read in one stream, and multiplied k rows at a time (see
`lanes`). An index refers to a whole block, so that a minibatch is a uniform set of
blocks: a cluster sample.

All rows are drawn equally often, so estimates are unbiased for any order of the rows.
In a random order their variance is, on average over orders, that of single rows. In the
one order that a run uses, the covariance of the noise is that of N / k blocks instead
of N rows, and differs from the average by about sqrt(d k / N) in d dimensions. Blocks
are only used if this is small (`MIN_BLOCKS`).
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

MIN_BLOCKS = 32  # per parameter, for a relative error of the noise covariance of 18 %
MAX_BYTES = 2**30  # of the copy
CHUNK = 512  # blocks that are copied together


class RowBlocks(NamedTuple):
    """Blocks of k rows; the last block is padded with zeros."""

    data: np.ndarray  # (B, p, k) block, feature, row


def rows_per_block(rows, n_parameters):
    """Return k, or 1 if a copy in blocks is not worthwhile or needs too much memory."""
    if not isinstance(rows, np.ndarray) or _is_mapped(rows) or rows.nbytes > MAX_BYTES:
        return 1
    k = LINE // rows.itemsize
    return k if len(rows) >= MIN_BLOCKS * k * n_parameters else 1


def as_blocks(x, order, intercept):
    """Return the rows of `x` in this order as blocks; an intercept adds a column 1."""
    (n, p), k = x.shape, LINE // x.itemsize
    data = np.zeros((-(-n // k), p + int(intercept), k), x.dtype)
    whole, rest = divmod(n, k)
    buffer = np.empty((CHUNK * k, p), x.dtype)
    for first in range(0, whole, CHUNK):
        part = data[first : min(first + CHUNK, whole)]
        rows = buffer[: len(part) * k]
        chosen = order[first * k : (first + len(part)) * k]
        np.take(x, chosen, axis=0, out=rows, mode="clip")  # "raise" would copy twice
        part[:, :p] = rows.reshape(-1, k, p).transpose(0, 2, 1)
    data[:, p:] = 1.0
    if rest:
        data[whole, :p, :rest] = x[order[whole * k :]].T
        data[whole, :, rest:] = 0.0
    return RowBlocks(data)


def padded(values, order, k):
    """Return one value per row in this order, padded with zeros to whole blocks."""
    out = np.zeros(-(-len(order) // k) * k, values.dtype)
    out[: len(order)] = values[order]
    return out


def _is_mapped(x):
    while isinstance(x, np.ndarray):
        x = x.base
    return isinstance(x, mmap.mmap)


@shape_rows.register(RowBlocks)
def _(rows):
    return rows.data.shape[0], rows.data.shape[1]


@rows_at_index.register(RowBlocks)
def _(rows):
    return rows.data.shape[2]


@take_values.register(RowBlocks)
def _(rows, idx, values, out):
    for b in range(idx.size):
        copy_lanes(values, idx[b], out, b * rows.data.shape[2])


@dot_rows.register(RowBlocks)
def _(rows, idx, coef, out):
    for b in range(idx.size):
        dot_lanes(rows.data, idx[b], coef, out, b * rows.data.shape[2])


@add_rows.register(RowBlocks)
def _(rows, idx, weights, out):
    add_lanes(rows.data, idx, weights, out)
