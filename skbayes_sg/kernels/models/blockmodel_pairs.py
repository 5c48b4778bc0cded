"""The blockmodel whose parameters are memberships, for minibatches of pairs of nodes.

    pi_ak = theta_ak / sum_j theta_aj,    theta_ak ~ Gamma(alpha, 1)
    beta_k = t_k1 / (t_k0 + t_k1),        t ~ Gamma(prior, 1), the same of delta

A row is a pair of nodes a < b, by the number a n + b. Few pairs are linked: one half of
a minibatch are links, drawn from all of them, the other half pairs without a link, each
weighted by how rarely it is drawn (Li, Ahn & Welling, 2016). With f = p_ab of a link,
1 - p_ab of none, s = 1 and -1, and c_k = delta + pi_bk (beta_k - delta),

    d log f / d theta_ak = s (c_k - p_ab) / (f sum_j theta_aj)

which Riemannian Langevin steps multiply by theta_ak, as published code does not.

    theta = theta, (n, K);  t_k1 and t_k0 of each community and of the background
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.strata import choose_rows
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_events import contains
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_recorded,
    n_rows,
    record,
    theta_of,
)

MAX_NODES = 46_340  # whose pairs have numbers of 32 bits


class PairBlockmodel(NamedTuple):
    """An undirected graph, and the priors."""

    indptr: np.ndarray  # (n + 1,) int64: where the neighbors of each node begin
    indices: np.ndarray  # (2 n_links,) int32: the neighbors, in increasing order
    hidden_indptr: np.ndarray  # (n + 1,) int64: the same of pairs that are not known
    hidden: np.ndarray  # (2 n_hidden,) int32
    alpha: np.ndarray  # (K,)
    link_prior: np.ndarray  # (2,) Beta law of each beta_k
    background_prior: np.ndarray  # (2,) Beta law of delta


class PairWork(NamedTuple):
    """What one pair needs."""

    rows: np.ndarray  # (3, K + 1): pi_a, pi_b, and the rates


@n_parameters.register(PairBlockmodel)
def _(model):
    k = model.alpha.size
    return (model.indptr.size - 1) * k + 2 * (k + 1)


@n_rows.register(PairBlockmodel)
def _(model):
    n = model.indptr.size - 1
    return n * (n - 1) // 2 - model.hidden.size // 2


@n_recorded.register(PairBlockmodel)
def _(model):
    return (model.indptr.size + 1) * model.alpha.size + 1


@init_work.register(PairBlockmodel)
def _(model):
    return PairWork(np.zeros((3, model.alpha.size + 1)))


@choose_rows.register(PairBlockmodel)
def _(model, work, rng, idx, scale):
    n, half = model.indptr.size - 1, (idx.size + 1) // 2
    n_links = model.indices.size // 2
    n_missing = n_rows(model) - n_links
    for i in range(idx.size):
        a, b, linked = 0, 0, i < half
        while a == b:
            if linked:
                place = int(rng.random() * model.indices.size)
                a = int(np.searchsorted(model.indptr, place, side="right")) - 1
                b = int(model.indices[place])
            else:
                a, b = int(rng.random() * n), int(rng.random() * n)
                if _is_known(model, a, b):
                    b = a
        idx[i] = min(a, b) * n + max(a, b)
        scale[i] = n_links / half if linked else n_missing / (idx.size - half)


@helper
def _is_known(model, a, b):
    """Whether a pair is linked, or hidden."""
    first, last = model.hidden_indptr[a], model.hidden_indptr[a + 1]
    return is_linked(model, a, b) or contains(model.hidden, first, last, b)


@helper
def is_linked(model, a, b):
    """Whether two nodes are linked."""
    return contains(model.indices, model.indptr[a], model.indptr[a + 1], b)


@helper
def unpack(model, theta, a, out):
    """Write the memberships of node a to `out`, the rates for a = n; return the sum."""
    k, total = model.alpha.size, 0.0
    if a == model.indptr.size - 1:
        for j in range(k + 1):
            hit, miss = theta[a * k + 2 * j], theta[a * k + 2 * j + 1]
            out[j] = hit / (hit + miss)
        return total
    for j in range(k):
        total += theta[a * k + j]
    for j in range(k):
        out[j] = theta[a * k + j] / total
    return total


@record.register(PairBlockmodel)
def _(model, work, theta, out):
    n, k = model.indptr.size - 1, model.alpha.size
    for a in range(n):
        unpack(model, theta, a, out[a * k : (a + 1) * k])
    unpack(model, theta, n, out[n * k : n * k + k + 1])
    out[n * k + k + 1 :] = model.alpha


@theta_of.register(PairBlockmodel)
def _(model, draw):
    # Masses are not recorded: those of the prior.
    n, k = model.indptr.size - 1, model.alpha.size
    rates = np.asarray(draw[n * k : n * k + k + 1], np.float64)
    pairs = np.stack([rates, 1.0 - rates], axis=1) * model.link_prior.sum()
    memberships = draw[: n * k] * model.alpha.sum()
    return np.maximum(np.append(memberships, pairs), 1e-300)
