"""Checks of graphs, in the kinds in which users have them, and of pairs of nodes."""

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_array

from skbayes_sg.utils._design import with_valid_indices
from skbayes_sg.utils._validation import shown

MAX_NODES = 2**31 - 1


class Graph(NamedTuple):
    """An undirected graph."""

    nodes: np.ndarray  # (n,) labels
    indptr: np.ndarray  # (n + 1,) int64: where the neighbors of each node begin
    indices: np.ndarray  # int32: the neighbors, in increasing order


def check_graph(adjacency):
    """Return the graph; raise an error with the remedy where it is none.

    Parameters
    ----------
    adjacency : sparse or dense (n, n), networkx graph, or array-like (n_links, 2)
        A square matrix is symmetric, of zeros and ones. Pairs are labels of nodes.
    """
    if hasattr(adjacency, "is_directed") and hasattr(adjacency, "edges"):
        return _from_networkx(adjacency)
    if not sp.issparse(adjacency):
        pairs = np.asarray(adjacency)
        if pairs.ndim == 0:
            raise ValueError(
                f"a graph cannot be of type {type(adjacency).__name__}; use a square "
                "matrix, a graph of networkx, or a list of pairs of linked nodes"
            )
        # Two pairs of numbers cannot be told from a matrix; two of names can.
        square = pairs.shape[:1] == (2,) and not _are_names(pairs)
        if pairs.ndim == 2 and pairs.shape[1] == 2 and not square:
            return _from_pairs(pairs)
    return _from_matrix(adjacency)


def _are_names(labels):
    is_text = labels.dtype.kind in "UST"
    return is_text or any(isinstance(label, str) for label in labels.flat)


def _from_networkx(graph):
    if graph.is_directed():
        raise ValueError(
            "the graph is directed, which is not supported; use graph.to_undirected()"
        )
    nodes = np.empty(len(graph), object)
    nodes[:] = list(graph)
    place = {node: i for i, node in enumerate(graph)}
    pairs = [(place[edge[0]], place[edge[1]]) for edge in graph.edges]
    kinds = {type(node) for node in graph}
    if len(kinds) == 1 and issubclass(kinds.pop(), (str, int, np.integer)):
        nodes = np.array(list(graph))
    return _graph(nodes, np.array(pairs, np.int64).reshape(-1, 2))


def _from_pairs(pairs):
    if pairs.dtype.kind == "f" and not np.isfinite(pairs).all():
        raise ValueError("pairs of nodes hold NaN or infinity; use labels of nodes")
    try:
        nodes, places = np.unique(pairs, return_inverse=True)
    except TypeError as error:
        raise TypeError(
            f"labels of nodes are of types that cannot be sorted ({error}); use labels "
            "of one type, or a graph of networkx"
        ) from error
    return _graph(nodes, places.reshape(-1, 2))


def _from_matrix(adjacency):
    shape = np.shape(adjacency)
    if len(shape) == 2 and shape[0] != shape[1]:
        raise ValueError(
            f"adjacency has shape {shape}; it must be square, or (n_links, 2) pairs of "
            "nodes, without weights"
        )
    matrix = _zeros_and_ones(adjacency)
    n = matrix.shape[0]
    back = matrix.T.tocsr()
    back.sort_indices()
    same = np.array_equal(matrix.indptr, back.indptr)
    if not (same and np.array_equal(matrix.indices, back.indices)):
        raise ValueError(
            "adjacency is not symmetric; directed graphs are not supported, use "
            "adjacency.maximum(adjacency.T)"
        )
    loops = np.flatnonzero(matrix.diagonal())
    _check_links(np.arange(n), matrix.nnz, loops)
    indptr, indices = matrix.indptr.astype(np.int64), matrix.indices
    return Graph(np.arange(n), indptr, indices.astype(np.int32, copy=False))


def _zeros_and_ones(adjacency):
    """Return a CSR array of ones; raise where it has other numbers."""
    kinds = {"dtype": "numeric", "accept_sparse": "csr", "input_name": "adjacency"}
    matrix = sp.csr_array(check_array(with_valid_indices(adjacency), **kinds))
    if not matrix.has_canonical_format or not np.all(matrix.data):
        matrix = matrix.copy()
        matrix.sum_duplicates()
        matrix.eliminate_zeros()
    if np.any(matrix.data != 1):
        value = float(matrix.data[matrix.data != 1][0])
        raise ValueError(
            f"adjacency holds the weight {value:.6g}; links have no weights here, use "
            "adjacency != 0 or a threshold"
        )
    ones = np.ones(matrix.nnz, np.int8)
    return sp.csr_array((ones, matrix.indices, matrix.indptr), matrix.shape)


def check_links(X, n_nodes):
    """Return links of new nodes, (m, n_nodes) CSR, in increasing order."""
    links = _zeros_and_ones(X)
    if links.shape[1] != n_nodes:
        raise ValueError(
            f"X has {links.shape[1]} columns; it must have one for each of the "
            f"{n_nodes} nodes of the fit"
        )
    return links


def _graph(nodes, places):
    loops = places[places[:, 0] == places[:, 1], 0]
    _check_links(nodes, len(places), loops)
    return Graph(nodes, *neighbors(places, len(nodes)))


def _check_links(nodes, n_links, loops):
    """Raise an error for too many nodes, no links, or links of nodes to themselves."""
    if len(nodes) > MAX_NODES:
        raise ValueError(f"the graph has {len(nodes)} nodes, more than {MAX_NODES}")
    if n_links == 0:
        raise ValueError("the graph has no links: there are no communities to find")
    if len(loops):
        raise ValueError(
            f"node {shown(nodes[loops[0]])} is linked to itself; remove links of "
            "nodes to themselves, with adjacency.setdiag(0) for instance"
        )


def neighbors(pairs, n_nodes):
    """Return where the neighbors of each node begin, and these, of (m, 2) pairs."""
    both = np.concatenate([pairs, pairs[:, ::-1]]).T
    ones = np.ones(both.shape[1], np.int8)
    links = sp.csr_array(sp.coo_array((ones, both), (n_nodes, n_nodes)))
    links.sort_indices()
    return links.indptr.astype(np.int64), links.indices.astype(np.int32)


def check_pairs(nodes, pairs, name="pairs"):
    """Return (m, 2) places of pairs of labels; raise where there are no such nodes."""
    labels = _two_columns(pairs) if nodes.dtype == object else np.asarray(pairs)
    if labels.size == 0:
        return np.zeros((0, 2), np.int64)
    if labels.ndim != 2 or labels.shape[1] != 2:
        raise ValueError(
            f"{name} has shape {labels.shape}; it must be (n_pairs, 2), a pair of "
            "nodes in each row"
        )
    if nodes.dtype == object or labels.dtype.kind != nodes.dtype.kind:
        known = {node: i for i, node in enumerate(nodes.tolist())}
        places = [[known.get(label, -1) for label in row] for row in labels.tolist()]
        places = np.array(places, np.int64)
    else:
        order = np.argsort(nodes, kind="stable")
        at = np.minimum(np.searchsorted(nodes, labels, sorter=order), nodes.size - 1)
        places = np.where(nodes[order[at]] == labels, order[at], -1)
    if (places < 0).any():
        label = labels[places < 0][0]
        raise ValueError(
            f"{name} has the node {shown(label)}, which is not in the graph"
        )
    if (places[:, 0] == places[:, 1]).any():
        label = labels[places[:, 0] == places[:, 1]][0, 0]
        raise ValueError(f"{name} has the node {shown(label)} paired with itself")
    return places


def _two_columns(pairs):
    """Return pairs of any objects as (m, 2), where NumPy would look into tuples."""
    rows = [tuple(pair) for pair in pairs]
    labels = np.empty((len(rows), 2), object)
    for row, pair in zip(labels, rows, strict=True):
        if len(pair) != 2:
            return np.empty((len(rows), len(pair)), object)
        row[0], row[1] = pair
    return labels
