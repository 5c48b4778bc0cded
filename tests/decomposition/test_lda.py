"""The topic model as users see it."""

import pickle
import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.decomposition import LatentDirichletAllocation
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayes_sg import SGMCMCLatentDirichletAllocation
from skbayes_sg.datasets import make_documents
from skbayes_sg.inference.alignment import align
from skbayes_sg.inference.monitoring import monitored
from skbayes_sg.inference.topics import permute
from skbayes_sg.kernels.samplers import SCIR, SGLD, ExpandedMean, Gibbs
from skbayes_sg.metrics import completion_perplexity

K, W = 3, 12


def corpus(n_documents=150, length=40, seed=0):
    """Return counts of three topics that share no words, and the weights."""
    rng = np.random.default_rng(seed)
    topics = np.kron(np.eye(K), np.full(W // K, K / W))
    weights = rng.dirichlet(np.full(K, 0.3), size=n_documents)
    return np.array([rng.multinomial(length, p) for p in weights @ topics]), weights


def lda(**settings):
    settings = {"burn_in": 40, "thin": 4, "n_draws": 8, "random_state": 0} | settings
    return SGMCMCLatentDirichletAllocation(settings.pop("n_components", K), **settings)


@pytest.fixture(scope="module")
def fitted():
    X, weights = corpus()
    return lda().fit(X), X, weights


@parametrize_with_checks([lda(n_components=2, burn_in=5, thin=1, n_draws=3)])
def test_sklearn_checks(estimator, check):
    check(estimator)


def test_topics_that_share_no_words_are_found(fitted):
    model, X, weights = fitted
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    blocks = phi.reshape(K, K, W // K).sum(axis=2)
    assert sorted(blocks.argmax(axis=1)) == list(range(K))
    assert blocks.max(axis=1).min() > 0.95
    found, std = model.transform(X, return_std=True)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    order = blocks.argmax(axis=0)
    # Weights given the topics, Dirichlet: E |error| is about the sd of each.
    z = (found[:, order] - weights) / std[:, order]
    assert 0.8 < z.std() < 1.2
    assert np.abs(z.mean()) < 0.2
    assert model.affinity_.min() > 0.98


def test_chains_seldom_miss_a_topic():
    """Of chains that start with eight topics, more than half did."""
    k, w, n_chains, n_missing = 8, 60, 8, 0
    for seed in range(3):
        data = make_documents(300, w, k, random_state=seed)
        priors = {"doc_topic_prior": 0.1, "topic_word_prior": 0.05}
        model = lda(n_components=k, n_chains=n_chains, burn_in=100, n_draws=1, **priors)
        counts = model.fit(data.X).samples_[:, 0, : k * w].reshape(n_chains, k, w)
        affinity = align(counts, data.topics + 1e-9).affinity
        n_missing += (affinity.min(axis=1) < 0.9).sum()
    # Of 24. If each misses one with a probability of 0.05, as 4 of 80 others did, more
    # than 6 miss one with a probability of 1e-4.
    assert n_missing <= 6


def test_pseudo_counts_add_up_to_the_tokens_and_the_prior(fitted):
    model, X, _ = fitted
    total = X.sum() + K * W * model.topic_word_prior_
    np.testing.assert_allclose(model.components_.sum(), total, rtol=1e-5)
    assert model.topic_word_prior_ == pytest.approx(1 / K)
    np.testing.assert_allclose(model.doc_topic_prior_, 1 / K)


def test_known_topics_leave_a_dirichlet_law():
    """Words that are their own topic's alone: sd of phi against its closed form."""
    X = np.kron(np.eye(2, dtype=int), np.array([[60, 40]])).repeat(20, axis=0)
    model = lda(n_components=2, topic_word_prior=0.01, n_draws=4).fit(X)
    best = model.components_.argmax(axis=1)
    b = 20 * 60 + 0.01
    total = 20 * 100 + 4 * 0.01
    m = b / total
    sd = np.sqrt(m * (1 - m) / (1 + total))
    np.testing.assert_allclose(model.components_std_[[0, 1], best], sd, rtol=0.02)
    table = model.top_words(2, prob=0.9)
    np.testing.assert_allclose(table.high[:, 0] - table.low[:, 0], 3.29 * sd, rtol=0.02)
    np.testing.assert_allclose(table.mean[:, 0], m, rtol=1e-3)


def test_same_numbers_for_any_n_jobs_batches_of_storage_and_input(fitted, tmp_path):
    model, X, _ = fitted
    for other in (
        lda(n_jobs=2).fit(sp.csr_matrix(X)),
        lda(storage=tmp_path).fit(X.astype(np.float32)),
        lda(checkpoint=tmp_path / "c").fit(sp.csc_array(X)),
    ):
        np.testing.assert_array_equal(other.samples_, model.samples_)


def test_memory_is_known_before_and_documents_may_be_memory_mapped(rng, tmp_path):
    X = sp.csr_array(rng.poisson(0.2, (1000, 1000)))
    for name in ("data", "indices", "indptr"):
        np.save(tmp_path / f"{name}.npy", getattr(X, name))
    names = [tmp_path / f"{name}.npy" for name in ("data", "indices", "indptr")]
    mapped = sp.csr_array(tuple(np.load(n, mmap_mode="r") for n in names), X.shape)
    model = lda(n_components=20, burn_in=0, thin=1, n_draws=4)
    expected = model.fit(X).samples_
    tracemalloc.start()
    model.fit(mapped)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    np.testing.assert_array_equal(model.samples_, expected)
    assert 0.6 < peak / model.memory_needed(mapped) < 1.2


@pytest.mark.parametrize("kind", ["CSR", "CSC", "64 bits", "dense"])
def test_memory_of_long_documents_is_known_before(kind):
    X = sp.random_array((200, 300), density=0.5, rng=0, format="csr")
    X = (X * 40).astype(np.int32)  # half a million tokens of 30,000 pairs
    X.eliminate_zeros()
    if kind == "64 bits":
        X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    X = {"CSC": X.tocsc, "dense": X.toarray}.get(kind, X.copy)()
    model = lda(burn_in=0, thin=1, n_draws=1)
    model.fit(X)
    tracemalloc.start()
    model.fit(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert 0.8 < peak / model.memory_needed(X) < 1.1


def test_minibatches_visit_documents_in_turn(fitted):
    model, X, _ = fitted
    other = lda(batch_size=50, burn_in=120, thin=12).fit(X)
    # The same draws, in the same order, however they are cut into iterations.
    np.testing.assert_array_equal(other.samples_, model.samples_)
    assert (other.batch_size_, model.batch_size_) == (50, 150)


@pytest.mark.parametrize("sampler", [Gibbs(), SCIR()])
def test_full_gradients_read_all_documents(fitted, sampler):
    _, X, _ = fitted
    short = dict(sampler=sampler, burn_in=2, n_draws=2, thin=1, n_chains=1)
    full = lda(gradient="full", batch_size=50, **short).fit(X)
    assert full.batch_size_ == 150
    whole = lda(gradient="minibatch", batch_size=150, **short).fit(X)
    np.testing.assert_array_equal(full.samples_, whole.samples_)


def test_warm_start_continues_the_chains(fitted):
    _, X, _ = fitted
    whole = lda(n_draws=8, n_chains=1).fit(X)
    parts = lda(n_draws=4, n_chains=1, warm_start=True)
    parts.fit(X)
    np.testing.assert_array_equal(parts.samples_, whole.samples_[:, :4])
    parts.fit(X)
    np.testing.assert_array_equal(parts.samples_, whole.samples_[:, 4:])


def test_a_killed_fit_continues_from_its_checkpoint(fitted, tmp_path, stop_after):
    model, X, _ = fitted
    stop_after(30, lambda: lda(checkpoint=tmp_path).fit(X))
    again = lda(checkpoint=tmp_path).fit(X)
    np.testing.assert_array_equal(again.samples_, model.samples_)


def test_an_interrupted_fit_keeps_its_draws_if_it_may_go_on(fitted, stop_after, capsys):
    model, X, _ = fitted
    kept = lda(n_chains=1, warm_start=True, verbose=1)
    stop_after(60, lambda: kept.fit(X), KeyboardInterrupt)
    n = kept.samples_.shape[1]
    assert 0 < n < 8
    np.testing.assert_allclose(kept.transform(X[:2]).sum(axis=1), 1.0)
    assert capsys.readouterr().err  # the progress bar
    lost = lda(n_chains=1)
    stop_after(60, lambda: lost.fit(X), KeyboardInterrupt)
    assert not hasattr(lost, "samples_")
    assert "SGMCMCLatentDirichletAllocation" in model._repr_html_()


def test_moments_in_place_of_draws(fitted):
    model, X, _ = fitted
    other = lda(keep="variances").fit(X)
    np.testing.assert_allclose(other.components_, model.components_, rtol=1e-4)
    differences = []
    for seed in range(4):
        pair = (lda(random_state=seed, keep=kept) for kept in ("draws", "variances"))
        std, kept = (one.fit(X).components_std_ for one in pair)
        differences.append(np.abs(kept - std).max() / std.max())
    # The largest of 36: of single seeds between 1.7 and 5.4 %, in eight of them.
    assert np.mean(differences) < 0.05
    weights, expected = other.transform(X), model.transform(X)
    np.testing.assert_allclose(weights, expected, atol=0.05)
    assert not hasattr(other, "samples_")
    other.top_words(3)


def test_learned_priors_are_near_those_of_the_data(fitted):
    _, X, _ = fitted
    model = lda(doc_topic_prior="learn", topic_word_prior="learn", n_draws=20).fit(X)
    # 150 documents of Dirichlet(0.3, 0.3, 0.3): the sd of log alpha is about 0.12.
    assert np.all(np.abs(np.log(model.doc_topic_prior_ / 0.3)) < 0.5)
    assert model.topic_word_prior_ < 2.0
    assert model.samples_[..., -1].std() > 0


def test_perplexity_is_near_that_of_the_truth(fitted):
    model, _, _ = fitted
    X, _ = corpus(seed=1)
    topics = np.kron(np.eye(K), np.full(W // K, K / W)) + 1e-9
    truth = completion_perplexity(X, topics, 0.3)
    assert truth < model.perplexity(X) < 1.03 * truth
    assert model.perplexity(X, method="bound") > 1.0
    assert model.score(X) == pytest.approx(-np.log(model.perplexity(X)))


def test_pipeline_names_and_pickles(fitted):
    texts = 10 * ["cat dog pet", "dog cat vet", "stock bond rate", "bond stock fee"]
    pipeline = make_pipeline(CountVectorizer(), lda(n_components=2))
    weights = pipeline.fit_transform(texts)
    again = pickle.loads(pickle.dumps(pipeline))
    np.testing.assert_array_equal(again.transform(texts), weights)
    vectorizer, model = pipeline[0], pipeline[-1]
    names = model.get_feature_names_out()
    assert list(names) == [f"sgmcmclatentdirichletallocation{k}" for k in range(2)]
    words = model.top_words(2, feature_names=vectorizer.get_feature_names_out()).words
    assert {frozenset(row) for row in words} == {
        frozenset({"cat", "dog"}),
        frozenset({"stock", "bond"}),
    }
    clone(pipeline)


def test_summary_tells_where_chains_disagree(fitted):
    pytest.importorskip("pandas")
    model, X, _ = fitted
    table = model.summary(n_words=4)
    assert table["share"].sum() == pytest.approx(1.0)
    assert set(table.attrs["rhat"]) == {"log p(w | z)", "co-occurrence"}
    assert max(table.attrs["rhat"].values()) < 2.0  # of 16 draws
    rhats = model.summary(corpus(20, seed=1)[0]).attrs["rhat"]
    assert rhats["held-out log p"] < 2.0
    noise = np.random.default_rng(0).poisson(0.3, (40, 12))  # no topics to agree on
    with pytest.warns(ConvergenceWarning, match="chains disagree"):
        lda(n_components=6, topic_word_prior=0.05).fit(noise).summary()


def test_what_needs_gradients_says_so(fitted):
    for name in ("ksd", "check"):
        with pytest.raises(AttributeError, match="neither ksd"):
            getattr(fitted[0], name)


def test_fit_compares_chains_by_what_no_label_changes(fitted):
    _, X, _ = fitted
    values = monitored(lda()._build(sp.csr_array(X)), fitted[0].samples_)
    mixed = fitted[0].samples_.copy()
    permute(mixed, np.tile([2, 0, 1], (2, 8, 1)), K, W)
    again = monitored(lda()._build(sp.csr_array(X)), mixed)
    np.testing.assert_allclose(again, values, rtol=1e-6)
    assert values.shape == (2, 8, 2)


BAD = {
    "texts": (["a cat", "a dog"], "texts in place of counts of words"),
    "negative": (-np.ones((3, 4), int), "Negative"),
    "fractions": (np.full((3, 4), 0.5), "not a whole number"),
    "no tokens": (np.zeros((3, 4), int), "no tokens"),
    "a word too often": (np.array([[2**32, 0]]), "more than 2147483647"),
    "too many": (np.full((10, 2000), 2**30), "would not fit into memory"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_counts(name):
    X, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        lda().fit(X)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components=0"),
        ({"n_components": 10_001}, ValueError, "more than 10000 topics"),
        ({"doc_topic_prior": -1.0}, ValueError, "doc_topic_prior=-1.0"),
        ({"doc_topic_prior": "auto"}, ValueError, 'use "learn" or a number'),
        ({"doc_topic_prior": [0.1, 0.2]}, ValueError, "one for each"),
        ({"doc_topic_prior": [0.1, 0.2, -1.0]}, ValueError, "must be positive"),
        ({"topic_word_prior": [0.1, 0.2, 0.3]}, TypeError, "topic_word_prior"),
        ({"topic_word_prior": 1e-320}, ValueError, "between 1e-30 and"),
        ({"topic_word_prior": 1e300}, ValueError, "between 1e-30 and"),
        ({"total_samples": -5}, ValueError, "total_samples=-5"),
        ({"batch_size": 1000}, ValueError, "batch_size=1000 is larger"),
        ({"gradient": "cv"}, ValueError, "gradient='cv'"),
        ({"sampler": SGLD()}, ValueError, "must be an instance of Gibbs"),
        ({"sampler": "gibbs"}, TypeError, "must be an instance of Gibbs"),
        ({"keep": "moments"}, ValueError, 'use "variances"'),
    ],
)
def test_bad_parameters(settings, error, message):
    with pytest.raises(error, match=message):
        lda(**settings).fit(corpus(20)[0])


def test_odd_documents_have_answers(fitted):
    """Empty documents and columns, more topics than words, words never seen."""
    X = np.array([[3, 0, 2, 0], [0, 0, 0, 0], [0, 0, 4, 0]])
    model = lda(n_components=6, doc_topic_prior=[0.1, 0.2, 0.3, 0.4, 0.5, 0.6]).fit(X)
    assert np.isfinite(model.components_).all()
    prior = model.transform(np.zeros((1, 4), int))
    np.testing.assert_allclose(np.sort(prior[0]), np.arange(1, 7) / 21, atol=0.1)
    unseen = model.transform(np.array([[0, 9, 0, 0]]))
    np.testing.assert_allclose(unseen.sum(), 1.0)
    with pytest.raises(ValueError, match="too few tokens"):
        model.perplexity(np.eye(4, dtype=int))


def test_a_stream_finds_the_topics():
    model = lda(total_samples=3000, n_draws=10, n_chains=1)
    for t in range(30):
        model.partial_fit(corpus(100, seed=t + 10)[0])
    assert (model.n_batches_, model.n_samples_seen_) == (30, 3000)
    assert model.samples_.shape == (1, 10, K * W + K + 1)
    phi = model.components_ / model.components_.sum(axis=1, keepdims=True)
    blocks = phi.reshape(K, K, W // K).sum(axis=2)
    assert sorted(blocks.argmax(axis=1)) == list(range(K))
    X, _ = corpus(seed=1)
    topics = np.kron(np.eye(K), np.full(W // K, K / W)) + 1e-9
    assert model.perplexity(X) < 1.03 * completion_perplexity(X, topics, 0.3)
    total = 3000 * 40 + K * W * model.topic_word_prior_
    last = model.samples_[0, -1, : K * W]
    # All but the share that the flat counts of the start still have.
    np.testing.assert_allclose(last.sum(), total, rtol=0.002)
    model.top_words(2)


def test_a_stream_is_ahead_of_scikit_learn_after_every_batch():
    k, prior = 8, {"doc_topic_prior": 0.1, "topic_word_prior": 0.05}
    X = make_documents(900, 300, k, length=60, random_state=0).X
    test = X[800:]
    ours = lda(n_components=k, n_chains=1, total_samples=800, **prior)
    theirs = LatentDirichletAllocation(k, random_state=0, total_samples=800, **prior)
    for t in range(8):
        batch = X[100 * t : 100 * (t + 1)]
        ours.partial_fit(batch)
        theirs.partial_fit(batch)
        if t in (0, 1, 3, 7):
            other = completion_perplexity(test, theirs.components_, 0.1)
            assert ours.perplexity(test) < other


def test_intervals_of_a_short_stream_are_warned_of():
    pytest.importorskip("pandas")
    model = lda(n_chains=1)
    for t in range(3):
        model.partial_fit(corpus(50, seed=t)[0])
    # Shares of 3^-0.5 and 4^-0.5 after the first; draws after two and three batches.
    second = np.array([1 - 3**-0.5, 3**-0.5, 0.0])
    weights = np.array([second, 0.5 * second + [0.0, 0.0, 0.5]])
    np.testing.assert_allclose(model._products * 50, weights @ weights.T)
    assert model._worth == 1.0  # more than by itself, but no more is known
    with pytest.warns(ConvergenceWarning, match="3 batches of a stream"):
        model.summary()


def test_a_stream_goes_on_after_a_fit():
    X, _ = corpus(150)
    model = lda(n_chains=1).fit(X)
    assert model.n_samples_seen_ == 150
    before = model.components_
    model.partial_fit(corpus(30, seed=1)[0])
    assert (model.n_samples_seen_, model.n_batches_) == (180, 1)
    assert model.step_size_ == pytest.approx(7**-0.5)  # the share of the batch
    # The counts of 150 documents are now those of 180, with the same labels.
    np.testing.assert_allclose(model.components_.sum(), before.sum() * 1.2, rtol=0.01)
    blocks = [n.reshape(K, K, W // K).sum(axis=2) for n in (before, model.components_)]
    np.testing.assert_array_equal(*(n.argmax(axis=1) for n in blocks))


@pytest.mark.parametrize("sampler", [SCIR(), ExpandedMean()])
def test_samplers_of_the_literature_take_streams(sampler):
    model = lda(sampler=sampler, n_chains=1, n_draws=4)
    for t in range(6):
        model.partial_fit(corpus(50, seed=t)[0])
    X, _ = corpus(seed=10)
    assert model.perplexity(X) < 0.8 * W  # of words at random
    assert model.samples_.shape[1] == 3  # of the later half of the calls


def test_a_stream_keeps_its_number_of_topics():
    model = lda().partial_fit(corpus(30)[0]).set_params(n_components=5)
    with pytest.raises(ValueError, match="cannot be changed from 3"):
        model.partial_fit(corpus(30)[0])


def test_a_stream_needs_draws():
    with pytest.raises(ValueError, match='use keep="draws"'):
        lda(keep="variances").partial_fit(corpus(30)[0])


def test_equal_streams_give_equal_topics():
    batches = [corpus(30, seed=t)[0] for t in range(3)]
    first, second = lda(n_chains=1), lda(n_chains=1)
    for X in batches:
        first.partial_fit(X)
        second.partial_fit(X)
        second = pickle.loads(pickle.dumps(second))
    np.testing.assert_array_equal(first.samples_, second.samples_)
    assert not np.array_equal(first.samples_[:, 0], first.samples_[:, 1])


def test_the_sampler_of_the_literature_finds_the_same_topics(fitted):
    model, X, _ = fitted
    other = lda(sampler=SCIR(), batch_size=50, burn_in=150, thin=5, n_chains=1).fit(X)
    assert other.perplexity(X) < 1.05 * model.perplexity(X)
    ratio = other.components_std_.mean() / model.components_std_.mean()
    assert 0.5 < ratio < 3.0  # it is wider, by the noise of its minibatches


@pytest.mark.parametrize("index", [5, 10**6, -1])
def test_indices_out_of_range_are_refused(index):
    """SciPy does not check them, and compiled code would write outside of arrays."""
    counts = sp.csr_array(np.ones((6, 5)))
    counts.indices[0] = index
    model = SGMCMCLatentDirichletAllocation(2, n_draws=2)
    for method in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match="out of range"):
            method(counts)
