"""Conversion to ArviZ: variables by name, likelihoods and predictions of rows."""

import numpy as np
import pytest
from scipy import stats

from skbayes_sg import (
    SGHMCClassifierMLP,
    SGHMCRegressorMLP,
    SGLDLogisticRegression,
    SGMCMCLinearRegression,
    SGMCMCPoissonRegressor,
)
from skbayes_sg.base._arviz import arrays_by_name

rng = np.random.default_rng(0)
X = rng.normal(size=(150, 2))
SIGNAL = X @ [1.0, -0.5] + 0.3
Y = SIGNAL + 0.5 * rng.normal(size=150)
LABELS = np.array(["a", "b", "c"])[np.digitize(Y, [-0.5, 0.8])]


@pytest.fixture(scope="module")
def linear():
    return SGMCMCLinearRegression(n_draws=200, random_state=0).fit(X, Y)


def densities(model, law):
    """Return log densities by a law of scipy, given coefficients and the noise."""
    p = X.shape[1]
    eta = model.samples_[..., :p] @ X.T + model.samples_[..., p : p + 1]
    return law(eta, model.samples_[..., p + 1 :])


def test_log_likelihood_of_numbers(linear):
    data = linear.to_arviz(X, Y)
    expected = densities(linear, lambda eta, sd: stats.norm.logpdf(Y, eta, sd))
    np.testing.assert_allclose(data.log_likelihood["y"], expected, rtol=1e-6)
    np.testing.assert_array_equal(data.observed_data["y"], Y)
    assert {"coef", "intercept", *linear._noise_names} == set(data.posterior)


def test_log_likelihood_of_counts():
    """With exposures, and with the constants of the law."""
    counts, days = rng.poisson(3 * np.exp(SIGNAL)), np.full(150, 3.0)
    model = SGMCMCPoissonRegressor(n_draws=100, random_state=0)
    data = model.fit(X, counts, exposure=days).to_arviz(X, counts, exposure=days)

    def law(eta, none):
        return stats.poisson.logpmf(counts, 3 * np.exp(eta))

    np.testing.assert_allclose(data.log_likelihood["y"], densities(model, law), 1e-6)


def test_draws_of_targets_have_the_predictive_law(linear):
    """Means within four standard errors, sds within 5 %: of 800 draws."""
    drawn = linear.to_arviz(X).predictions["y"].values.reshape(-1, len(X))
    mean, std = linear.predict(X, return_std=True)
    assert np.abs(drawn.mean(axis=0) - mean).max() < 4.5 * std.max() / np.sqrt(800)
    assert drawn.std(axis=0).mean() == pytest.approx(std.mean(), rel=0.05)


def test_classes():
    model = SGLDLogisticRegression(n_draws=100, random_state=0).fit(X, LABELS)
    data = model.to_arviz(X, LABELS)
    proba = model.predict_proba_samples(X)
    codes = np.searchsorted(model.classes_, LABELS)
    logs = np.log(proba[:, :, np.arange(150), codes])
    np.testing.assert_allclose(data.log_likelihood["y"], logs, rtol=1e-6)
    np.testing.assert_array_equal(data.observed_data["y"], codes)
    assert data.posterior["coef"].dims == ("chain", "draw", "output", "feature")
    drawn = data.posterior_predictive["y"].values
    share = np.mean(drawn == 2, axis=(0, 1))
    np.testing.assert_allclose(share, proba[..., 2].mean(axis=(0, 1)), atol=0.12)
    with pytest.raises(ValueError, match="as many as X has rows"):
        model.to_arviz(X, LABELS[:10])
    with pytest.raises(ValueError, match="labels"):
        model.to_arviz(X, np.full(150, "d"))


@pytest.mark.filterwarnings("ignore:The inplace keyword")  # in ArviZ
def test_arviz_compares_models(linear):
    """The model with both features predicts better than with one of them."""
    arviz_stats = pytest.importorskip("arviz_stats")
    one = SGMCMCLinearRegression(n_draws=200, random_state=0).fit(X[:, :1], Y)
    data = {"both": linear.to_arviz(X, Y), "one": one.to_arviz(X[:, :1], Y)}
    loo = arviz_stats.loo(data["both"])
    # Refits without a row say the same but for the error of importance sampling: a
    # row's own density is a little higher.
    density = np.log(np.mean(np.exp(data["both"].log_likelihood["y"]), axis=(0, 1)))
    assert 1.0 < float(density.sum()) - loo.elpd < 6.0
    table = arviz_stats.compare(data)
    assert list(table.index) == ["both", "one"]
    assert arviz_stats.summary(data["both"]).shape[0] == 4


def test_networks():
    settings = dict(n_draws=20, burn_in=50, thin=5, n_chains=2, random_state=0)
    model = SGHMCRegressorMLP((3,), **settings).fit(X, Y)
    data = model.to_arviz(X, Y)
    density = np.log(np.mean(np.exp(data.log_likelihood["y"].values), axis=(0, 1)))
    np.testing.assert_allclose(density, model.log_predictive_density(X, Y), rtol=1e-4)
    assert data.posterior["theta"].shape == model.samples_.shape
    classifier = SGHMCClassifierMLP((3,), **settings).fit(X, LABELS)
    assert classifier.to_arviz(X, LABELS).log_likelihood["y"].shape == (2, 20, 150)


def test_two_outputs():
    model = SGMCMCLinearRegression(n_draws=50, random_state=0)
    Y2 = np.stack([Y, -Y + rng.normal(size=150)], axis=1)
    data = model.fit(X, Y2).to_arviz(X, Y2)
    assert data.posterior["coef"].dims == ("chain", "draw", "output", "feature")
    assert data.posterior_predictive["y"].shape == (4, 50, 150, 2)
    assert data.log_likelihood["y"].shape == (4, 50, 150)


def test_arguments(linear):
    with pytest.raises(ValueError, match="without X"):
        linear.to_arviz(y=Y)
    with pytest.raises(ValueError, match="must be"):
        linear.to_arviz(X, Y[:5])


def test_arrays_by_name():
    draws = np.arange(10.0).reshape(1, 2, 5)
    names = ["level", "A[0, 0]", "A[0, 1]", "A[1, 0]", "A[1, 1]"]
    arrays = arrays_by_name(names, draws)
    assert arrays["level"].shape == (1, 2)
    np.testing.assert_array_equal(arrays["A"][0, 0], [[1, 2], [3, 4]])
    assert arrays_by_name(["U[7,0]", "U[7,1]", *names[:3]], draws) is None
    assert arrays_by_name(["x", "y (a)", *names[:3]], draws) is None
