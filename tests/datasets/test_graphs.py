"""Generated graphs follow the model that they claim, and loaders read their files."""

import numpy as np
import pytest

from skbayes_sg.datasets import fetch_network, make_graph


def test_links_have_the_probabilities_of_the_model():
    """Over 300 graphs, by the standard errors of counts; rates near one included."""
    rates, count = np.array([0.95, 0.3]), 0.0
    rng = np.random.RandomState(0)
    chances, links = [], []
    for _ in range(300):
        data = make_graph(
            12, 2, membership_prior=0.5, link_rates=rates, background_rate=0.1,
            random_state=rng,
        )  # fmt: skip
        p = 0.1 + data.memberships @ np.diag(rates - 0.1) @ data.memberships.T
        above = np.triu_indices(12, 1)
        chances.append(p[above])
        links.append(data.adjacency.toarray()[above])
    p, linked = np.concatenate(chances), np.concatenate(links)
    for low in (0.1, 0.2, 0.4, 0.8):
        here = (low <= p) & (p < 2 * low)
        error = np.sqrt(np.sum(p[here] * (1 - p[here])))
        assert abs(linked[here].sum() - p[here].sum()) < 4 * error
        count += here.sum()
    assert count == p.size


def test_matrices_are_symmetric_without_loops():
    data = make_graph(200, 4, random_state=0)
    matrix = data.adjacency.toarray()
    np.testing.assert_array_equal(matrix, matrix.T)
    assert set(np.unique(matrix)) == {0.0, 1.0} and not matrix.diagonal().any()
    with pytest.raises(ValueError, match="less than 1"):
        make_graph(10, 2, link_rates=1.0)


@pytest.mark.parametrize(
    ("name", "n_nodes", "n_links"),
    [("hepph", 12008, 118489), ("grqc", 5242, 14484), ("netscience", 1461, 2742)],
)
def test_networks_have_their_published_sizes(data_dir, name, n_nodes, n_links):
    data = fetch_network(name, data_home=data_dir, download_if_missing=False)
    assert data.adjacency.shape == (n_nodes, n_nodes)
    assert data.adjacency.nnz == 2 * n_links
    assert "Cite" in data.DESCR


def test_unknown_networks():
    with pytest.raises(ValueError, match="'karate' is not known"):
        fetch_network("karate")
