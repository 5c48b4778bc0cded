"""What draws of communities say of nodes and of links."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.alignment import align

ALIGNED_NODES = 20_000  # from which labels are matched, evenly spread
PAIRS_AT_ONCE = 2**20  # of a pair of nodes and a community
SCORED_DRAWS, SCORED_LINKS = 10, 100_000  # at most, evenly spread
ALMOST_ONE = 1.0 - 2.0**-24  # the largest probability of single precision


class GraphDraws(NamedTuple):
    """Draws of memberships and rates, in their parts."""

    memberships: np.ndarray  # (n_chains, n_draws, n, K)
    link_rates: np.ndarray  # (n_chains, n_draws, K)
    background: np.ndarray  # (n_chains, n_draws)
    prior: np.ndarray  # (n_chains, n_draws, K)
    activity: np.ndarray  # (n_chains, n_draws, n), or (n_chains, n_draws, 0) if all one
    activity_shape: np.ndarray  # (n_chains, n_draws, 1), or (n_chains, n_draws, 0)

    @classmethod
    def of(cls, draws, n_nodes: int, n_components: int) -> "GraphDraws":
        """Return views of recorded draws, (n_chains, n_draws, dim)."""
        n, k, shape = n_nodes, n_components, draws.shape[:2]
        return cls(
            draws[..., : n * k].reshape(*shape, n, k),
            draws[..., n * k : n * k + k],
            draws[..., n * k + k],
            draws[..., n * k + k + 1 : n * k + 2 * k + 1],
            draws[..., n * k + 2 * k + 1 : n * k + 2 * k + 1 + n],
            draws[..., n * k + 2 * k + 1 + n :],
        )

    def probabilities(self, at, pairs):
        """Return link probabilities of (m, 2) pairs of nodes, given the draw `at`."""
        pi, activity = self.memberships[at], self.activity[at].astype(np.float64)
        rates = np.append(self.link_rates[at], self.background[at]).astype(np.float64)
        if activity.size:
            rates = -np.log1p(-np.minimum(rates, ALMOST_ONE))
        values, size = np.empty(len(pairs)), max(1, PAIRS_AT_ONCE // rates.size)
        for first in range(0, len(pairs), size):
            a, b = pairs[first : first + size].T
            together = pi[a].astype(np.float64) * pi[b]
            value = rates[-1] + together @ (rates[:-1] - rates[-1])
            if activity.size:
                value = -np.expm1(-activity[a] * activity[b] * value)
            values[first : first + size] = value
        return np.clip(values, 1e-15, 1.0 - 1e-15)


def align_draws(draws, n_nodes, n_components, *others):
    """Give the communities of recorded draws the same labels, in place.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, dim)
        As recorded.
    n_nodes, n_components : int
        n and K.
    *others : ndarray of shape (n_chains, n_draws, dim)
        To be put into the same order, variances for instance.

    Returns
    -------
    affinity : ndarray of shape (n_chains, n_components)
        With the mean over all draws, averaged over the draws of a chain.
    """
    shape, k = draws.shape[:2], n_components
    every = -(-n_nodes // ALIGNED_NODES)
    pi = GraphDraws.of(draws, n_nodes, k).memberships[:, :, ::every]
    found = align([law.T for law in pi.reshape(-1, *pi.shape[2:])])
    for values in (draws, *others):
        parts = GraphDraws.of(values, n_nodes, k)
        for i, at in enumerate(np.ndindex(shape)):
            for part in (parts.memberships, parts.link_rates, parts.prior):
                part[at] = part[at][..., found.order[i]]
    return found.affinity.reshape(*shape, k).mean(axis=1)


def link_moments(draws, weights, pairs):
    """Return mean and variance over draws of the link probabilities of pairs.

    `weights` are those of the draws of a chain, (n_draws,).
    """
    mean, square = np.zeros(len(pairs)), np.zeros(len(pairs))
    for at in np.ndindex(draws.background.shape):
        p, weight = draws.probabilities(at, pairs), weights[at[1]]
        mean += weight * p
        square += weight * p**2
    mean, square = mean / len(draws.background), square / len(draws.background)
    return mean, np.maximum(square - mean**2, 0.0)


def chain_scores(model, draws):
    """Return the log likelihood of the graph, per link, of the draws of each chain.

    No order of the communities changes it. Pairs without a link count by their
    geometric means, which is exact with activities.

    Parameters
    ----------
    model : Blockmodel, DegreeBlockmodel or PairBlockmodel
        Its graph, and the pairs that are not known.
    draws : GraphDraws
        Of the chains.

    Returns
    -------
    scores : ndarray of shape (n_chains,)
        Averages over draws and links, some of them where there are many.
    """
    n_chains, n_draws = draws.background.shape
    links = _some_pairs(model.indptr, model.indices, SCORED_LINKS)
    hidden = _some_pairs(model.hidden_indptr, model.hidden, SCORED_LINKS)
    some = np.unique(np.linspace(0, n_draws - 1, SCORED_DRAWS).round().astype(int))
    each = [
        [_score(draws, (chain, draw), links, hidden) for draw in some]
        for chain in range(n_chains)
    ]
    return np.mean(each, axis=1) / max(1.0, model.indices.size / 2)


class _Pairs(NamedTuple):
    """Pairs of nodes, and how many pairs each of them stands for."""

    ends: np.ndarray  # (m, 2)
    weight: float


def _some_pairs(indptr, indices, at_most):
    """Return pairs of the lists of all nodes, each of which is listed twice."""
    every = max(1, -(-indices.size // (2 * at_most)))
    places = np.arange(0, indices.size, every)
    a = np.searchsorted(indptr, places, side="right") - 1
    weight = indices.size / (2 * max(1, places.size))
    return _Pairs(np.stack([a, indices[places]], axis=1), weight)


def _score(draws, at, links, hidden):
    """Return the log likelihood of a draw."""
    pi, activity = draws.memberships[at], draws.activity[at].astype(np.float64)
    activity = activity if activity.size else np.ones(len(pi))
    rates = np.append(draws.link_rates[at], draws.background[at]).astype(np.float64)
    loss = -np.log1p(-np.minimum(rates, ALMOST_ONE))
    gap, score = loss[:-1] - loss[-1], 0.0

    def pair_sum(mass):
        return 0.5 * (mass.sum(axis=0) ** 2 - (mass**2).sum(axis=0))

    score -= loss[-1] * pair_sum(activity) + pair_sum(pi * activity[:, None]) @ gap
    for pairs, linked in ((links, True), (hidden, False)):
        for first in range(0, len(pairs.ends), PAIRS_AT_ONCE // loss.size + 1):
            ends = pairs.ends[first : first + PAIRS_AT_ONCE // loss.size + 1]
            a, b = ends.T
            value = loss[-1] + (pi[a].astype(np.float64) * pi[b]) @ gap
            value *= activity[a] * activity[b]
            if linked:
                value += np.log(draws.probabilities(at, ends))
            score += pairs.weight * value.sum()
    return score
