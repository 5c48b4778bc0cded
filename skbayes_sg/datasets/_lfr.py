"""Benchmark graphs of Lancichinetti, Fortunato and Radicchi, with known communities."""

from typing import Any

import numpy as np
from scipy.optimize import brentq
from sklearn.utils import Bunch, check_random_state, check_scalar

from skbayes_sg.datasets._graphs import adjacency_of

_ROUNDS = 30  # of matching ends of links; those left over are dropped


def make_lfr_graph(
    n_nodes: int = 1000,
    *,
    mean_degree: float = 20.0,
    max_degree: float = 50.0,
    mixing: float = 0.2,
    community_sizes: tuple[int, int] = (20, 80),
    n_overlapping: int = 0,
    n_memberships: int = 2,
    random_state: Any = None,
) -> Bunch:
    """Simulate an LFR benchmark graph [1]_, which no blockmodel has generated.

    Degrees follow a power law with exponent 2, sizes of communities one with exponent
    1. Every node has a share `mixing` of its links outside of its communities, and its
    other links in equal parts inside of each of them. Links are drawn at random given
    all degrees; the few ends that find no partner are dropped.

    Parameters
    ----------
    n_nodes : int, default=1000
        Number of nodes.
    mean_degree, max_degree : float, default=20 and 50
        Links of a node, on average and at most.
    mixing : float, default=0.2
        Share of links to other communities, from 0 to 1.
    community_sizes : tuple of two ints, default=(20, 80)
        The least and the largest number of nodes, about.
    n_overlapping : int, default=0
        Nodes that belong to several communities.
    n_memberships : int, default=2
        Communities of each of these nodes.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : Bunch
        ``adjacency``, a symmetric CSR array of zeros and ones, and the truth
        ``communities``, (n_nodes, n_communities), whether a node belongs to each.

    References
    ----------
    .. [1] A. Lancichinetti and S. Fortunato (2009). Benchmarks for testing community
       detection algorithms on directed and weighted graphs with overlapping
       communities. Physical Review E 80.

    Examples
    --------
    >>> from skbayes_sg.datasets import make_lfr_graph
    >>> graph = make_lfr_graph(200, n_overlapping=20, random_state=0)
    >>> graph.adjacency.shape, int((graph.communities.sum(axis=1) == 2).sum())
    ((200, 200), 20)
    """
    _check(n_nodes, mean_degree, max_degree, mixing, n_overlapping, n_memberships)
    rng = check_random_state(random_state)
    degrees = _power_law(rng, n_nodes, mean_degree, max_degree)
    several = rng.permutation(n_nodes) < n_overlapping
    counts = np.where(several, n_memberships, 1)
    inside = np.rint((1.0 - mixing) * degrees / counts).astype(int)  # of each community
    sizes = _sizes(rng, counts.sum(), *community_sizes)
    if sizes.size < counts.max():
        raise ValueError(
            f"community_sizes={community_sizes!r} makes {sizes.size} communities, "
            f"fewer than n_memberships={n_memberships}"
        )
    belongs = _assigned(rng, counts, inside, sizes)
    found = np.zeros(0, np.int64)
    for column in belongs.T:
        members = np.flatnonzero(column)
        ends = np.repeat(members, np.minimum(inside[members], members.size - 1))
        found = _matched(rng, ends, found, n_nodes)
    outside = np.maximum(np.rint(degrees).astype(int) - counts * inside, 0)
    ends = np.repeat(np.arange(n_nodes), outside)
    found = _matched(rng, ends, found, n_nodes, belongs)
    pairs = np.stack([found // n_nodes, found % n_nodes], axis=1)
    return Bunch(adjacency=adjacency_of(pairs, n_nodes), communities=belongs)


def _check(n_nodes, mean_degree, max_degree, mixing, n_overlapping, n_memberships):
    check_scalar(n_nodes, "n_nodes", (int, np.integer), min_val=2)
    limits = {"min_val": 1, "max_val": n_nodes - 1}
    check_scalar(max_degree, "max_degree", (int, float), **limits)
    limits["max_val"] = max_degree
    check_scalar(mean_degree, "mean_degree", (int, float), **limits)
    check_scalar(mixing, "mixing", (int, float), min_val=0, max_val=1)
    limits = {"min_val": 0, "max_val": n_nodes}
    check_scalar(n_overlapping, "n_overlapping", (int, np.integer), **limits)
    check_scalar(n_memberships, "n_memberships", (int, np.integer), min_val=1)


def _power_law(rng, n, mean, highest):
    """Return draws with a density of x^-2 from some number to the highest."""

    def excess(lowest):
        share = lowest / highest
        return lowest * np.log(1.0 / share) / (1.0 - share) - mean

    if mean >= (1.0 - 1e-6) * highest:
        return np.full(n, float(highest))
    lowest = brentq(excess, 1e-9 * highest, (1.0 - 1e-9) * highest)
    return 1.0 / (1.0 / lowest - rng.uniform(size=n) * (1.0 / lowest - 1.0 / highest))


def _sizes(rng, total, lowest, highest):
    """Return sizes of communities, with a density of 1/x, that add up to `total`."""
    if not 1 <= lowest <= highest:
        raise ValueError(
            f"community_sizes={(lowest, highest)!r} must be two numbers of at least 1, "
            "the lower one first"
        )
    sizes: list[float] = []
    while sum(sizes) < total:
        sizes.append(lowest * (highest / lowest) ** rng.uniform())
    bounds = np.cumsum(sizes) * (total / sum(sizes))
    return np.diff(np.rint(np.append(0.0, bounds)).astype(int))


def _assigned(rng, counts, inside, sizes):
    """Return who belongs where: those first who are hard to place."""
    belongs, free = np.zeros((counts.size, sizes.size), bool), sizes.copy()
    for a in np.lexsort((-inside, -counts)):
        for _ in range(counts[a]):
            open_ = np.where(belongs[a], 0, free)
            fitting = np.where(sizes > inside[a], open_, 0)
            weights = fitting if fitting.any() else open_
            if not weights.any():
                weights = np.where(belongs[a], 0, sizes)
            k = rng.choice(sizes.size, p=weights / weights.sum())
            belongs[a, k] = True
            free[k] = max(free[k] - 1, 0)
    return belongs


def _matched(rng, ends, found, n_nodes, belongs=None):
    """Return `found` and new links a n + b, a < b, between ends in random order.

    With `belongs`, links between nodes without a common community.
    """
    for _ in range(_ROUNDS):
        ends = rng.permutation(ends)
        half = ends.size // 2
        a, b = np.sort(ends[: 2 * half].reshape(half, 2), axis=1).T
        good = a != b
        if belongs is not None:
            good &= ~np.any(belongs[a] & belongs[b], axis=1)
        keys = a * np.int64(n_nodes) + b
        first = np.zeros(half, bool)
        first[np.unique(keys, return_index=True)[1]] = True
        good &= first & ~np.isin(keys, found)
        found = np.append(found, keys[good])
        ends = np.concatenate([a[~good], b[~good], ends[2 * half :]])
    return found
