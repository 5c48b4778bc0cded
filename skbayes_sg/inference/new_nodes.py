"""Memberships of new nodes, by their links to the nodes of a fitted graph."""

import numpy as np

from skbayes_sg.inference.graphs import ALMOST_ONE
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.blockmodel import Blockmodel, set_rates
from skbayes_sg.kernels.models.blockmodel_degrees import DegreeBlockmodel
from skbayes_sg.kernels.models.blockmodel_new_nodes import add_node_moments
from skbayes_sg.kernels.protocol.model import init_work, theta_of

BURN_IN, SWEEPS = 10, 10  # draws of a node given each draw of all others


def new_memberships(links, draws):
    """Return mean and variance of the memberships of new nodes, (m, K) each.

    Equal nodes have equal results: the random numbers are the same for all.

    Parameters
    ----------
    links : CSR array of shape (m, n)
        Links of new nodes to those of the graph, in increasing order.
    draws : GraphDraws
        Of the graph.
    """
    m, n = links.shape
    k = draws.link_rates.shape[-1]
    degrees = np.concatenate([np.zeros(n, np.int64), np.diff(links.indptr)])
    kind = DegreeBlockmodel if draws.activity.shape[-1] else Blockmodel
    model = kind(
        indptr=np.concatenate([[0], np.cumsum(degrees)]).astype(np.int64),
        indices=links.indices.astype(np.int32),
        hidden_indptr=np.zeros(n + m + 1, np.int64),
        hidden=np.zeros(0, np.int32),
        alpha=np.ones(k),
        link_prior=np.ones(2),
        background_prior=np.ones(2),
        learns_background=False,
        learns_alpha=False,
    )
    model, mean, square = for_kernels(model), np.zeros((m, k)), np.zeros((m, k))
    work, n_draws = init_work(model), draws.background.size
    for s, at in enumerate(np.ndindex(draws.background.shape)):
        _set_nodes(model, work, draws, at)
        for i in range(m):
            rng, moments = np.random.default_rng(s), (mean[i], square[i])
            add_node_moments(model, work, n + i, rng, BURN_IN, SWEEPS, *moments)
    mean, square = mean / n_draws, square / n_draws
    return mean, np.maximum(square - mean**2, 0.0)


def _set_nodes(model, work, draws, at):
    """Write a draw of a graph to `work`, and equal memberships of new nodes."""
    pi, k = draws.memberships[at], draws.link_rates.shape[-1]
    rates = np.append(draws.link_rates[at], draws.background[at])
    if isinstance(model, Blockmodel):
        set_rates(model, work, theta_of(model, np.append(rates, draws.prior[at])))
        work.pi[: len(pi)], work.pi[len(pi) :] = pi, 1.0 / k
        work.total[:] = work.pi[: len(pi)].sum(axis=0, dtype=np.float64)
        return
    work.loss[:] = -np.log1p(-np.minimum(rates.astype(np.float64), ALMOST_ONE))
    work.alpha[:] = draws.prior[at]
    work.shape[:] = draws.activity_shape[at]
    work.activity[: len(pi)], work.activity[len(pi) :] = draws.activity[at], 1.0
    work.mass[: len(pi)] = pi * draws.activity[at][:, None]
    work.mass[len(pi) :] = 1.0 / k
    work.total[:] = work.mass[: len(pi)].sum(axis=0, dtype=np.float64)
