"""Regressions of numbers and counts: exact posteriors, predictions, priors, units."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes_sg import (
    KSDStepSizeSearch,
    SGMCMCLinearRegression,
    SGMCMCLogisticRegression,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
    SGMCMCRobustRegressor,
)
from tests.linear_model import exact

SAMPLERS = [
    "sgld-lm",
    *(pytest.param(name, marks=pytest.mark.long) for name in ("baoab", "badodab")),
]
LONG = dict(n_draws=3000, random_state=0)  # 12,000 draws: sds have an error of 0.8 %
SHORT = dict(n_draws=200, n_chains=2, random_state=0)


def data(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return rng, X, X @ [0.8, -0.4]


@pytest.fixture(scope="module")
def counts():
    rng, X, eta = data(150)
    exposure = rng.uniform(1, 4, len(X))
    return X, rng.poisson(exposure * np.exp(1 + eta)), exposure


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_linear_is_exact(sampler):
    rng, X, eta = data()
    y = 500 + 40 * (eta + rng.normal(size=len(X)))
    model = SGMCMCLinearRegression(sampler=sampler, **LONG).fit(X, y)
    exact.linear(X, y).check(model.samples_)
    assert abs(model.noise_sd_ - model.samples_[..., -1].mean()) < 1e-9
    ksd, floor = model.ksd(return_floor=True)
    assert ksd < 2 * floor


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_poisson_is_exact(sampler, counts):
    X, y, exposure = counts
    model = SGMCMCPoissonRegressor(sampler=sampler, **LONG)
    model.fit(X, y, exposure=exposure)
    exact.poisson(X, y, exposure).check(model.samples_)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_negative_binomial_is_exact(sampler):
    rng, X, eta = data(150)
    y = rng.poisson(np.exp(1 + eta) * rng.gamma(2.0, 0.5, len(X)))
    model = SGMCMCNegativeBinomialRegressor(sampler=sampler, **LONG).fit(X, y)
    exact.negative_binomial(X, y).check(model.samples_)


@pytest.mark.long
@pytest.mark.parametrize("df", [4.0, pytest.param(None, marks=pytest.mark.long)])
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_robust_is_exact(sampler, df):
    rng, X, eta = data(151)
    y = 500 + 40 * (eta + rng.standard_t(3.0, len(X)))
    model = SGMCMCRobustRegressor(df=df or "learn", sampler=sampler, **LONG).fit(X, y)
    exact.robust(X, y, df).check(model.samples_)


@pytest.mark.long  # minibatches with linear control variates, noise included
@pytest.mark.parametrize("gradient", ["auto", "cv", "saga", "svrg"])
def test_minibatches_know_the_noise(gradient):
    rng, X, eta = data(20_000)
    y = eta + rng.normal(size=len(X))
    model = SGMCMCLinearRegression(gradient=gradient, **LONG).fit(X, y)
    assert model.batch_size_ < len(X)
    exact.linear(X, y).check(model.samples_)


def test_intervals_cover_new_rows():
    """Of 442 rows, the share that 90 % intervals cover has an error of 1.4 %."""
    X, y = load_diabetes(return_X_y=True)
    inside = []
    for train, test in KFold(5, shuffle=True, random_state=0).split(X):
        model = SGMCMCLinearRegression(**SHORT).fit(X[train], y[train])
        low, high = model.predict_interval(X[test], level=0.9).T
        inside.append((low <= y[test]) & (y[test] <= high))
    assert 0.86 <= np.mean(np.concatenate(inside)) <= 0.94


def test_predictions_agree_with_each_other(counts):
    """20,000 draws of y: quantiles have an error of 0.02 sd, sds of 0.5 %."""
    X, y, exposure = counts
    model = SGMCMCNegativeBinomialRegressor(**SHORT).fit(X, y, exposure=exposure)
    some, own = X[:3], {"exposure": exposure[:3]}
    mean, std = model.predict(some, return_std=True, **own)
    every = model.sample_y(some, 20_000, **own)
    assert every.shape == (3, 20_000) and (every == np.round(every)).all()
    np.testing.assert_allclose(every.mean(axis=1), mean, atol=0.05 * std.max())
    np.testing.assert_allclose(every.std(axis=1), std, rtol=0.05)
    low, high = model.predict_interval(some, level=0.8, **own).T
    inside = (every >= low[:, None]) & (every <= high[:, None])
    assert (inside.mean(axis=1) >= 0.79).all()
    narrower = (every > low[:, None]) & (every < high[:, None])
    assert (narrower.mean(axis=1) <= 0.81).all()
    assert model.score(X, y, exposure=exposure) > 0.3


def test_exposure_is_a_unit_of_time(counts):
    X, y, exposure = counts
    hours = SGMCMCPoissonRegressor(**SHORT).fit(X, y, exposure=exposure)
    minutes = SGMCMCPoissonRegressor(**SHORT).fit(X, y, exposure=60 * exposure)
    np.testing.assert_allclose(hours.coef_, minutes.coef_, rtol=1e-6)
    np.testing.assert_allclose(hours.intercept_ - np.log(60), minutes.intercept_)
    np.testing.assert_allclose(
        hours.predict(X, exposure=exposure), minutes.predict(X, exposure=60 * exposure)
    )
    with pytest.raises(ValueError, match="exposure holds 0, but .* greater than 0"):
        hours.fit(X, y, exposure=0 * exposure)
    with pytest.raises(ValueError, match="counts are not negative"):
        hours.fit(X, -y)


@pytest.mark.parametrize("is_sparse", [False, True])
@pytest.mark.parametrize("offset", [0.0, 1e5, 1e10])
def test_a_column_of_years_does_not_bend_its_coefficient(offset, is_sparse):
    rng = np.random.default_rng(0)
    year = rng.integers(2000, 2021, 5000) * 1.0
    y = rng.random(5000) < 1 / (1 + np.exp(-0.3 * (year - 2010)))
    X = (year + offset)[:, None]
    rows = sparse.csr_array(X) if is_sparse else X
    model = SGMCMCLogisticRegression(**SHORT).fit(rows, y)
    assert abs(model.coef_[0, 0] - 0.3) < 2 * model.coef_std_[0, 0] < 0.03
    middle = model.predict_proba([[2010 + offset]])[0, 1]
    assert abs(middle - 0.5) < 0.05


def test_units_do_not_matter():
    rng, X, eta = data()
    y = eta + rng.normal(size=len(X))
    plain = SGMCMCLinearRegression(**SHORT).fit(X, y)
    moved = SGMCMCLinearRegression(**SHORT).fit(X, 1e6 * y - 1e9)
    np.testing.assert_allclose(moved.coef_, 1e6 * plain.coef_, rtol=1e-5)
    np.testing.assert_allclose(moved.noise_sd_, 1e6 * plain.noise_sd_, rtol=1e-5)
    np.testing.assert_allclose(moved.predict(X), 1e6 * plain.predict(X) - 1e9)


def test_priors_of_single_features():
    rng, X, eta = data()
    y = eta + rng.normal(size=len(X))
    tight = SGMCMCLinearRegression(prior_variance=[1e-8, 10.0], **SHORT).fit(X, y)
    assert abs(tight.coef_[0]) < 1e-3 and abs(tight.coef_[1] + 0.4) < 0.5
    at_zero = SGMCMCLinearRegression(intercept_variance=1e-8, **SHORT).fit(X, y)
    assert abs(at_zero.intercept_ - y.mean()) < 1e-3
    with pytest.raises(ValueError, match="prior_variance has shape"):
        SGMCMCLinearRegression(prior_variance=[1.0, 1.0, 1.0]).fit(X, y)
    with pytest.raises(ValueError, match="prior_variance=-1.0 is not allowed"):
        SGMCMCLinearRegression(prior_variance=np.float64(-1.0)).fit(X, y)


def test_outputs_are_fitted_each_for_itself():
    """2 x 2,000 draws: means have an error of 0.02 sd, sds of 1.6 %."""
    rng, X, eta = data()
    Y = np.column_stack([eta, 100 - 50 * eta]) + rng.normal(size=(len(X), 2))
    options = dict(n_draws=1000, n_chains=2, random_state=0)
    both = SGMCMCLinearRegression(**options).fit(X, Y)
    assert both.coef_.shape == (2, 2) and both.noise_sd_.shape == (2,)
    for k in range(2):
        one = SGMCMCLinearRegression(**options).fit(X, Y[:, k])
        assert one.coef_.shape == (2,) and np.ndim(one.intercept_) == 0
        assert np.abs((both.coef_[k] - one.coef_) / one.coef_std_).max() < 0.15
        assert np.abs(both.coef_std_[k] / one.coef_std_ - 1).max() < 0.1
        assert abs(both.noise_sd_[k] - one.noise_sd_) < 0.15 * one.noise_sd_std_
    mean, std = both.predict(X, return_std=True)
    assert mean.shape == std.shape == Y.shape and both.score(X, Y) > 0.3
    assert both.predict_interval(X[:4]).shape == (4, 2, 2)
    assert both.sample_y(X[:4], 5).shape == (4, 2, 5)
    assert both.summary().index[-1] == "noise_sd (y1)"


def test_summary_tells_signs():
    rng, X, eta = data()
    frame = pd.DataFrame(X, columns=["up", "down"])
    table = SGMCMCLinearRegression(**SHORT).fit(frame, 3 * eta + rng.normal(size=60))
    table = table.summary()
    assert list(table.index) == ["up", "down", "intercept", "noise_sd"]
    assert table.loc["up", "P(>0)"] > 0.99 and table.loc["down", "P(>0)"] < 0.01


def test_rows_of_all_kinds():
    rng, X, eta = data()
    y = eta + rng.normal(size=len(X))
    dense = SGMCMCLinearRegression(**SHORT).fit(X, y)
    rows = sparse.csr_array(X)
    rows.indices, rows.indptr = rows.indices.astype(int), rows.indptr.astype(int)
    thin = SGMCMCLinearRegression(**SHORT).fit(rows, y)
    np.testing.assert_allclose(thin.samples_, dense.samples_, rtol=1e-6, atol=1e-8)
    single = SGMCMCLinearRegression(**SHORT).fit(X.astype(np.float32), y)
    assert single.samples_.dtype == np.float32
    assert np.abs((single.coef_ - dense.coef_) / dense.coef_std_).max() < 0.2


@pytest.mark.parametrize("keep", ["moments", "variances"])
def test_without_draws(keep):
    rng, X, eta = data()
    y = eta + rng.normal(size=len(X))
    drawn = SGMCMCLinearRegression(**SHORT).fit(X, y)
    model = SGMCMCLinearRegression(keep=keep, **SHORT).fit(X, y)
    np.testing.assert_allclose(model.coef_, drawn.coef_, rtol=1e-6)
    np.testing.assert_allclose(model.noise_sd_, drawn.noise_sd_, rtol=1e-6)
    (a, b), (c, d) = (m.predict(X, return_std=True) for m in (model, drawn))
    np.testing.assert_allclose(a, c, atol=0.01)
    np.testing.assert_allclose(b, d, rtol=0.05)
    assert model.predict_interval(X).shape == (60, 2)
    assert model.sample_y(X, 7).shape == (60, 7)


def test_streams_pickles_and_checkpoints(tmp_path):
    rng, X, eta = data(600)
    y = eta + rng.normal(size=len(X))
    model = SGMCMCLinearRegression(**SHORT)
    for part in np.split(rng.permutation(600), 6):
        model.partial_fit(X[part], y[part], total_samples=600)
    assert model.samples_.shape == (2, 6, 4) and model.n_samples_seen_ == 600
    again = pickle.loads(pickle.dumps(model)).partial_fit(X, y, total_samples=600)
    assert again.samples_.shape == (2, 7, 4)
    with pytest.raises(ValueError, match="y has 2 columns, but the first call had 1"):
        model.partial_fit(X, np.column_stack([y, y]))
    plain = SGMCMCLinearRegression(**SHORT).fit(X, y)
    kept = SGMCMCLinearRegression(checkpoint=tmp_path, **SHORT).fit(X, y)
    np.testing.assert_array_equal(kept.samples_, plain.samples_)


@pytest.mark.long
def test_search_in_a_pipeline(counts):
    X, y, _ = counts
    model = make_pipeline(StandardScaler(), SGMCMCNegativeBinomialRegressor(**SHORT))
    search = KSDStepSizeSearch(model, random_state=0).fit(X, y)
    assert search.best_estimator_.predict(X).shape == y.shape


def test_classes_have_scores_and_intervals():
    rng, X, eta = data(400)
    y = (eta + rng.logistic(size=400) > 0).astype(int)
    model = SGMCMCLogisticRegression(**SHORT).fit(X, y)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), proba)
    scores = model.decision_function(X)
    np.testing.assert_allclose(1 / (1 + np.exp(-scores)), proba[:, 1])
    np.testing.assert_array_equal(model.predict(X), scores > 0)
    low, high = np.moveaxis(model.predict_interval(X), -1, 0)
    assert (low < proba).all() and (proba < high).all()
    every = model.predict_proba_samples(X)[..., 1].reshape(-1, 400)
    inside = (every >= low[:, 1]) & (every <= high[:, 1])
    assert abs(inside.mean() - 0.9) < 0.01
    with pytest.raises(ValueError, match="level=1.0 is not allowed"):
        model.predict_interval(X, level=np.float64(1.0))
