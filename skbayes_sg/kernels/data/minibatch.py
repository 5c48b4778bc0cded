"""Drawing uniform minibatches of row indices without replacement.

A minibatch is the head of a permutation of all rows that persists between draws. One
partial Fisher-Yates pass makes the head a uniform subset whatever the permutation was,
at O(n) per draw.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper

INDEX = np.int32


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
