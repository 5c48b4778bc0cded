"""Graphs in all kinds in which users have them, and errors of what is no graph."""

import numpy as np
import pytest
import scipy.sparse as sp

from skbayes_sg.cluster._graphs import check_graph, check_pairs

SQUARE = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])
BAD = {
    "loops": (SQUARE + np.eye(3, dtype=int), "linked to itself"),
    "asymmetric": (np.triu(SQUARE), "not symmetric"),
    "weights": (2.5 * SQUARE, "the weight 2.5"),
    "negative": (-SQUARE, "the weight -1"),
    "nan": (np.where(SQUARE, np.nan, 0.0), "NaN"),
    "empty": (np.zeros((3, 3)), "no links"),
    "nothing": (np.zeros((0, 0)), "0 sample"),
    "no pairs": (np.zeros((0, 2)), "no links"),
    "not square": (np.ones((3, 4)), "must be square"),
    "pairs with weights": ([[0, 1, 5], [1, 2, 7]], "must be square, or .* without"),
    "three dimensions": (np.zeros((2, 2, 2)), "dim 3"),
    "complex": (1j * SQUARE, "Complex data"),
    "text": ("abc", "cannot be of type str"),
    "a set of pairs": ({("a", "b"), ("b", "c")}, "cannot be of type set"),
    "two pairs of numbers": ([[0, 1], [1, 2]], "the weight 2"),
    "loop of a pair": ([["a", "b"], ["c", "c"], ["a", "c"]], "'c' is linked to itself"),
    "nan of a pair": ([[0.0, 1.0], [np.nan, 1.0], [2.0, 1.0]], "NaN or infinity"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_graphs(name):
    X, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        check_graph(X)


@pytest.mark.parametrize("index", [6, 10**6, -1])
def test_indices_out_of_range_are_refused(index):
    """SciPy does not check them, and compiled code would crash."""
    full = np.triu(np.ones((6, 6)), 1)
    adjacency = sp.csr_array(full + full.T)
    adjacency.indices[3] = index
    with pytest.raises(ValueError, match="out of range"):
        check_graph(adjacency)


def test_labels_of_different_types_are_refused():
    pairs = np.array([["a", 1], ["b", 2], ["a", "b"]], object)
    with pytest.raises(TypeError, match="cannot be sorted"):
        check_graph(pairs)


def test_two_pairs_of_names_are_pairs():
    for pairs in ([["a", "b"], ["b", "c"]], np.array([["a", "b"], ["b", "c"]], object)):
        graph = check_graph(pairs)
        assert list(graph.nodes) == ["a", "b", "c"]
        np.testing.assert_array_equal(graph.indptr, [0, 1, 3, 4])
        np.testing.assert_array_equal(graph.indices, [1, 0, 2, 1])


def test_repeated_links_count_once():
    """300 of them: more than a small integer counts."""
    graph = check_graph([["a", "b"], ["b", "a"], ["b", "c"]] * 100)
    np.testing.assert_array_equal(graph.indices, [1, 0, 2, 1])


def test_frames_of_pandas():
    pandas = pytest.importorskip("pandas")
    links = pandas.DataFrame({"from": ["a", "b", "c"], "to": ["b", "c", "a"]})
    assert list(check_graph(links).nodes) == ["a", "b", "c"]
    np.testing.assert_array_equal(check_graph(pandas.DataFrame(SQUARE)).indptr[-1], 4)


def test_nodes_of_networkx_may_be_tuples():
    networkx = pytest.importorskip("networkx")
    graph = check_graph(networkx.grid_2d_graph(2, 2))
    places = check_pairs(graph.nodes, [[(0, 0), (1, 1)], [(0, 1), (0, 0)]])
    known = [list(graph.nodes).index(node) for node in ((0, 0), (1, 1), (0, 1))]
    expected = [[known[0], known[1]], [known[2], known[0]]]
    np.testing.assert_array_equal(places, expected)
    with pytest.raises(ValueError, match=r"must be \(n_pairs, 2\)"):
        check_pairs(graph.nodes, [[(0, 0)]])
    with pytest.raises(ValueError, match="no links"):
        check_graph(networkx.empty_graph(4))
    with pytest.raises(ValueError, match="to_undirected"):
        check_graph(networkx.DiGraph([(0, 1)]))
    with pytest.raises(ValueError, match="linked to itself"):
        check_graph(networkx.Graph([(0, 0), (0, 1)]))


def test_pairs_to_leave_out_are_named_by_their_parameter():
    graph = check_graph(SQUARE)
    with pytest.raises(ValueError, match="exclude has shape"):
        check_pairs(graph.nodes, SQUARE > 0, name="exclude")
