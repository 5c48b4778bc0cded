"""Preferential minibatches: rows that matter more are drawn more often.

    g = grad log p(theta) + sum_{i in S} grad log f(y_i | theta) / w_i,
    w_i = expected number of times that i is in S

The variance is least where w_i grows with the size of row i's gradient. Rows of similar
weight form strata that share the draws equally, without replacement: the few heavy rows
are drawn often or always, the many light ones seldom. So w_i is n_s/N_s of the row's
stratum, and hardly less than n/N divided by `N_CLASSES`: bad weights cost no more.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.gradients.stratified import (
    Design,
    allocate,
    draw_stratum,
    make_design,
)
from skbayes_sg.kernels.minibatch import MinibatchMemory
from skbayes_sg.kernels.ops import (
    add_gradient,
    add_prior_gradient,
    estimate,
    implements,
    init_memory,
    leverages,
    n_rows,
    prepare,
)

N_CLASSES = 16  # strata of similar weight


class Weighted(NamedTuple):
    """Rows drawn in proportion to weights.

    Weights not given follow from the data: the square root of a row's leverage at the
    mode, or without a mode its norm, each feature in units of its root mean square.
    """

    batch_size: int  # n
    mode: np.ndarray = None  # (d,)
    weights: np.ndarray = None  # (N,) how often to draw each row, up to a factor
    design: Design = None


@prepare.register(Weighted)
def _(gradient, model):
    weights = gradient.weights
    if weights is None:
        weights = np.sqrt(model_leverages(model, gradient.mode))
    weights = check_weights(weights, model)
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
        add_gradient(model, work, theta, idx, scale, out)


def model_leverages(model, mode):
    """Return the model's leverages, or say that it has none."""
    if not implements(leverages, model):
        raise ValueError(
            f"{type(model).__name__} cannot tell which rows matter; give weights"
        )
    return leverages(model, mode)


def check_weights(weights, model):
    """Return weights of the model's rows as an array, or say what is wrong."""
    weights = np.asarray(weights, np.float64)
    if weights.shape != (n_rows(model),):
        raise ValueError(
            f"weights has shape {weights.shape}; one per row is ({n_rows(model)},)"
        )
    if not (np.all(weights >= 0) and 0 < weights.sum() < np.inf):
        raise ValueError("weights must be finite, not negative and not all zero")
    return weights


def weighted_design(n, weights):
    """Return strata of similar weights, each with the same share of the draws."""
    order = np.argsort(weights, kind="stable")
    mass = np.cumsum(weights[order]) - 0.5 * weights[order]
    n_classes = min(N_CLASSES, n)
    labels = np.empty(weights.size, np.int64)
    labels[order] = np.minimum(n_classes * mass / weights.sum(), n_classes - 1)
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    return make_design(labels, allocate(n, sizes, np.bincount(labels, weights)))
