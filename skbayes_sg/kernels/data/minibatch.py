"""Row indices: uniform minibatches without replacement, and all rows in order.

A minibatch is the head of a permutation of all rows, which is kept between draws. A
partial Fisher-Yates shuffle makes the head a uniform subset, whatever the permutation
was before, in O(n) operations.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper

INDEX = np.int32
CHUNK = 1024  # row indices of a pass that are processed together


class MinibatchMemory(NamedTuple):
    """The permutation whose head is the minibatch."""

    permutation: np.ndarray  # (N,)


@helper
def draw_minibatch(permutation, size, rng):
    """Return `size` distinct row indices, a view of the head of `permutation`."""
    n = permutation.size
    if size < n:
        for k in range(size):
            j = k + int(rng.random() * (n - k))
            permutation[k], permutation[j] = permutation[j], permutation[k]
    return permutation[:size]


@helper
def row_buffer():
    """Return a buffer for `fill_rows`."""
    return np.empty(CHUNK, INDEX)


@helper
def fill_rows(buffer, first, n):
    """Return the row indices from `first` on, as many as fit, in `buffer`."""
    count = min(buffer.size, n - first)
    for k in range(count):
        buffer[k] = first + k
    return buffer[:count]
