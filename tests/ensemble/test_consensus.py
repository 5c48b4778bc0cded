"""Consensus Monte Carlo against the posterior of all data."""

import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from skbayes_sg import (
    ConsensusClassifier,
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    load_draws,
    save_draws,
)
from skbayes_sg.datasets import make_logistic
from skbayes_sg.inference.consensus import merge_draws


def quick(**parameters):
    inner = SGLDLogisticRegression(n_draws=50, n_chains=2, gradient="full")
    defaults = dict(estimator=inner, n_shards=2, random_state=0)
    return ConsensusClassifier(**{**defaults, **parameters})


REPEATED = "check_sample_weight_equivalence_on_"


@pytest.mark.usefixtures("short_pilots")
@parametrize_with_checks([quick()])
def test_sklearn_checks(estimator, check):
    if check.func.__name__.startswith(REPEATED):
        pytest.skip("another split: see test_weights_count_as_repetitions")
    check(estimator)


def test_merging_gaussians_is_exact(rng):
    """40,000 draws: within 4 Monte Carlo errors of the product of the densities."""
    dim, n = 3, 40_000
    roots = rng.normal(size=(4, dim, dim)) + 2 * np.eye(dim)
    means = rng.normal(size=(4, dim))
    precisions = [np.linalg.inv(root @ root.T) for root in roots]
    cov = np.linalg.inv(sum(precisions))
    mean = cov @ sum(p @ m for p, m in zip(precisions, means, strict=True))
    draws = [
        (m + rng.normal(size=(n, dim)) @ root.T).reshape(4, -1, dim)
        for m, root in zip(means, roots, strict=True)
    ]
    merged = merge_draws(draws)
    assert merged.shape == draws[0].shape
    merged, sd = merged.reshape(-1, dim), np.sqrt(np.diag(cov))
    assert (np.abs(merged.mean(axis=0) - mean) <= 4 * sd / np.sqrt(n)).all()
    z = np.cov(merged, rowvar=False) / np.outer(sd, sd) - cov / np.outer(sd, sd)
    assert np.abs(z).max() <= 4 * np.sqrt(2 / n)
    # Diagonal weights of correlated draws are not exact, but they are an average.
    rough = merge_draws(draws, "diagonal").reshape(-1, dim)
    assert np.abs(rough.mean(axis=0) - mean).max() > 8 * (sd / np.sqrt(n)).max()


def test_merging_does_not_depend_on_units(rng):
    draws = [rng.normal(size=(2, 500, 3)) for _ in range(3)]
    units = np.array([1e-9, 1.0, 1e9])
    for weighting in ("dense", "diagonal"):
        expected = merge_draws(draws, weighting)
        merged = merge_draws([units * shard for shard in draws], weighting)
        np.testing.assert_allclose(merged / units, expected, rtol=1e-6, atol=1e-9)


def test_auto_weighting_needs_ten_draws_per_parameter(rng):
    for n, kind in ((19, "diagonal"), (20, "dense")):
        draws = [rng.normal(size=(1, n, 2)) for _ in range(2)]
        assert np.array_equal(merge_draws(draws), merge_draws(draws, kind))
    with pytest.raises(ValueError, match='weighting="dense".*n_draws'):
        merge_draws([rng.normal(size=(1, 2, 2))] * 2, "dense")


@pytest.fixture(scope="module")
def narrow():
    """Data, and draws by MALA, of a posterior in which the prior counts."""
    X, y = make_logistic(2000, 3, coef_scales=(1.0,), random_state=3)
    exact = SGMCMCLogisticRegression(
        sampler="mala", n_draws=4000, prior_variance=0.02, random_state=0
    ).fit(X, y)
    return X, y, exact


def errors(model, exact):
    """Return the error of the mean in sds, the ratio of sds, and effective draws."""
    draws = model.samples_.reshape(-1, model.samples_.shape[-1])
    truth = exact.samples_.reshape(-1, draws.shape[-1])
    sd = truth.std(axis=0)
    error = np.abs(draws.mean(axis=0) - truth.mean(axis=0)) / sd
    ess = array_stats.ess(model.samples_, chain_axis=0, draw_axis=1)
    return error, draws.std(axis=0) / sd, ess


def reaches_the_posterior(model, exact):
    """Whether means are within 0.1 sd and sds within 5 %, plus 3 Monte Carlo errors."""
    error, ratio, ess = errors(model, exact)
    mean_is_right = (error <= 0.1 + 3 / np.sqrt(ess)).all()
    return mean_is_right and (np.abs(ratio - 1) <= 0.05 + 3 / np.sqrt(2 * ess)).all()


def consensus(**parameters):
    inner = SGLDLogisticRegression(prior_variance=0.02)
    return ConsensusClassifier(inner, random_state=1, **parameters)


@pytest.mark.parametrize("n_shards", [1, 4, 8])
def test_reaches_the_posterior_of_all_data(narrow, n_shards):
    X, y, exact = narrow
    model = consensus(n_shards=n_shards).fit(X, y)
    assert reaches_the_posterior(model, exact)


def test_forgetting_the_share_of_the_prior_is_caught(narrow, monkeypatch):
    X, y, exact = narrow

    def forgetful(estimator, n_shards, seed):
        return clone(estimator).set_params(random_state=int(seed))

    monkeypatch.setattr("skbayes_sg.ensemble._consensus._with_share", forgetful)
    model = consensus().fit(X, y)
    assert not reaches_the_posterior(model, exact)
    error, ratio, _ = errors(model, exact)
    assert error.max() > 1 and ratio.max() < 0.95


def test_weights_count_as_repetitions(narrow):
    X, y, _ = narrow
    weights = np.r_[2.0 * np.ones(1000), np.zeros(1000)]
    twice = SGLDLogisticRegression(prior_variance=0.02, random_state=0)
    twice.fit(np.vstack([X[:1000]] * 2), np.r_[y[:1000], y[:1000]])
    model = consensus().fit(X, y, sample_weight=weights)
    assert reaches_the_posterior(model, twice)


def test_groups_and_given_shards_are_one(narrow):
    X, y, exact = narrow
    groups = np.array(list("ab"))[np.arange(len(y)) % 2]
    model = consensus().fit(X, y, groups=groups)
    assert len(model.estimators_) == 2
    assert reaches_the_posterior(model, exact)
    parts = [(X[k::2], y[k::2]) for k in range(2)]
    for shards in (parts, [lambda part=part: part for part in parts]):
        again = consensus().fit_shards(shards)
        assert np.array_equal(again.samples_, model.samples_)
        assert again.n_features_in_ == 3


@pytest.mark.long
def test_same_draws_for_any_n_jobs_and_backend(narrow):
    X, y, _ = narrow
    alone = quick(n_jobs=1).fit(X, y)
    assert np.array_equal(alone.samples_, quick(n_jobs=2).fit(X, y).samples_)
    with joblib.parallel_config("loky"):
        assert np.array_equal(alone.samples_, quick(n_jobs=2).fit(X, y).samples_)
    assert not np.array_equal(alone.samples_, quick(random_state=1).fit(X, y).samples_)


@pytest.mark.long
def test_all_kinds_of_data():
    X, y = load_iris(return_X_y=True)
    names = ["a", "b", "c", "d"]
    inner = SGHMCLogisticRegression(n_draws=100, n_chains=2, fit_intercept=False)
    model = quick(estimator=inner, n_shards=3)
    frame = model.fit(pd.DataFrame(X, columns=names), y)
    assert model.coef_.shape == (3, 4) and list(model.feature_names_in_) == names
    assert frame.predict_proba(pd.DataFrame(X, columns=names)).shape == (150, 3)
    dense = clone(model).fit(X, y)
    assert np.array_equal(dense.samples_, frame.samples_)
    assert dense.score(X, y) > 0.9 and not hasattr(dense, "feature_names_in_")
    rows = clone(model).fit(sparse.csr_array(X), y)
    # Sums in another order lead to other draws of the same posterior: 100 effective
    # ones of each, four errors of 0.14 sds.
    assert np.abs((rows.coef_ - dense.coef_) / dense.coef_std_).max() < 0.6
    single = clone(model).fit(X.astype(np.float32), y)
    assert single.samples_.dtype == np.float32
    assert single.predict_proba_samples(X[:2]).shape == (2, 100, 2, 3)


def test_in_a_pipeline_and_in_files(narrow, tmp_path):
    X, y, _ = narrow
    inner = SGLDLogisticRegression(n_draws=300)
    model = make_pipeline(StandardScaler(), quick(estimator=inner)).fit(X, y)[-1]
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.samples_, model.samples_)
    size = 3 * model.samples_.nbytes  # of two shards and the whole
    assert len(pickle.dumps(model)) < size + X.nbytes / 2  # no training data inside
    table = model.estimator_.summary()
    np.testing.assert_allclose(table["mean"][:3], model.coef_[0])
    save_draws(model.estimator_, tmp_path / "draws.npz")
    saved = load_draws(tmp_path / "draws.npz")
    assert saved.params["prior_variance"] == 10.0  # of the whole
    with pytest.raises(ValueError, match="needs the training data"):
        model.estimator_.ksd()


X, Y = make_logistic(40, 3, random_state=0)


@pytest.mark.parametrize(
    "parameters, words",
    [
        ({"n_shards": 0}, "n_shards=0"),
        ({"n_shards": 2.0}, "n_shards=2.0"),
        ({"n_shards": 25}, "n_shards=25 is more than .* use fewer"),
        ({"weighting": "equal"}, "weighting='equal'"),
        ({"weighting": None}, "weighting=None"),
        ({"n_jobs": 0}, "n_jobs=0"),
        ({"n_jobs": "all"}, "n_jobs='all'"),
        ({"estimator": LogisticRegression()}, "estimator=LogisticRegression"),
        (
            {"estimator": make_pipeline(StandardScaler(), SGLDLogisticRegression())},
            "estimator=Pipeline",
        ),
        ({"estimator": 3}, "estimator=3"),
        (
            {"estimator": SGLDLogisticRegression(schedule="polynomial")},
            "estimator__schedule='polynomial'",
        ),
        ({"estimator": SGLDLogisticRegression(n_draws=0)}, "n_draws=0"),
        ({"estimator": SGLDLogisticRegression(prior_variance="x")}, "prior_variance="),
    ],
)
def test_bad_parameters(parameters, words):
    model = quick(**parameters)
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("keep", ["draws", "moments", "variances"])
def test_draws_that_do_not_vary_cannot_be_weighted(keep):
    model = quick(estimator=SGLDLogisticRegression(n_draws=1, n_chains=1, keep=keep))
    with pytest.raises(ValueError, match="shard 0 do not vary.*increase n_draws"):
        model.fit(X, Y)


def test_draws_in_few_directions_have_no_precision_matrix(rng):
    line = rng.normal(size=(1, 50, 1)) * np.array([1.0, 3.0, -2.0])
    with pytest.raises(ValueError, match='shard 0 vary in fewer.*"diagonal"'):
        merge_draws([line, line + rng.normal(size=line.shape)], "dense")
    assert np.allclose(merge_draws([line, line], "diagonal"), line)
    with pytest.raises(ValueError, match="shard 0 do not vary"):
        merge_draws([1e-155 * line], "diagonal")  # no inverses of such variances


def test_bad_shards():
    model = quick()
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.fit(X, Y, groups=np.zeros(39))
    with pytest.raises(ValueError, match="one class only") as error:
        model.fit(X, Y, groups=Y)
    assert "This was shard 0." in error.value.__notes__
    with pytest.raises(ValueError, match=r"shards=\[\] is empty"):
        model.fit_shards([])
    with pytest.raises(ValueError, match="n_features_in_ is 3 in shard 0 and 2 in"):
        model.fit_shards([(X, Y), (X[:, :2], Y)])
    with pytest.raises(ValueError, match="classes_ is"):
        model.fit_shards([(X, Y), (X, Y + 1)])
    assert not [name for name in vars(model) if name.endswith("_")]
