"""keep="moments": what an estimator knows of draws that it has not kept."""

import pickle
import tracemalloc

import joblib
import numpy as np
import pytest
from scipy import sparse
from scipy.special import expit, softmax
from sklearn.base import clone
from sklearn.datasets import load_iris

from skbayes_sg import (
    ConsensusClassifier,
    KSDStepSizeSearch,
    SGLDLogisticRegression,
    load_draws,
    save_draws,
)
from skbayes_sg.datasets import make_logistic
from skbayes_sg.ensemble._consensus import merge_draws, merge_moments
from skbayes_sg.inference import running
from skbayes_sg.inference.moments import Moments
from skbayes_sg.inference.predictors import normal_points, predictor_moments

X, Y = make_logistic(300, 3, coef_scales=(1.0,), random_state=0)


def classifier(**changes):
    settings = dict(n_draws=200, n_chains=2, keep="moments", random_state=0)
    return SGLDLogisticRegression(**{**settings, **changes})


def same(one, other):
    """Whether two fits agree in every bit."""
    return np.array_equal(one.moments_.mean, other.moments_.mean) and np.array_equal(
        one.moments_.covariance, other.moments_.covariance
    )


@pytest.fixture(scope="module")
def both():
    return classifier(keep="draws").fit(X, Y), classifier().fit(X, Y)


@pytest.mark.parametrize("changes", [{}, {"fit_intercept": False}])
@pytest.mark.parametrize("schedule", ["constant", "polynomial"])
def test_moments_are_those_of_the_draws(changes, schedule):
    drawn = classifier(keep="draws", schedule=schedule, **changes).fit(X, Y)
    for keep in ("moments", "variances"):
        model = classifier(keep=keep, schedule=schedule, **changes).fit(X, Y)
        for name in ("coef_", "coef_std_", "intercept_", "intercept_std_"):
            expected, value = getattr(drawn, name), getattr(model, name)
            assert value.shape == expected.shape
            np.testing.assert_allclose(value, expected, rtol=1e-8, atol=1e-12)
    weights = drawn._flat_weights()
    covariance = np.cov(drawn._flat_draws().T, aweights=weights, ddof=0)
    moments = classifier(schedule=schedule, **changes).fit(X, Y)
    np.testing.assert_allclose(moments.covariance_, covariance, rtol=1e-8, atol=1e-12)
    np.testing.assert_allclose(model.covariance_, np.diagonal(covariance), rtol=1e-8)


@pytest.mark.parametrize("sd", [0.1, 1.0, 3.0, 30.0])
def test_two_classes_by_quadrature(sd):
    """Within 2e-4 of the integral, far below the error of any number of draws."""
    grid = np.linspace(-10, 10, 100_001)
    weights = np.exp(-(grid**2) / 2) / np.exp(-(grid**2) / 2).sum()
    means = np.linspace(-3 * sd - 3, 3 * sd + 3, 31)
    exact = np.array([weights @ expit(mean + sd * grid) for mean in means])
    points = normal_points(1)[:, 0]
    average = np.array([expit(mean + sd * points).mean() for mean in means])
    assert np.abs(average - exact).max() < 2e-4


def test_several_classes_by_quasi_random_points(rng):
    """200,000 draws: errors below 1e-3, and no more than 3e-3 is allowed."""
    for scale in (0.3, 1.0, 3.0):
        root = scale * rng.normal(size=(4, 4)) / 2
        mean = rng.normal(size=4)
        eta = mean + rng.normal(size=(200_000, 4)) @ root.T
        points = mean + normal_points(4) @ np.linalg.cholesky(root @ root.T).T
        error = softmax(points, axis=1).mean(axis=0) - softmax(eta, axis=1).mean(axis=0)
        assert np.abs(error).max() < 3e-3


@pytest.mark.parametrize("intercept", [False, True])
def test_predictors_are_gaussian(rng, intercept):
    """Mean x'm and covariance x'Cx of each row, from dense and sparse rows."""
    rows, q = rng.normal(size=(5, 3)), 3 + intercept
    mean, root = rng.normal(size=(2, q)), rng.normal(size=(2 * q, 2 * q))
    design = np.hstack([rows, np.ones((5, int(intercept)))])
    jacobian = np.stack([np.kron(np.eye(2), row) for row in design])
    covariance = root @ root.T
    for full, given in [
        (covariance, covariance),
        (np.diag(np.diagonal(covariance)), np.diagonal(covariance)),
    ]:
        exact = jacobian @ full @ jacobian.transpose(0, 2, 1)
        for matrix in (rows, sparse.csr_matrix(rows), sparse.csr_array(rows)):
            eta, factor = predictor_moments(matrix, mean, given, intercept)
            np.testing.assert_allclose(eta, design @ mean.T)
            np.testing.assert_allclose(factor @ factor.transpose(0, 2, 1), exact)


def test_probabilities_agree_with_the_draws():
    """With a hundred rows per parameter, the posterior is close to its Gaussian.

    Both see the same draws, whose scatter they share: 2,000 effective ones leave less
    than 0.01 between a probability and its Gaussian counterpart.
    """
    iris = load_iris(return_X_y=True)
    for rows, labels in [(X, Y), (iris[0] - iris[0].mean(axis=0), iris[1])]:
        settings = dict(n_draws=1000, prior_variance=1.0)
        drawn = classifier(keep="draws", **settings).fit(rows, labels)
        model = classifier(**settings).fit(rows, labels)
        proba = model.predict_proba(rows)
        assert np.abs(proba - drawn.predict_proba(rows)).max() < 0.01
        np.testing.assert_allclose(proba.sum(axis=1), 1.0)
        assert np.array_equal(proba, model.predict_proba(rows))  # nothing random
        sparse_proba = model.predict_proba(sparse.csr_matrix(rows))
        np.testing.assert_allclose(sparse_proba, proba, rtol=1e-10)
        assert np.mean(model.predict(rows) == drawn.predict(rows)) > 0.99


def test_variances_forget_correlations(both):
    _, model = both
    diagonal = classifier(keep="variances").fit(X, Y)
    assert diagonal.covariance_.shape == (4,)
    full = model.predict_proba(X)
    np.testing.assert_allclose(diagonal.predict_proba(X), full, atol=0.05)
    assert not np.allclose(diagonal.predict_proba(X), full, atol=1e-6)


def test_same_bits_in_any_chunks_threads_and_processes(both, monkeypatch, tmp_path):
    _, expected = both
    others = [classifier(n_jobs=2).fit(X, Y)]
    others.append(classifier(checkpoint=tmp_path).fit(X, Y))
    with joblib.parallel_config("loky"):
        others.append(classifier(n_jobs=2).fit(X, Y))
    monkeypatch.setattr(running, "CHUNK_SECONDS", 0.0)
    others.append(classifier().fit(X, Y))
    assert all(same(expected, other) for other in others)


@pytest.mark.parametrize("n_chunks", [3, 150, 300])
def test_resumed_bit_by_bit(both, stop_after, tmp_path, n_chunks):
    stop_after(n_chunks, lambda: classifier(checkpoint=tmp_path).fit(X, Y))
    assert same(classifier(checkpoint=tmp_path).fit(X, Y), both[1])


def test_memory_does_not_grow_with_draws():
    def peak(n_draws):
        model = classifier(n_draws=n_draws, n_chains=1, thin=1, burn_in=5)
        tracemalloc.start()
        model.fit(X, Y)
        used = tracemalloc.get_traced_memory()[1], len(pickle.dumps(model))
        tracemalloc.stop()
        return np.array(used)

    peak(10)  # what the first fit loads
    few, many = peak(20_000), peak(100_000)
    # 80,000 draws of 4 numbers are 2.56 MB.
    assert (many - few < 100_000).all()


def test_warm_start_goes_on(both):
    drawn = classifier(keep="draws", n_draws=300).fit(X, Y)
    model = classifier(warm_start=True).fit(X, Y)
    model.set_params(n_draws=100).fit(X, Y)
    np.testing.assert_allclose(
        model.moments_.mean, drawn.samples_[:, 200:].mean(axis=1), rtol=1e-8
    )
    other = model.fit(X[::-1], Y[::-1])  # other data: chains begin anew
    assert other.moments_.n_draws == 100 and np.isfinite(other.coef_).all()


def test_pickles(both):
    model = both[1]
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))
    skops = pytest.importorskip("skops.io")
    data = skops.dumps(model)
    names = skops.get_untrusted_types(data=data)
    assert all(name.startswith("skbayes_sg.") for name in names)
    again = skops.loads(data, trusted=names)
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_what_needs_draws_is_an_error_that_names_the_option(both, tmp_path):
    model = both[1]
    assert not hasattr(model, "samples_")
    for call in (
        lambda: model.samples_,
        lambda: model.predict_proba_samples(X),
        lambda: model.summary(),
        lambda: model.to_arviz(),
        lambda: model.ksd(),
        lambda: save_draws(model, tmp_path / "draws.npz"),
    ):
        with pytest.raises(AttributeError, match='no samples_.*keep="draws"'):
            call()
    assert not list(tmp_path.iterdir())
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        model.nothing  # noqa: B018
    with pytest.raises(
        ValueError, match="keep='moments' is not supported by partial_fit"
    ):
        classifier().partial_fit(X, Y)
    with pytest.raises(ValueError, match=r"storage=.*keep='moments'.*one of the two"):
        classifier(storage=str(tmp_path)).fit(X, Y)


def test_a_refit_forgets_the_other_kind(both, tmp_path):
    model = classifier(n_draws=20).fit(X, Y)
    model.set_params(keep="draws").fit(X, Y)
    assert not hasattr(model, "moments_") and not hasattr(model, "covariance_")
    save_draws(model, tmp_path / "draws.npz")
    assert load_draws(tmp_path / "draws.npz").samples.shape == (2, 20, 4)
    model.set_params(keep="variances").fit(X, Y)
    assert not hasattr(model, "samples_") and not hasattr(model, "draw_weights_")
    model.set_params(keep="draws").partial_fit(X, Y)
    assert model.samples_.shape == (2, 1, 4) and not hasattr(model, "moments_")


# Shards whose moments are merged
@pytest.mark.parametrize("weighting", ["dense", "diagonal"])
def test_merging_moments_is_merging_draws(rng, weighting):
    """Equal up to the chance correlation of shards: 1 / sqrt(40,000) = 0.005."""
    roots = [np.eye(3) + 0.4 * rng.normal(size=(3, 3)) for _ in range(3)]
    draws = [rng.normal(size=3) + rng.normal(size=(2, 20_000, 3)) @ r for r in roots]
    moments = [
        Moments(20_000, shard.mean(axis=1), np.array([np.cov(c.T) for c in shard]))
        for shard in draws
    ]
    mean, covariance = merge_moments(moments, weighting).pooled()
    flat = merge_draws(draws, weighting).reshape(-1, 3)
    np.testing.assert_allclose(mean, flat.mean(axis=0), atol=1e-3)
    error = covariance - np.cov(flat.T)
    assert np.abs(error).max() < 0.03 * np.diagonal(covariance).max()
    if weighting == "diagonal":
        alone = [
            Moments(20_000, m.mean, np.diagonal(m.covariance, axis1=1, axis2=2))
            for m in moments
        ]
        np.testing.assert_allclose(merge_moments(alone).pooled()[0], mean, rtol=1e-8)


def test_consensus_without_draws():
    rows, labels = make_logistic(2000, 3, coef_scales=(1.0,), random_state=3)
    fits = [
        ConsensusClassifier(classifier(keep=keep, n_draws=500), random_state=0)
        for keep in ("draws", "moments")
    ]
    drawn, model = (fit.fit(rows, labels) for fit in fits)
    sd = drawn.coef_std_
    # 1,000 effective draws of four shards that correlate by chance: 0.03 sds.
    assert (np.abs(model.coef_ - drawn.coef_) < 0.12 * sd).all()
    np.testing.assert_allclose(model.coef_std_, sd, rtol=0.12)
    error = model.predict_proba(rows) - drawn.predict_proba(rows)
    assert np.abs(error).max() < 0.01
    with pytest.raises(AttributeError, match='keep="draws"'):
        model.samples_  # noqa: B018
    variances = ConsensusClassifier(classifier(keep="variances"), weighting="dense")
    with pytest.raises(ValueError, match='weighting="dense" needs covariances'):
        variances.fit(rows, labels)


def test_shards_have_checkpoints_of_their_own(tmp_path):
    inner = classifier(checkpoint=tmp_path)
    model = ConsensusClassifier(inner, n_shards=2, random_state=0).fit(X, Y)
    assert {path.name for path in tmp_path.iterdir()} == {"shard-0", "shard-1"}
    again = ConsensusClassifier(inner, n_shards=2, random_state=0).fit(X, Y)
    assert np.array_equal(again.coef_, model.coef_)
    with pytest.raises(TypeError, match="random_state=None"):
        ConsensusClassifier(inner).fit(X, Y)


# Searches
def test_a_search_needs_draws():
    with pytest.raises(ValueError, match="keep='moments' of the estimator.*\"draws\""):
        KSDStepSizeSearch(classifier(), {"step_size": [0.5]}).fit(X, Y)


def test_the_checkpoint_of_a_search_is_that_of_its_refit(tmp_path):
    inner = classifier(keep="draws", n_draws=20, checkpoint=tmp_path)
    search = KSDStepSizeSearch(inner, {"step_size": [0.3, 0.5]}, n_iter=20)
    best = search.fit(X, Y).best_estimator_
    assert best.checkpoint == tmp_path and len(list(tmp_path.iterdir())) == 1
    again = clone(inner).set_params(**search.best_params_).fit(X, Y)
    assert np.array_equal(best.samples_, again.samples_)


@pytest.mark.parametrize("keep", ["moments", "variances"])
def test_squares_that_overflow_are_an_error(keep):
    X, y = np.zeros((12, 1)), np.arange(12) % 2
    settings = dict(prior_variance=1e308, fit_intercept=False)
    model = SGLDLogisticRegression(keep=keep, n_draws=3, random_state=0, **settings)
    with pytest.raises(ValueError, match=f"keep='{keep}' squares coefficients"):
        model.fit(X, y)
