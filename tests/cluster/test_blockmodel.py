"""Communities of graphs as users see them."""

import pickle

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning, NotFittedError

from skbayes_sg import SGMCMCMixedMembershipBlockmodel
from skbayes_sg.datasets import make_graph
from skbayes_sg.inference.alignment import align
from skbayes_sg.inference.graphs import GraphDraws
from skbayes_sg.kernels.samplers import SGLD, ExpandedMean
from tests.cluster.exact import gibbs

K, N = 3, 90


def blockmodel(**settings):
    lengths = {"burn_in": 100, "thin": 5, "n_draws": 100, "random_state": 0}
    settings = {"n_components": K, "membership_prior": 0.1} | lengths | settings
    return SGMCMCMixedMembershipBlockmodel(**settings)


@pytest.fixture(scope="module")
def graph():
    return make_graph(
        N, K, membership_prior=0.1, link_rates=0.6, background_rate=0.02, random_state=0
    )


@pytest.fixture(scope="module")
def fitted(graph):
    return blockmodel().fit(graph.adjacency)


def test_scores_of_chains_are_log_likelihoods(graph):
    """Per link, against sums over all pairs, of the bound without activities."""
    pairs = np.stack(np.triu_indices(N, 1), axis=1)
    hidden, seen = pairs[::50], np.delete(pairs, np.s_[::50], axis=0)
    linked = graph.adjacency[seen[:, 0], seen[:, 1]] > 0
    for corrected in (True, False):
        model = blockmodel(degree_correction=corrected, n_draws=3)
        model.fit(graph.adjacency, exclude=hidden)
        p = model.predict_link_samples(seen)
        bound = np.log1p(-p)
        if not corrected:
            draws = GraphDraws.of(model.samples_.astype(np.float64), N, K)
            pi = draws.memberships.reshape(-1, N, K)
            loss = -np.log1p(-draws.link_rates.reshape(-1, K))
            base = -np.log1p(-draws.background.reshape(-1, 1))
            w = pi[:, seen[:, 0]] * pi[:, seen[:, 1]]
            bound = -base - np.einsum("spk,sk->sp", w, loss - base)
        each = np.where(linked, np.log(p), bound).sum(axis=1) / linked.sum()
        expected = each.reshape(2, 3).mean(axis=1)
        np.testing.assert_allclose(model.chain_scores_, expected, rtol=1e-5)


def test_planted_communities_are_found(graph, fitted):
    order = align([graph.memberships.T], fitted.memberships_.T).order[0]
    truth = graph.memberships[:, order]
    clear = truth.max(axis=1) > 0.9
    assert (fitted.labels_ == truth.argmax(axis=1))[clear].mean() > 0.95
    np.testing.assert_allclose(fitted.memberships_.sum(axis=1), 1.0)
    z = (fitted.memberships_ - truth) / fitted.memberships_std_
    assert np.abs(z[truth > 0.05]).mean() < 1.5
    assert np.all(np.abs(fitted.link_rates_ - 0.6) < 5 * fitted.link_rates_std_)
    assert 0.01 < fitted.background_rate_ < 0.03
    assert fitted.n_used_ == K
    assert fitted.sizes_.sum() == pytest.approx(N)
    assert fitted.affinity_.min() > 0.9


def test_link_probabilities_are_averages_over_draws(graph, fitted):
    pairs = np.array([[0, 1], [5, 9], [3, 80]])
    mean, std = fitted.predict_link(pairs, return_std=True)
    each = fitted.predict_link_samples(pairs)
    assert each.shape == (200, 3)
    np.testing.assert_allclose(each.mean(axis=0), mean, rtol=1e-6)
    np.testing.assert_allclose(each.std(axis=0), std, rtol=1e-4, atol=1e-7)
    both = fitted.predict_proba(pairs)
    np.testing.assert_allclose(both, np.stack([1 - mean, mean], axis=1))
    np.testing.assert_array_equal(fitted.predict_link(pairs[:, ::-1]), mean)
    linked = np.array([1, 0, 0])
    expected = np.log(both[np.arange(3), linked]).mean()
    assert fitted.score(pairs, linked) == pytest.approx(expected)
    assert fitted.predict_link([]).shape == (0,)


def test_links_are_predicted_as_well_as_by_the_truth(graph):
    """Held-out pairs: within 0.1 of the log probability of the true model."""
    rng = np.random.default_rng(0)
    pairs = np.stack(np.triu_indices(N, 1), axis=1)
    pairs = pairs[rng.permutation(len(pairs))[:400]]
    linked = graph.adjacency[pairs[:, 0], pairs[:, 1]]
    model = blockmodel().fit(graph.adjacency, exclude=pairs)
    together = graph.memberships[pairs[:, 0]] * graph.memberships[pairs[:, 1]]
    p = 0.02 + 0.58 * together.sum(axis=1)
    truth = np.log(np.where(linked, p, 1 - p)).mean()
    base = linked.mean() * np.log(linked.mean())
    base += (1 - linked.mean()) * np.log(1 - linked.mean())
    assert model.score(pairs, linked) > truth - 0.1 > base


def test_excluded_pairs_do_not_matter(graph):
    """Whatever the matrix says of them: equal draws with and without their links."""
    pairs = np.array([[0, 1], [0, 2], [4, 7], [7, 4]])
    changed = graph.adjacency.tolil()
    for a, b in pairs:
        changed[a, b] = changed[b, a] = 1 - changed[a, b]
    first = blockmodel(n_draws=2).fit(graph.adjacency, exclude=pairs)
    second = blockmodel(n_draws=2).fit(changed.tocsr(), exclude=pairs)
    np.testing.assert_array_equal(first.samples_, second.samples_)


def test_all_kinds_of_graphs_give_the_same_draws(graph, fitted):
    matrix = graph.adjacency
    assert np.diff(matrix.indptr).min() > 0  # pairs name all nodes
    pairs = np.stack(sp.triu(matrix).nonzero(), axis=1)
    names = np.array([f"n{i:02d}" for i in range(N)])
    kinds = [matrix.toarray().astype(bool), sp.coo_matrix(matrix), pairs, pairs[::-1]]
    for kind in (*kinds, names[pairs].tolist()):
        other = blockmodel(n_jobs=2).fit(kind)
        np.testing.assert_array_equal(other.samples_, fitted.samples_)
    np.testing.assert_array_equal(other.nodes_, names)
    expected = fitted.predict_link([[3, 8]])
    np.testing.assert_array_equal(other.predict_link([["n03", "n08"]]), expected)


def test_graphs_of_networkx(graph, fitted):
    networkx = pytest.importorskip("networkx")
    other = blockmodel().fit(networkx.from_scipy_sparse_array(graph.adjacency))
    np.testing.assert_array_equal(other.samples_, fitted.samples_)
    mixed = networkx.Graph([("a", 1), (1, (2, 3)), ((2, 3), "a"), ("a", "b")])
    model = blockmodel(n_components=2, n_draws=2).fit(mixed)
    assert list(model.nodes_) == list(mixed)
    assert model.predict_link([["a", "b"]]).shape == (1,)
    with pytest.raises(ValueError, match="to_undirected"):
        blockmodel().fit(networkx.DiGraph([(0, 1)]))


def test_new_nodes_are_placed_by_their_links(graph, fitted):
    """As the nodes of the fit are, if they have the same links; within 2 sds."""
    places = [0, 5, 9, 0]
    rows = graph.adjacency[places]
    mean, std = fitted.transform(rows, return_std=True)
    np.testing.assert_allclose(mean.sum(axis=1), 1.0, rtol=1e-5)
    difference = np.abs(mean - fitted.memberships_[places])
    assert np.all(difference < 0.05 + 2 * std)
    np.testing.assert_array_equal(mean[0], mean[3])
    np.testing.assert_array_equal(fitted.transform(rows[:1].toarray()), mean[:1])
    with pytest.raises(ValueError, match="one for each of the 90 nodes"):
        fitted.transform(np.zeros((1, 3)))
    other = blockmodel().fit_transform(graph.adjacency)
    np.testing.assert_array_equal(other, fitted.memberships_)


def test_minibatches_and_storage_give_the_same_draws(graph, fitted, tmp_path):
    for other in (
        blockmodel(batch_size=30, burn_in=300, thin=15),
        blockmodel(storage=tmp_path),
        blockmodel(checkpoint=tmp_path / "c"),
    ):
        other.fit(graph.adjacency)
        np.testing.assert_array_equal(other.samples_, fitted.samples_)


def test_warm_start_continues_the_chains(graph):
    whole = blockmodel(n_draws=4, n_chains=1).fit(graph.adjacency)
    parts = blockmodel(n_draws=2, n_chains=1, warm_start=True).fit(graph.adjacency)
    first = parts.samples_.copy()
    parts.fit(graph.adjacency)
    both = np.concatenate([first, parts.samples_], axis=1)
    rates = -2 * K - 1  # sums over communities, since labels are those of each fit
    np.testing.assert_allclose(
        np.sort(both[..., rates:-K]), np.sort(whole.samples_[..., rates:-K])
    )


def test_variances_in_place_of_draws(graph, fitted):
    other = blockmodel(keep="variances").fit(graph.adjacency)
    order = align([other.memberships_.T], fitted.memberships_.T).order[0]
    found = other.memberships_[:, order]
    np.testing.assert_allclose(found, fitted.memberships_, atol=1e-3)
    np.testing.assert_allclose(
        other.memberships_std_[:, order], fitted.memberships_std_, atol=0.02
    )
    assert not hasattr(other, "samples_")
    assert 0 < other.predict_link([[0, 1]])[0] < 1
    with pytest.raises(ValueError, match="return_std=True needs draws"):
        other.predict_link([[0, 1]], return_std=True)


@pytest.mark.long
def test_a_learned_prior_is_near_that_of_the_data(graph):
    settings = {"membership_prior": "learn", "degree_correction": False}
    model = blockmodel(**settings).fit(graph.adjacency)
    assert abs(np.log(model.membership_prior_ / 0.1)) < 0.7
    active = make_graph(
        N, K, membership_prior=0.3, link_rates=0.6, background_rate=0.02,
        activity_shape=0.9, random_state=0,
    )  # fmt: skip
    with pytest.warns(ConvergenceWarning, match="chains disagree"):
        # Of six chains three end 0.1 per link below the others, these two among them.
        model = blockmodel(membership_prior="learn").fit(active.adjacency)
    assert abs(np.log(model.membership_prior_ / 0.3)) < 0.7
    z = (model.activity_ - active.activity) / model.activity_std_
    assert np.sqrt(np.mean(z**2)) < 1.5
    assert abs(np.log(model.activity_shape_ / 0.9)) < 0.7
    model = blockmodel(membership_prior=None, n_draws=2).fit(graph.adjacency)
    assert model.membership_prior_ == pytest.approx(1 / K)


def test_fewer_draws_are_kept_of_large_graphs(graph):
    """100, or as many as fit into 256 MiB, but no fewer than 20; sums have no limit."""
    for n, expected in ((N, 100), (200_000, 41), (10_000_000, 20)):
        assert blockmodel(n_draws="auto")._kept_draws(n) == expected
        assert blockmodel(n_draws="auto", keep="variances")._kept_draws(n) == 100
    model = blockmodel(n_draws="auto", thin="auto", burn_in=5).fit(graph.adjacency)
    assert model.samples_.shape[:2] == (2, 100)
    assert model.thin_ == 5
    large = make_graph(1000, K, link_rates=0.6, random_state=0).adjacency
    for n_draws, thin in ((10, 5), (60, 2)):
        settings = {"n_draws": n_draws, "thin": "auto", "burn_in": 0, "n_chains": 1}
        assert blockmodel(**settings).fit(large).thin_ == thin


def test_memory_is_known_before(graph):
    """More for plain draws than for sums of them, and for events."""
    kept = [
        blockmodel(n_draws=100, **settings).memory_needed(graph.adjacency)
        for settings in ({}, {"keep": "variances"}, {"degree_correction": False})
    ]
    assert kept[0] > 2 * 100 * 4 * N * (K + 1)  # of two chains
    assert kept[1] < kept[0] < kept[2]


def test_too_many_events_are_an_error(graph, monkeypatch):
    for module in ("kernels.models.blockmodel", "cluster._blockmodel"):
        monkeypatch.setattr(f"skbayes_sg.{module}.event_room", lambda n, m: 1)
    with pytest.raises(ArithmeticError, match="more than the 1 random events"):
        blockmodel(degree_correction=False, n_draws=2).fit(graph.adjacency)


def test_without_activities_nodes_of_a_community_are_alike(graph):
    model = blockmodel(degree_correction=False, n_draws=2).fit(graph.adjacency)
    assert not hasattr(model, "activity_")
    assert model.samples_.shape[-1] == K * (N + 2) + 1
    model.set_params(degree_correction=True).fit(graph.adjacency)
    assert model.activity_.shape == model.activity_std_.shape == (N,)


def test_a_fixed_background_rate_stays(graph):
    model = blockmodel(background_rate=1e-4, n_draws=2).fit(graph.adjacency)
    assert model.background_rate_ == pytest.approx(1e-4, rel=1e-5)


def test_odd_graphs_have_answers():
    """Nodes without links, more communities than nodes, a single link."""
    matrix = np.zeros((5, 5), int)
    matrix[0, 1] = matrix[1, 0] = 1
    model = blockmodel(n_components=8, membership_prior=0.5, n_draws=200).fit(matrix)
    assert np.isfinite(model.memberships_).all()
    alone = model.memberships_[4]
    assert alone.max() < 0.5
    assert model.predict_link([[0, 1]])[0] > model.predict_link([[3, 4]])[0]


def test_summary_tells_where_chains_disagree(graph, fitted):
    pytest.importorskip("pandas")
    table = fitted.summary()
    assert list(table["size"]) == sorted(fitted.sizes_, reverse=True)
    noise = np.triu(np.random.default_rng(0).random((40, 40)) < 0.1, 1)
    with pytest.warns(ConvergenceWarning, match="chains disagree"):
        blockmodel(n_components=8).fit(noise | noise.T).summary()


def test_fits_tell_where_chains_disagree():
    """A ring of cliques with fewer communities: chains merge others of them."""
    matrix = np.kron(np.eye(8), np.ones((6, 6)) - np.eye(6))
    for a in range(0, 48, 6):
        matrix[a, a - 1] = matrix[a - 1, a] = 1
    with pytest.warns(ConvergenceWarning, match="Trust predict_link"):
        blockmodel(n_components=5, burn_in=20).fit(matrix)


def test_pickles_and_clones(fitted):
    again = pickle.loads(pickle.dumps(fitted))
    expected = fitted.predict_link([[0, 1]])
    np.testing.assert_array_equal(again.predict_link([[0, 1]]), expected)
    np.testing.assert_array_equal(again.labels_, fitted.labels_)
    names = fitted.get_feature_names_out()
    assert list(names) == [f"sgmcmcmixedmembershipblockmodel{k}" for k in range(K)]
    with pytest.raises(NotFittedError):
        clone(fitted).predict_link([[0, 1]])
    for name in ("ksd", "check"):
        with pytest.raises(AttributeError, match="neither ksd"):
            getattr(fitted, name)


SQUARE = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0"),
        ({"membership_prior": -1.0}, ValueError, "membership_prior=-1.0"),
        ({"membership_prior": "auto"}, ValueError, 'use "learn" or a number'),
        ({"link_prior": 1.0}, ValueError, "must be two numbers"),
        ({"link_prior": (1.0, 0.0)}, ValueError, "link_prior=0.0"),
        ({"background_rate": 1.5}, ValueError, "must be less than 1"),
        ({"batch_size": 1000}, ValueError, "batch_size=1000 is larger"),
        ({"sampler": SGLD()}, ValueError, "must be an instance of Gibbs"),
        ({"degree_correction": 1}, TypeError, "degree_correction=1"),
        ({"degree_correction": "no"}, ValueError, "degree_correction='no'"),
        (
            {"degree_correction": True, "sampler": ExpandedMean()},
            ValueError,
            "not for ExpandedMean",
        ),
        ({"keep": "moments"}, ValueError, 'use "variances"'),
        (
            {"sampler": ExpandedMean(), "background_rate": 0.1},
            ValueError,
            "not for ExpandedMean",
        ),
    ],
)
def test_bad_parameters(settings, error, message):
    with pytest.raises(error, match=message):
        blockmodel(**settings).fit(SQUARE)


@pytest.mark.parametrize(
    ("pairs", "message"),
    [
        ([[0, 99]], "has the node 99, which is not in"),
        ([[0, 0]], "paired with itself"),
        ([0, 1], "must be \\(n_pairs, 2\\)"),
        ([["a", "b"]], "has the node 'a', which"),
    ],
)
def test_bad_pairs(graph, fitted, pairs, message):
    with pytest.raises(ValueError, match=message):
        fitted.predict_link(pairs)
    with pytest.raises(ValueError, match=message):
        blockmodel().fit(SQUARE, exclude=pairs)


def test_bad_scores(fitted):
    with pytest.raises(ValueError, match="a zero or a one for each of the 1 pairs"):
        fitted.score([[0, 1]], [2])
    with pytest.raises(ValueError, match="no pairs"):
        fitted.score([], [])


@pytest.mark.long
def test_sg_rld_predicts_links_too(graph, fitted):
    model = blockmodel(sampler=ExpandedMean(), burn_in=6000, thin=200, n_draws=10)
    model.fit(graph.adjacency)
    pairs = np.stack(np.triu_indices(N, 1), axis=1)[::7]
    ours, theirs = fitted.predict_link(pairs), model.predict_link(pairs)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.9


@pytest.mark.long
def test_link_probabilities_are_those_of_gibbs_draws_of_all_pairs(data_dir):
    """75 nodes of four groups: probabilities within 0.01, memberships within 0.1 sd."""
    path = data_dir / "networks" / "assort-75-4.txt"
    pairs = np.loadtxt(path, int)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    model = blockmodel(
        n_components=4,
        membership_prior=0.25,
        burn_in=500,
        n_draws=5000,
        thin=4,
        degree_correction=False,
    ).fit(pairs)
    nodes = np.unique(pairs)
    matrix = np.zeros((nodes.size, nodes.size))
    ends = np.searchsorted(nodes, pairs)
    matrix[ends[:, 0], ends[:, 1]] = matrix[ends[:, 1], ends[:, 0]] = 1
    a, b = np.triu_indices(nodes.size, 1)
    total, laws, n = 0.0, [], 20_000
    chain = gibbs(matrix, np.full(4, 0.25), n, 1000, np.random.default_rng(0))
    for pi, rate in chain:
        total = total + rate[4] + (pi[a] * pi[b]) @ (rate[:4] - rate[4])
        laws.append(pi)
    found = model.predict_link(nodes[np.stack([a, b], axis=1)])
    assert np.abs(found - total / n).max() < 0.01
    assert np.sqrt(np.mean((found - total / n) ** 2)) < 0.003
    laws = np.array(laws)
    order = align([laws.mean(axis=0).T], model.memberships_.T).order[0]
    difference = model.memberships_ - laws.mean(axis=0)[:, order]
    sd = laws.std(axis=0)[:, order]
    assert np.sqrt(np.mean((difference / sd) ** 2)) < 0.1
    np.testing.assert_allclose(model.memberships_std_, sd, rtol=0.15, atol=0.01)
