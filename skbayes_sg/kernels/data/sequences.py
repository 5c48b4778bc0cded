"""Sequences cut into blocks with buffers: the rows of models of dependent data.

Sequences follow one another in X, (T, p). Each is cut into blocks of S points, the last
one shorter, and a block is a row of the protocol: the log-likelihood is the sum over
blocks of log p(block | past). What the points before and after a block say of its
states is computed from a window, the block and up to B points on both sides of it
(Ma, Foti & Fox, 2017; Aicher et al., 2019). A window never crosses the end of its
sequence, where the law of the first state, and no buffer, applies.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper


class Blocks(NamedTuple):
    """Blocks of sequences: points first ... last - 1 of sequence begin ... end - 1."""

    first: np.ndarray  # (N,) int64
    last: np.ndarray  # (N,)
    begin: np.ndarray  # (N,) of the sequence to which the block belongs
    end: np.ndarray  # (N,)
    buffer_length: int  # B
    weight: float  # of the log-likelihood of each block


@helper
def window(blocks, i):
    """Return the first point of the window of block i, and the one after its last."""
    low = max(blocks.begin[i], blocks.first[i] - blocks.buffer_length)
    high = min(blocks.end[i], blocks.last[i] + blocks.buffer_length)
    return low, high


def make_blocks(lengths, block_length=None, buffer_length=0, weight=1.0):
    """Cut sequences of given lengths into blocks.

    Parameters
    ----------
    lengths : array-like of shape (n_sequences,)
        Lengths, all positive.
    block_length : int, default=None
        Points per block S; None makes one block of each sequence.
    buffer_length : int, default=0
        Points B on both sides of a block.
    weight : float, default=1.0
        Factor of the log-likelihood.

    Returns
    -------
    blocks : Blocks
        In the order of their points.

    Examples
    --------
    >>> from skbayes_sg.kernels.data.sequences import make_blocks
    >>> blocks = make_blocks([5, 2], block_length=3)
    >>> blocks.first, blocks.last, blocks.end
    (array([0, 3, 5]), array([3, 5, 7]), array([5, 5, 7]))
    """
    lengths = np.asarray(lengths, np.int64)
    ends = np.cumsum(lengths)
    size = lengths if block_length is None else np.int64(block_length)
    counts = -(-lengths // size)
    begin, end = np.repeat(ends - lengths, counts), np.repeat(ends, counts)
    number = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
    size = np.repeat(size, counts) if block_length is None else size
    first = begin + number * size
    last = np.minimum(first + size, end)
    return Blocks(first, last, begin, end, int(buffer_length), float(weight))


def select_blocks(blocks, rows, factor=1.0):
    """Return some of the blocks, with weights multiplied by `factor`."""
    parts = (part[rows] for part in blocks[:4])
    return Blocks(*parts, blocks.buffer_length, blocks.weight * factor)


def longest_window(blocks):
    """Return the number of points of the longest window."""
    low = np.maximum(blocks.begin, blocks.first - blocks.buffer_length)
    high = np.minimum(blocks.end, blocks.last + blocks.buffer_length)
    return int(np.max(high - low))
