"""What draws of communities say of nodes and of links."""

from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.alignment import align

ALIGNED_NODES = 20_000  # from which labels are matched, evenly spread
PAIRS_AT_ONCE = 2**20  # of a pair of nodes and a community
ALMOST_ONE = 1.0 - 2.0**-24  # the largest probability of single precision


class GraphDraws(NamedTuple):
    """Draws of memberships and rates, in their parts."""

    memberships: np.ndarray  # (n_chains, n_draws, n, K)
    link_rates: np.ndarray  # (n_chains, n_draws, K)
    background: np.ndarray  # (n_chains, n_draws)
    prior: np.ndarray  # (n_chains, n_draws, K)
    activity: np.ndarray  # (n_chains, n_draws, n), or (n_chains, n_draws, 0) if all one

    @classmethod
    def of(cls, draws, n_nodes: int, n_components: int) -> "GraphDraws":
        """Return views of recorded draws, (n_chains, n_draws, dim)."""
        n, k, shape = n_nodes, n_components, draws.shape[:2]
        return cls(
            draws[..., : n * k].reshape(*shape, n, k),
            draws[..., n * k : n * k + k],
            draws[..., n * k + k],
            draws[..., n * k + k + 1 : n * k + 2 * k + 1],
            draws[..., n * k + 2 * k + 1 :],
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
