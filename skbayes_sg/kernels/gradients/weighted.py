"""Weighted minibatches: more important rows are drawn more often.

    g = grad log p(theta) + sum_{i in S} grad log f(y_i | theta) / w_i,
    w_i = expected number of times that i is in S

The variance is smallest if w_i is proportional to the size of row i's gradient. Rows of
similar weight form strata of which equal numbers are drawn without replacement: the few
rows of large weight are drawn often or always, the many others rarely. Hence w_i is
n_s/N_s of the row's stratum, and hardly less than n/N divided by `N_CLASSES`, which
limits the damage that bad weights can do.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import add_fresh_gradient
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.data.minibatch import MinibatchMemory
from skbayes_sg.kernels.generic import implements
from skbayes_sg.kernels.gradients.stratified import (
    Design,
    allocate,
    draw_stratum,
    make_design,
)
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_prior_gradient, n_rows

N_CLASSES = 16  # strata of similar weight


class Weighted(NamedTuple):
    """Rows drawn in proportion to weights, by default the roots of their leverages."""

    batch_size: int = None  # n; None: to be chosen
    mode: np.ndarray = None  # (d,) where leverages are taken
    weights: np.ndarray = None  # (N,) how often to draw each row, up to a factor
    design: Design = None


@prepare.register(Weighted)
def _(gradient, model):
    # In units of posterior sds, |g_i| is about the root of the leverage.
    weights = row_weights(gradient, model, np.sqrt)
    design = weighted_design(gradient.batch_size, weights)
    return Weighted(gradient.batch_size, np.empty(0), weights, design)


@init_memory.register(Weighted)
def _(gradient, model, theta, rng):
    return MinibatchMemory(gradient.design.rows.copy())


@estimate.register(Weighted)
def _(gradient, memory, model, work, theta, rng, out):
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    for s in range(gradient.design.counts.size):
        idx, scale = draw_stratum(gradient.design, memory, s, rng)
        add_fresh_gradient(model, work, theta, idx, scale, rng, out)


def row_weights(gradient, model, of_leverages):
    """Return the given weights after a check, or a function of leverages."""
    weights, n = gradient.weights, n_rows(model)
    if weights is None:
        if gradient.mode is None or not implements(leverages, model):
            raise ValueError(
                f"{type(model).__name__} needs a mode and leverages() to choose "
                "weights of rows; give weights"
            )
        weights = of_leverages(leverages(model, gradient.mode))
    weights = np.asarray(weights, np.float64)
    if weights.shape != (n,):
        raise ValueError(f"weights has shape {weights.shape}; one per row is ({n},)")
    if not (np.all(weights >= 0) and 0 < weights.sum() < np.inf):
        raise ValueError("weights must be finite, not negative and not all zero")
    return weights


def weighted_design(n, weights, min_per_stratum=1):
    """Return strata of similar weights, from which about equal numbers are drawn.

    There are so few strata that these numbers are at least `min_per_stratum`.
    """
    labels = weight_classes(weights, min(N_CLASSES, max(1, n // min_per_stratum)))
    sizes = np.bincount(labels)
    if not sizes.all():
        present = np.flatnonzero(sizes)
        new = np.searchsorted(present, np.arange(N_CLASSES)).astype(labels.dtype)
        labels, sizes = new[labels], sizes[present]
    shares = np.bincount(labels, weights)
    return make_design(labels, allocate(n, sizes, shares))


def weight_classes(weights, n_classes=N_CLASSES):
    """Return labels of classes of similar weights, whose sums are about equal."""
    ordered = np.sort(weights)
    mass = np.cumsum(ordered)
    shares = mass[-1] * np.arange(1, n_classes) / n_classes
    edges = ordered[np.searchsorted(mass, shares)]
    # As small integers, which numpy sorts in linear time.
    return np.searchsorted(edges, weights).astype(np.uint8)
