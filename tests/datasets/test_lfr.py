"""LFR graphs have the degrees, the mixing and the communities that are asked for."""

import numpy as np
import pytest

from skbayes_sg.datasets import make_lfr_graph


def test_degrees_mixing_and_sizes():
    """Means of 1,000 nodes; ends without a partner are a few percent."""
    graph = make_lfr_graph(mixing=0.3, n_overlapping=100, random_state=0)
    adjacency, belongs = graph.adjacency, graph.communities
    degrees = np.diff(adjacency.indptr)
    assert 18.5 < degrees.mean() < 20.5
    assert degrees.max() <= 51
    a, b = adjacency.nonzero()
    np.testing.assert_array_equal(adjacency.toarray(), adjacency.toarray().T)
    assert not np.any(a == b)
    inside = (belongs[a] & belongs[b]).any(axis=1)
    assert abs(inside.mean() - 0.7) < 0.02
    np.testing.assert_array_equal(np.bincount(belongs.sum(axis=1)), [0, 900, 100])
    sizes = belongs.sum(axis=0)
    assert 15 < sizes.min() < 40 and 60 < sizes.max() <= 85
    # Half the inner links of a node with two homes are in either of them.
    several = belongs.sum(axis=1) == 2
    first = belongs.argmax(axis=1)
    of_two = several[a] & inside
    share = belongs[b, first[a]][of_two].mean()
    assert abs(share - 0.5) < 0.06


def test_equal_seeds_give_equal_graphs():
    first, second = (make_lfr_graph(200, random_state=1) for _ in range(2))
    assert (first.adjacency != second.adjacency).nnz == 0
    alone = make_lfr_graph(200, mixing=0.0, random_state=1)
    a, b = alone.adjacency.nonzero()
    assert (alone.communities[a] & alone.communities[b]).any(axis=1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"mean_degree": 60.0}, "mean_degree == 60.0"),
        ({"mixing": 1.5}, "mixing == 1.5"),
        ({"community_sizes": (30, 20)}, "the lower one first"),
        ({"n_nodes": 100, "n_overlapping": 9, "n_memberships": 7}, "fewer than"),
    ],
)
def test_bad_settings(settings, message):
    with pytest.raises(ValueError, match=message):
        make_lfr_graph(**settings)
