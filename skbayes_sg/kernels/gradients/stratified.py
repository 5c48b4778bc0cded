"""Stratified minibatches (Sen, Sachs, Lu & Dunson, 2020, for imbalanced classes).

    g = grad log p(theta) + sum_s N_s/n_s sum_{i in S_s} grad log f(y_i | theta)

The rows are divided into strata s of N_s rows, from which n_s rows are drawn without
replacement. Differences between strata then do not contribute to the variance.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import add_fresh_gradient
from skbayes_sg.kernels.capabilities.strata import row_classes
from skbayes_sg.kernels.data.minibatch import INDEX, MinibatchMemory, draw_minibatch
from skbayes_sg.kernels.generic import helper, implements
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_prior_gradient, n_rows


class Design(NamedTuple):
    """Strata, and how many rows to draw from each."""

    rows: np.ndarray  # (N,) all rows, ordered by stratum
    starts: np.ndarray  # (S + 1,) where each stratum begins in `rows`
    counts: np.ndarray  # (S,) n_s


class Stratified(NamedTuple):
    """Rows drawn within strata, in proportion to their sizes."""

    batch_size: int = None  # n; None: to be chosen
    strata: np.ndarray = None  # (N,) labels; None: the model's classes
    design: Design = None


@prepare.register(Stratified)
def _(gradient, model):
    labels = gradient.strata
    if labels is None:
        if not implements(row_classes, model):
            raise ValueError(f"{type(model).__name__} has no classes; give strata")
        labels = row_classes(model)
    labels = np.asarray(labels)
    if labels.shape != (n_rows(model),):
        raise ValueError(
            f"strata has shape {labels.shape}; one label per row is ({n_rows(model)},)"
        )
    _, labels, sizes = np.unique(labels, return_inverse=True, return_counts=True)
    design = make_design(labels, allocate(gradient.batch_size, sizes, sizes))
    return gradient._replace(strata=labels, design=design)


@init_memory.register(Stratified)
def _(gradient, model, theta, rng):
    return MinibatchMemory(gradient.design.rows.copy())


@estimate.register(Stratified)
def _(gradient, memory, model, work, theta, rng, out):
    out[:] = 0.0
    add_prior_gradient(model, work, theta, out)
    for s in range(gradient.design.counts.size):
        idx, scale = draw_stratum(gradient.design, memory, s, rng)
        add_fresh_gradient(model, work, theta, idx, scale, rng, out)


@helper
def draw_stratum(design, memory, s, rng):
    """Return the rows drawn from stratum s and the factor N_s/n_s of their sum."""
    first, last = design.starts[s], design.starts[s + 1]
    idx = draw_minibatch(memory.permutation[first:last], design.counts[s], rng)
    return idx, (last - first) / idx.size


def make_design(labels, counts):
    """Return the design that draws ``counts[s]`` of the rows labeled s."""
    rows = np.argsort(labels, kind="stable").astype(INDEX)
    ends = np.cumsum(np.bincount(labels, minlength=counts.size))
    return Design(rows, np.concatenate(([0], ends)), counts)


def allocate(n, sizes, shares):
    """Return how many rows to draw from strata of given sizes, n in total.

    Numbers are proportional to `shares`, except for rounding, and between one and the
    size of the stratum.
    """
    if n < sizes.size:
        raise ValueError(
            f"batch_size={n} is less than the number of strata, {sizes.size}; every "
            "stratum needs a row in every minibatch"
        )
    ideal = n * shares / shares.sum()
    counts = np.clip(np.floor(ideal).astype(np.int64), 1, sizes)
    while (gap := n - counts.sum()) != 0:
        lack = np.sign(gap) * (ideal - counts)
        lack[counts == (sizes if gap > 0 else 1)] = -np.inf
        counts[np.argmax(lack)] += np.sign(gap)
    return counts
