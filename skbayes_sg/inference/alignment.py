"""Alignment of the components of a mixture across all draws of all chains.

The posterior of a mixture does not change if its components are permuted, so every
chain labels them in its own order (label switching). Two components are compared by the
Hellinger affinity of their distributions, sum_w sqrt(p_w q_w), which is one for equal
and zero for disjoint distributions.
"""

from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

ROUNDS = 2  # repetitions, each with the mean of the aligned draws as the reference


class Alignment(NamedTuple):
    """The label of each component of each draw."""

    order: np.ndarray  # (n, K): the component of draw i that gets the label k
    affinity: np.ndarray  # (n, K) of that component with the reference's


def hellinger_affinity(p, q):
    """Return the affinity of all rows of p, (K, W), with all rows of q, (K, W).

    Parameters
    ----------
    p, q : ndarray of shape (K, W)
        Rows are distributions; they need not sum to one.

    Returns
    -------
    affinity : ndarray of shape (K, K)
        Between 0 and 1.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg.inference.alignment import hellinger_affinity
    >>> hellinger_affinity(np.eye(2), np.array([[1.0, 1.0], [0.0, 1.0]])).round(2)
    array([[0.71, 0.  ],
           [0.71, 1.  ]])
    """
    return _roots(p) @ _roots(q).T


def _roots(p):
    """Return roots of the normalized rows, in single precision if the rows are."""
    p = np.asarray(p)
    p = p if p.dtype == np.float32 else p.astype(np.float64)
    scale = p.sum(axis=1, dtype=np.float64, keepdims=True) ** -0.5
    return np.sqrt(p) * scale.astype(p.dtype)


def align(distributions, reference=None):
    """Match the components of each draw with those of a reference.

    Parameters
    ----------
    distributions : sequence of n ndarrays of shape (K, W)
        The distributions of the components of each draw; rows need not sum to one.
    reference : ndarray of shape (K, W), default=None
        The distributions that define the labels. None starts with the first draw and
        then twice uses the mean of the draws aligned so far.

    Returns
    -------
    alignment : Alignment
        The order of each draw's components and their affinities.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg.inference.alignment import align
    >>> first = np.array([[0.9, 0.1], [0.2, 0.8]])
    >>> align([first, first[::-1]]).order
    array([[0, 1],
           [1, 0]])
    """
    rounds = ROUNDS if reference is None else 0
    reference = distributions[0] if reference is None else reference
    found = _match(distributions, reference)
    for _ in range(rounds):
        total = 0.0
        for p, order in zip(distributions, found.order, strict=True):
            scale = 1.0 / np.sum(p, axis=1, dtype=np.float64)
            total = total + scale[order, None] * np.asarray(p)[order]
        last, found = found, _match(distributions, total)
        if np.array_equal(last.order, found.order):
            break
    return found


def _match(distributions, reference):
    root, orders, values = _roots(reference), [], []
    for distribution in distributions:
        other = _roots(distribution)
        affinity = np.minimum(root.astype(other.dtype) @ other.T, 1.0, dtype=np.float64)
        rows, order = linear_sum_assignment(affinity, maximize=True)
        orders.append(order)
        values.append(affinity[rows, order])
    return Alignment(np.array(orders), np.array(values))
