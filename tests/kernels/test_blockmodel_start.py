"""Chains start at communities, in dense graphs and in sparse ones."""

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from skbayes_sg.cluster._graphs import check_graph
from skbayes_sg.datasets import make_graph
from skbayes_sg.kernels.models.blockmodel_start import start_memberships


class Links:
    """A graph, as chains know it."""

    def __init__(self, adjacency):
        graph = check_graph(adjacency)
        self.indptr, self.indices = graph.indptr, graph.indices


def started(adjacency, k, seed=0):
    n = adjacency.shape[0]
    pi, taken, links = np.zeros((n, k)), np.full(n, -1, np.int32), np.ones(n)
    rng = np.random.default_rng(seed)
    start_memberships(Links(adjacency), pi, taken, links, rng)
    assert (taken == -1).all() and (pi > 0).all()
    np.testing.assert_allclose(pi.sum(axis=1), 1.0)
    return pi


@pytest.mark.parametrize("k", [4, 7])
def test_memberships_spread_where_neighbors_are_not_linked_to_one_another(k):
    """Four communities of 200 nodes with 8 links each, 1 % of them outside."""
    data = make_graph(
        800, 4, membership_prior=1e-3, link_rates=0.04, background_rate=1e-4,
        random_state=0,
    )  # fmt: skip
    pi, truth = started(data.adjacency, k), data.memberships.argmax(axis=1)
    assert adjusted_mutual_info_score(truth, pi.argmax(axis=1)) > 0.8
    other = started(data.adjacency, k, seed=1)
    assert not np.array_equal(pi, other)


def test_memberships_share_graphs_without_communities():
    """No label wins most of the nodes; nodes without links have none."""
    pairs = np.random.default_rng(0).integers(500, size=(2500, 2))
    matrix = np.zeros((510, 510))
    matrix[pairs[:, 0], pairs[:, 1]] = matrix[pairs[:, 1], pairs[:, 0]] = 1
    np.fill_diagonal(matrix, 0)
    pi = started(matrix, 3)
    assert np.bincount(pi[:500].argmax(axis=1)).max() < 300
    assert np.ptp(pi[500:]) < 1e-12


def test_dense_neighborhoods_are_communities():
    """Five cliques of six nodes in a ring: each is found, by one community."""
    matrix = np.kron(np.eye(5), np.ones((6, 6)) - np.eye(6))
    for a in range(0, 30, 6):
        matrix[a, a - 1] = matrix[a - 1, a] = 1
    labels = started(matrix, 5).argmax(axis=1).reshape(5, 6)
    assert sorted(np.median(labels, axis=1)) == [0, 1, 2, 3, 4]
