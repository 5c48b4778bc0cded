"""Random priors and bounds of coefficients against Gibbs samplers in plain NumPy."""

import functools

import numpy as np
import pytest
from scipy import stats
from sklearn.exceptions import ConvergenceWarning

from skbayes_sg import (
    SGMCMCLinearRegression,
    SGMCMCLogisticRegression,
    SGMCMCPoissonRegressor,
)
from skbayes_sg.inference.mixing import effective_sample_size, r_hat
from tests.linear_model import exact, gibbs

LONG = dict(n_draws=3000, random_state=0)  # 12,000 draws: sds have an error of 1 %
SHORT = dict(n_draws=200, n_chains=2, random_state=0)
long = pytest.mark.long


def sparse_data(n=100, p=8, correlation=0.5, seed=0):
    """Return data of which two coefficients are not zero."""
    rng = np.random.default_rng(seed)
    common = np.sqrt(correlation) * rng.normal(size=(n, 1))
    X = np.sqrt(1 - correlation) * rng.normal(size=(n, p)) + common
    return X, 40 + 5 * (X[:, 0] - 0.5 * X[:, 1] + rng.normal(size=n))


def check(model, draws, error=0.1, ratio=0.06, least=1000):
    """Compare with a reference; chains must agree and hold effective draws."""
    if not isinstance(draws, exact.Posterior):
        draws = exact.Posterior(draws, np.full(len(draws), 1 / len(draws)))
    draws.check(model.samples_, error, ratio)
    assert r_hat(model.samples_).max() < 1.01
    assert effective_sample_size(model.samples_).min() > least


@pytest.mark.parametrize(
    "prior, variance",
    [
        ("horseshoe", 10.0),
        pytest.param("normal", "learn", marks=long),
        pytest.param("laplace", 0.1, marks=long),
        pytest.param("laplace", "learn", marks=long),
    ],
)
@pytest.mark.parametrize(
    "sampler",
    ["sgld-lm", *(pytest.param(s, marks=long) for s in ("baoab", "badodab"))],
)
def test_random_priors_are_exact(prior, variance, sampler):
    X, y = sparse_data()
    options = dict(prior=prior, prior_variance=variance, sampler=sampler, **LONG)
    model = SGMCMCLinearRegression(**options).fit(X, y)
    draws = gibbs.random_prior(X, y, prior, variance)
    learns = variance == "learn" or prior == "horseshoe"
    check(model, draws if learns else draws[:, :-1])
    assert model.samples_.shape[-1] == 8 + 2 + int(learns)
    assert hasattr(model, "prior_scale_") == learns
    mean, std = model.predict(X, return_std=True)
    assert 0.9 < np.std((y - mean) / std) < 1.1


@long
def test_learned_variance_of_classes():
    """Importance sampling over coefficients and the logarithm of the scale."""
    X, y = sparse_data()
    y = y > y.mean()

    def density(theta):
        beta, u = theta[:-1], theta[-1]
        value = -np.logaddexp(0, np.where(y, -1, 1) * (X @ beta[:-1] + beta[-1])).sum()
        value += stats.norm(0, np.exp(u)).logpdf(beta[:-1]).sum()
        return value - beta[-1] ** 2 / 200 + u - np.log1p(np.exp(2 * u))

    def natural(draws):
        return np.column_stack([draws[:, :-1], np.exp(draws[:, -1])])

    X = X[:, :3]
    truth = exact.importance(density, np.zeros(5), natural)
    model = SGMCMCLogisticRegression(prior_variance="learn", **LONG).fit(X, y)
    truth.check(model.samples_)
    assert set(model.check()["verdict"]) == {"ok"}


def test_separable_classes_warn(monkeypatch):
    """Ten rows of 12 features: the scale has no posterior mean, but under a slab."""
    X, y = sparse_data(10, 12)
    monkeypatch.delattr(SGMCMCLogisticRegression, "_build")  # no chains are run
    with (
        pytest.warns(ConvergenceWarning, match="means do not exist.*horseshoe"),
        pytest.raises(AttributeError, match="_build"),
    ):
        SGMCMCLogisticRegression(prior_variance="learn").fit(X, y > y.mean())


@long
@pytest.mark.parametrize("prior", ["laplace", "horseshoe"])
def test_other_families_mix(prior):
    X, y = sparse_data(300, 10)
    classes = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    for model, targets in (
        (SGMCMCLogisticRegression(prior=prior, **LONG), classes),
        (SGMCMCPoissonRegressor(prior=prior, **LONG), np.round(np.exp(y / 20))),
    ):
        model.fit(X, targets)
        assert r_hat(model.samples_).max() < 1.02
        assert effective_sample_size(model.samples_).min() > 400


@long
def test_minibatches_and_single_precision():
    X, y = sparse_data(20_000)
    full = SGMCMCLinearRegression(prior="horseshoe", gradient="full", **LONG).fit(X, y)
    X = X.astype(np.float32)
    model = SGMCMCLinearRegression(prior="horseshoe", **LONG).fit(X, y)
    assert model.batch_size_ < len(X) and model.samples_.dtype == np.float32
    away = (model.coef_ - full.coef_) / full.coef_std_
    assert np.abs(away).max() < 0.1
    assert np.abs(model.coef_std_ / full.coef_std_ - 1).max() < 0.06


@functools.cache
def wide_data(prior, variance):
    """Return 40 rows of 60 features, and a reference."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 60))
    y = 3 * X[:, 0] - 2 * X[:, 1] + rng.normal(size=40)
    if prior == "normal":
        return X, y, exact.learned_variance(X, y)
    return X, y, gibbs.random_prior(X, y, prior, variance, n_draws=150_000)


@long
@pytest.mark.parametrize(
    "prior, variance", [("horseshoe", 10.0), ("laplace", "learn"), ("normal", "learn")]
)
@pytest.mark.parametrize("sampler", ["sgld-lm", "baoab", "badodab"])
def test_more_features_than_rows(prior, variance, sampler):
    """40 rows, 60 features: the precision of the noise is drawn between steps.

    Moved by the steps, it made them unstable where it was large: sds were up to 55
    times too large, with an R-hat of 1.003. Drawn given the coefficients alone, as few
    as 400 of 12,000 draws were effective.
    """
    X, y, reference = wide_data(prior, variance)
    options = dict(prior=prior, prior_variance=variance, sampler=sampler, **LONG)
    model = SGMCMCLinearRegression(**options).fit(X, y)
    check(model, reference, error=0.15, ratio=0.1, least=2000)


def test_chains_with_random_priors_are_resumed(tmp_path):
    """Also their coordinates, which are each chain's own."""
    X, y = sparse_data(60)
    options = dict(prior="horseshoe", **SHORT)
    plain = SGMCMCLinearRegression(**options).fit(X, y)
    assert plain.summary().index[-1] == "prior_scale"
    kept = SGMCMCLinearRegression(checkpoint=tmp_path, **options).fit(X, y)
    np.testing.assert_array_equal(kept.samples_, plain.samples_)
    again = SGMCMCLinearRegression(checkpoint=tmp_path, **options).fit(X, y)
    np.testing.assert_array_equal(again.samples_, plain.samples_)
    half = SGMCMCLinearRegression(warm_start=True, **options | {"n_draws": 100})
    both = [half.fit(X, y).samples_, half.fit(X, y).samples_]
    np.testing.assert_array_equal(np.concatenate(both, axis=1), plain.samples_)
    stream = SGMCMCLinearRegression(**options)
    for _ in range(3):
        stream.partial_fit(X, y, total_samples=60)
    assert np.isfinite(stream.samples_).all() and stream.samples_.shape[1] == 3
    with pytest.raises(ValueError, match='not for prior="horseshoe"'):
        plain.ksd()


@pytest.mark.parametrize(
    "sampler",
    ["sgld-lm", *(pytest.param(s, marks=long) for s in ("baoab", "badodab"))],
)
def test_bounds_are_exact(sampler):
    """One coefficient far inside, one on either side of its wall, one with two."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4))
    X[:, 1] += 0.5 * X[:, 0]
    y = 5 + 3 * (X @ [1.0, 0.05, -0.8, 0.2] + rng.normal(size=80))
    bounds = np.array([[0, np.inf], [0, np.inf], [-np.inf, -3.0], [0.0, 0.5]])
    model = SGMCMCLinearRegression(bounds=bounds, sampler=sampler, **LONG).fit(X, y)
    check(model, gibbs.bounded(X, y, *bounds.T))
    coef = model.samples_[..., :4]
    assert (coef >= bounds[:, 0]).all() and (coef <= bounds[:, 1]).all()
    ksd, floor = model.ksd(return_floor=True)
    assert ksd < 2 * floor


@long
def test_positive_coefficients_of_classes_and_counts():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    eta = X @ [0.5, 0.0, -0.3]
    y = eta + rng.logistic(size=2000) > 0
    model = SGMCMCLogisticRegression(positive=True, **LONG).fit(X, y)
    free = SGMCMCLogisticRegression(n_draws=20_000, random_state=0).fit(X, y)
    draws = free.samples_.reshape(-1, 4)
    inside = draws[(draws[:, :2] > 0).all(axis=1)]  # given the third is not yet
    assert (model.samples_[..., :3] > 0).all()
    assert abs(model.coef_[0, 0] - inside[:, 0].mean()) < inside[:, 0].std()
    assert model.coef_[0, 2] < 0.05
    counts = rng.poisson(np.exp(1 + eta))
    poisson = SGMCMCPoissonRegressor(positive=True, **SHORT).fit(X, counts)
    assert (poisson.samples_[..., :3] > 0).all()


def test_what_is_not_allowed():
    X, y = sparse_data(30, 2)
    for options, match in (
        ({"prior": np.str_("flat")}, "prior='flat' is not known"),
        ({"sampler": (np.float64(0.5), 2)}, r"sampler=\(0.5, 2\) must be one of"),
        ({"prior_variance": "wide"}, "prior_variance='wide' is not.*or \"learn\""),
        ({"prior": "horseshoe", "prior_variance": "learn"}, "learns its scale anyway"),
        ({"positive": True, "bounds": (0, 1)}, "say the same"),
        ({"bounds": (1, 0)}, "low must be less than high"),
        ({"bounds": [(0, 1)] * 3}, "X has 2 features"),
        ({"positive": True, "prior": "laplace"}, "bounds of coefficients are not for"),
        ({"prior": "laplace", "preconditioner": "none"}, "cannot follow a prior"),
        ({"prior": "laplace", "sampler": "mala"}, "draws hyperparameters"),
    ):
        with pytest.raises((ValueError, TypeError), match=match):
            SGMCMCLinearRegression(**options).fit(X, y)
