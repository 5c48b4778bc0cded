"""Graphs: generated ones with known communities, and public networks of co-authors."""

from numbers import Real
from os import PathLike
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch, check_random_state, check_scalar

from skbayes_sg.datasets._documents import _dirichlet
from skbayes_sg.datasets._files import RemoteFile, read_contents

_CHUNK = 1 << 16  # pairs per temporary array, to limit the use of memory


class _Network(NamedTuple):
    url: str
    content: str  # name of the unpacked file
    sha256: str
    source: str


_SNAP = """J. Leskovec, J. Kleinberg and C. Faloutsos (2007). Graph evolution:
densification and shrinking diameters. ACM Transactions on Knowledge Discovery from
Data 1(1)"""
_LI = "https://raw.githubusercontent.com/wenzheli/MCMC_CPLUS/1be78cc7c0c3bfb6926dafa72b071065c3c7e781/"
_NETWORKS = {
    "hepph": _Network(
        "https://snap.stanford.edu/data/ca-HepPh.txt.gz",
        "CA-HepPh.txt",
        "77a894ae623178780f7dd228e6a71459ed3d35e400e42d7f16137ba53821b6f1",
        _SNAP,
    ),
    "grqc": _Network(
        "https://snap.stanford.edu/data/ca-GrQc.txt.gz",
        "CA-GrQc.txt",
        "36922f89db845001a3935fb28d707aa0288c0d9fcc7d9ca8fe1e5b354b2bd317",
        _SNAP,
    ),
    "netscience": _Network(
        f"{_LI}netscience.txt",
        "netscience.txt",
        "2ecd9589c4696e767f55f4611cc87cc8c70c819994e56204da9abd56ff4727af",
        """M. Newman (2006). Finding community structure in networks using the
eigenvectors of matrices. Physical Review E 74""",
    ),
}


def fetch_network(
    name: str,
    *,
    data_home: str | PathLike | None = None,
    download_if_missing: bool = True,
) -> Bunch:
    """Load a network of scientists, linked where they have written a paper together.

    Parameters
    ----------
    name : {"hepph", "grqc", "netscience"}
        High-energy physics (12,008 authors, 118,489 links), general relativity (5,242
        and 14,484) or network science (1,461 and 2,742).
    data_home : str or path-like, default=None
        Folder of the files, plain or with gzip, or of its sub-folder ``networks``; they
        are downloaded there if missing. By default the environment variable
        ``SKBAYES_SG_DATA``, or else the cache folder of pooch.
    download_if_missing : bool, default=True
        If False, raise an OSError where a file is missing.

    Returns
    -------
    data : Bunch
        ``adjacency``, a symmetric CSR array of zeros and ones without loops; ``nodes``,
        the publisher's numbers of the authors; ``DESCR``.

    Examples
    --------
    >>> from skbayes_sg.datasets import fetch_network
    >>> graph = fetch_network("grqc")  # doctest: +SKIP
    >>> graph.adjacency.shape  # doctest: +SKIP
    (5242, 5242)
    """
    if name not in _NETWORKS:
        raise ValueError(f"name={name!r} is not known; use one of {list(_NETWORKS)}")
    url, content, sha256, source = _NETWORKS[name]
    remote = RemoteFile(url, "networks", {content: sha256}, is_text=True)
    text = read_contents(remote, data_home, download_if_missing)[content].decode()
    lines = [line.split()[:2] for line in text.splitlines() if line[:1] != "#"]
    nodes, pairs = np.unique(
        np.array([line for line in lines if line], np.int64), return_inverse=True
    )
    descr = f"{name}: links of co-authors.\n\nCite: {source}.\n"
    adjacency = adjacency_of(pairs.reshape(-1, 2), nodes.size)
    return Bunch(adjacency=adjacency, nodes=nodes, DESCR=descr)


def adjacency_of(pairs, n_nodes):
    """Return a symmetric CSR array of ones, without loops, of (n_links, 2) pairs."""
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    both = np.concatenate([pairs, pairs[:, ::-1]]).T
    shape = n_nodes, n_nodes
    links = sp.csr_array(sp.coo_array((np.ones(both.shape[1]), both), shape))
    links.sum_duplicates()
    links.data[:] = 1.0
    return links


def make_graph(
    n_nodes: int = 500,
    n_communities: int = 5,
    *,
    membership_prior: float = 0.1,
    link_rates: Any = 0.2,
    background_rate: float = 0.002,
    activity_shape: float | None = None,
    random_state: Any = None,
) -> Bunch:
    """Simulate a graph with overlapping communities, by the blockmodel.

    Time and memory are those of the links, not of all pairs.

    Parameters
    ----------
    n_nodes, n_communities : int, default=500 and 5
        Sizes.
    membership_prior : float, default=0.1
        Dirichlet prior of the memberships of a node.
    link_rates : float or array-like of shape (n_communities,), default=0.2
        Probability of a link between two nodes of the same community.
    background_rate : float, default=0.002
        Probability of a link between nodes of different communities.
    activity_shape : float or None, default=None
        Shape of the Gamma law of the activities of nodes, whose mean is one: rates of
        links are multiplied by those of both nodes, and the probabilities above are
        those of nodes with activity one. None stands for activities of one.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : Bunch
        ``adjacency``, a symmetric CSR array of zeros and ones, and the truth
        ``memberships``, (n_nodes, n_communities), ``link_rates``, and ``activity``,
        (n_nodes,).

    Examples
    --------
    >>> from skbayes_sg.datasets import make_graph
    >>> graph = make_graph(100, 3, random_state=0)
    >>> graph.adjacency.shape, graph.memberships.shape
    ((100, 100), (100, 3))
    """
    for name, size in {"n_nodes": n_nodes, "n_communities": n_communities}.items():
        check_scalar(size, name, (int, np.integer), min_val=1)
    rng = check_random_state(random_state)
    rates = np.append(np.broadcast_to(link_rates, n_communities), background_rate)
    if not ((rates >= 0) & (rates < 1)).all():
        raise ValueError(
            f"link_rates={link_rates!r} and background_rate={background_rate!r} must "
            "be at least 0 and less than 1"
        )
    pi = _dirichlet(rng, membership_prior, n_nodes, n_communities)
    activity = np.ones(n_nodes)
    if activity_shape is not None:
        check_scalar(activity_shape, "activity_shape", Real, min_val=1e-3)
        activity = rng.gamma(activity_shape, 1.0 / activity_shape, n_nodes)
    # Candidates with intensities r = -sum_k w_k log(1 - rate_k), no less than -log(1 -
    # p): a pair with any of them is linked with probability p / (1 - exp(-r)).
    losses, found = -np.log1p(-rates), []
    for k, loss in enumerate(losses):
        weights = pi[:, k] if k < n_communities else 1.0
        bounds = np.cumsum(weights * activity)
        ends = rng.poisson(0.5 * loss * bounds[-1] ** 2)
        u = rng.uniform(0.0, bounds[-1], (2, ends))
        a, b = np.sort(np.minimum(np.searchsorted(bounds, u), n_nodes - 1), axis=0)
        found.append((a * n_nodes + b)[a < b])
    keys = np.unique(np.concatenate(found))
    pairs = np.stack([keys // n_nodes, keys % n_nodes], axis=1)
    kept = [np.zeros((0, 2), np.int64)]
    for first in range(0, len(pairs), _CHUNK):
        some = pairs[first : first + _CHUNK]
        w = pi[some[:, 0]] * pi[some[:, 1]]
        both = activity[some].prod(axis=1)
        if activity_shape is not None:
            p = losses[-1] + w @ (losses[:-1] - losses[-1])
            p = -np.expm1(-both * p)
        else:
            p = rates[-1] + w @ (rates[:-1] - rates[-1])
        # The intensity of the background is that of all pairs.
        r = both * (losses[-1] + w @ losses[:-1])
        kept.append(some[rng.uniform(size=len(some)) * -np.expm1(-r) < p])
    adjacency = adjacency_of(np.concatenate(kept), n_nodes)
    return Bunch(
        adjacency=adjacency, memberships=pi, link_rates=rates[:-1], activity=activity
    )
