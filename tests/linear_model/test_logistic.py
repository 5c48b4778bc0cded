"""Logistic regression against exact posteriors, and inside scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from arviz_stats.base import array_stats
from scipy import sparse
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes_sg import (
    DivergenceError,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
)
from skbayes_sg.datasets import make_logistic
from skbayes_sg.kernels.gradients import GRADIENTS, linear_control_variate
from skbayes_sg.kernels.gradients.weighted import weighted_design
from skbayes_sg.kernels.samplers import SAMPLERS, SGLD, LeimkuhlerMatthews
from tests.references.load import reference, with_ones

pytestmark = pytest.mark.usefixtures("without_mixing_warnings")


@pytest.fixture(scope="module")
def binary():
    X, y = load_breast_cancer(return_X_y=True)
    return StandardScaler().fit_transform(X)[:, :8], y


def quick(**parameters):
    defaults = dict(n_draws=300, n_chains=2, random_state=0)
    return SGLDLogisticRegression(**{**defaults, **parameters})


def test_minibatches_of_rows_are_prepared_once(monkeypatch):
    calls = []

    def counted(*arguments):
        calls.append(arguments)
        return weighted_design(*arguments)

    monkeypatch.setattr(linear_control_variate, "weighted_design", counted)
    X, y = make_logistic(4000, 3, random_state=0)
    quick(batch_size=50).fit(X, y)
    assert len(calls) == 1


@pytest.mark.parametrize(
    "name",
    [
        "logistic_d10",
        "logistic_d10_badly_scaled",
        "logistic_d50",
        pytest.param("a9a", marks=pytest.mark.long),
        pytest.param("logistic_d100", marks=pytest.mark.long),
    ],
)
def test_defaults_reach_the_exact_posterior(name, request):
    """Defaults with 12,000 draws: an sd has a relative Monte Carlo error of 0.8 %."""
    if name == "a9a":
        request.getfixturevalue("data_dir")
    exact = reference(name)
    X, y = exact.load()
    model = SGLDLogisticRegression(n_draws=3000, random_state=0, n_jobs=2)
    if name == "a9a":
        X = with_ones(X)
        model.set_params(fit_intercept=False)
    model.fit(X, y)
    draws = model.samples_.reshape(-1, len(exact.mean))
    error = np.abs(draws.mean(axis=0) - exact.mean) / exact.sd
    assert error.max() <= 0.1
    ratio = draws.std(axis=0) / exact.sd
    assert 0.95 <= ratio.min() and ratio.max() <= 1.05


def test_fitted_attributes(binary):
    X, y = binary
    model = quick().fit(pd.DataFrame(X, columns=list("abcdefgh")), y)
    assert model.samples_.shape == (2, 300, 9)
    assert model.coef_.shape == model.coef_std_.shape == (1, 8)
    assert model.intercept_.shape == model.intercept_std_.shape == (1,)
    assert list(model.feature_names_in_) == list("abcdefgh")
    flat = model.samples_.reshape(-1, 9)
    np.testing.assert_allclose(model.coef_[0], flat[:, :8].mean(axis=0))
    np.testing.assert_allclose(model.intercept_std_, flat[:, 8].std())
    assert model.n_iter_ == model.burn_in_ + 300 * model.thin_
    assert "SGLDLogisticRegression" in model._repr_html_()


def test_probabilities_are_averages_of_probabilities(binary):
    X, y = binary
    model = quick().fit(X, y)
    every = model.predict_proba_samples(X[:5])
    assert every.shape == (2, 300, 5, 2)
    np.testing.assert_allclose(model.predict_proba(X[:5]), every.mean(axis=(0, 1)))
    theta = model.samples_[1, 7]
    by_hand = 1 / (1 + np.exp(-(X[:5] @ theta[:8] + theta[8])))
    np.testing.assert_allclose(every[1, 7, :, 1], by_hand)


def test_mode_agrees_with_scikit_learn(binary):
    X, y = binary
    # Their penalty leaves the intercept free; a column of ones is penalised like ours.
    ours = quick(prior_variance=2.0, fit_intercept=False).fit(X, y)
    theirs = LogisticRegression(C=2.0, fit_intercept=False, tol=1e-8).fit(X, y)
    error = (ours.mode_ - theirs.coef_[0]) / ours.coef_std_[0]
    assert np.abs(error).max() < 2e-3


def test_softmax(binary):
    X, y = load_iris(return_X_y=True)
    model = quick(n_draws=1000).fit(X, y)
    assert model.coef_.shape == (3, 4)
    proba = model.predict_proba(X)
    np.testing.assert_allclose(proba.sum(axis=1), 1)
    assert log_loss(y, proba) < 0.15 and model.score(X, y) > 0.95
    # Two classes of the general model: B_1 - B_0 has twice the prior variance.
    X, y = binary
    two = quick(n_draws=1000, prior_variance=2.0).fit(X, y)
    assert two.coef_.shape == (1, 8)


def test_dense_sparse_and_frames_agree(binary):
    X, y = binary
    X = np.where(np.abs(X) < 0.3, 0.0, X)
    dense = quick().fit(X, y)
    for other in (sparse.csr_array(X), sparse.coo_matrix(X), pl.DataFrame(X)):
        model = quick().fit(other, y)
        np.testing.assert_allclose(model.samples_, dense.samples_, rtol=1e-6)
        np.testing.assert_allclose(model.predict_proba(other), dense.predict_proba(X))
    single = quick().fit(X.astype(np.float32), y)
    assert single.samples_.dtype == np.float32
    assert np.abs((single.coef_ - dense.coef_) / dense.coef_std_).max() < 0.2


def test_labels_of_any_kind(binary):
    X, y = binary
    model = quick(n_draws=20).fit(X, np.array(["no", "yes"])[y])
    assert list(model.classes_) == ["no", "yes"]
    assert set(model.predict(X)) == {"no", "yes"}


def moments(model):
    draws = model.samples_.reshape(-1, model.samples_.shape[-1])
    return draws.mean(axis=0), draws.std(axis=0)


@pytest.mark.parametrize("gradient", ["full", "cv"])
def test_weights_count_rows(binary, gradient):
    """Weights equal repetition in law: 6,000 draws, errors of 0.02 sd and 1.2 %."""
    X, y = binary
    weights = np.random.default_rng(0).integers(0, 4, len(y))
    long = dict(n_draws=3000, gradient=gradient, batch_size="auto")
    weighted = quick(**long).fit(X, y, sample_weight=weights)
    repeated = quick(**long, random_state=1).fit(
        np.repeat(X, weights, axis=0), np.repeat(y, weights)
    )
    (mean, sd), (expected, expected_sd) = moments(weighted), moments(repeated)
    assert np.abs((mean - expected) / expected_sd).max() < 0.1
    assert np.abs(sd / expected_sd - 1).max() < 0.06


def test_class_weight(binary):
    X, y = binary
    by_class = quick().fit(X, y, sample_weight=np.where(y == 1, 3.0, 1.0))
    same = quick(class_weight={0: 1.0, 1: 3.0}).fit(X, y)
    assert np.array_equal(by_class.samples_, same.samples_)


@pytest.mark.parametrize("preconditioner", ["none", "diagonal", "dense"])
@pytest.mark.parametrize(
    "sampler", [pytest.param(SGLD(), marks=pytest.mark.long), LeimkuhlerMatthews()]
)
def test_every_preconditioner_reaches_one_posterior(sampler, preconditioner):
    """About 1,000 effective draws: errors of 0.03 sd and 2.2 %, 4 of them allowed."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(400, 3))
    y = (rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))).astype(int)
    long = dict(n_draws=2000, gradient="full")
    exact = quick(**long, step_size=0.05, thin=60).fit(X, y)
    model = quick(**long, sampler=sampler, preconditioner=preconditioner).fit(X, y)
    (mean, sd), (expected, expected_sd) = moments(model), moments(exact)
    assert np.abs((mean - expected) / expected_sd).max() < 0.12
    assert np.abs(sd / expected_sd - 1).max() < 0.09


@pytest.mark.parametrize("gradient", GRADIENTS)
def test_every_gradient_runs(binary, gradient):
    X, y = binary
    model = SGMCMCLogisticRegression(
        gradient=gradient, n_draws=200, n_chains=1, random_state=0
    )
    if gradient != "full":
        model.set_params(batch_size=300)
    model.fit(X, y)
    assert model.score(X, y) > 0.9
    assert model.gradient_noise_ratio_ >= 0


COLUMNS = {
    "SGLD": ("sgld", "minibatch"),
    "SGLD-CV": ("sgld", "cv"),
    "SG-HMC": ("sghmc", "minibatch"),
    "SG-HMC-CV": ("sghmc", "cv"),
    "SG-NHT": ("sgnht", "minibatch"),
    "SG-NHT-CV": ("sgnht", "cv"),
    "ULA": ("sgld", "full"),
}


@pytest.fixture(scope="module")
def exact():
    """MALA's draws of a posterior of four coefficients, and the data."""
    X, y = make_logistic(1500, 3, random_state=5)
    model = SGMCMCLogisticRegression(sampler="mala", n_draws=2000, random_state=0)
    model.fit(X, y)
    assert all(stats["acceptance"] > 0.5 for stats in model.sampler_stats_)
    return X, y, moments(model)


@pytest.mark.long
@pytest.mark.parametrize(
    "column",
    [
        pytest.param(name, marks=[pytest.mark.long] * (gradient == "minibatch"))
        for name, (_, gradient) in COLUMNS.items()
    ],
)
def test_columns_of_the_paper_reach_one_posterior(exact, column):
    """Automatic step sizes; errors within 0.1 sd plus 4 Monte Carlo errors.

    With control variates or all rows, sds are within 5 % plus 3 Monte Carlo errors.
    """
    X, y, (expected, expected_sd) = exact
    sampler, gradient = COLUMNS[column]
    model = SGMCMCLogisticRegression(
        sampler=sampler, gradient=gradient, batch_size=150, n_draws=800, random_state=1
    ).fit(X, y)
    mean, sd = moments(model)
    ess = array_stats.ess(model.samples_, chain_axis=0, draw_axis=1)
    error = np.abs(mean - expected) / expected_sd
    assert (error <= 0.1 + 4 / np.sqrt(ess)).all()
    if gradient != "minibatch":
        assert (np.abs(sd / expected_sd - 1) <= 0.05 + 3 / np.sqrt(2 * ess)).all()
        assert ess.min() > 500


QUICK = ("sgld-lm", "baoab")


@pytest.mark.parametrize(
    "sampler",
    [
        pytest.param(name, marks=[pytest.mark.long] * (name not in QUICK))
        for name in SAMPLERS
        if name != "recipe"
    ],
)
def test_every_sampler_reaches_one_posterior_in_single_precision(exact, sampler):
    """Automatic settings; errors within 0.1 sd and 6 % plus 3 Monte Carlo errors."""
    X, y, (expected, expected_sd) = exact
    model = SGMCMCLogisticRegression(
        sampler=sampler, n_draws=800, random_state=1, n_jobs=2
    ).fit(X.astype(np.float32), y)
    assert model.samples_.dtype == np.float32
    mean, sd = moments(model)
    ess = array_stats.ess(model.samples_, chain_axis=0, draw_axis=1)
    assert (np.abs(mean - expected) / expected_sd <= 0.1 + 3 / np.sqrt(ess)).all()
    assert (np.abs(sd / expected_sd - 1) <= 0.06 + 3 / np.sqrt(2 * ess)).all()
    assert ess.min() > 200


def test_schedules_weigh_draws(binary):
    X, y = binary
    model = quick(schedule="polynomial").fit(X, y)
    weights = model.draw_weights_
    assert weights[0] > weights[-1] and np.isclose(weights.sum(), 1)
    flat = model.samples_.mean(axis=0)
    np.testing.assert_allclose(model.coef_[0], weights @ flat[:, :8], rtol=1e-6)


def test_temperature(binary):
    """Half the temperature halves variances; 6,000 draws, 4 errors of 1.2 %."""
    X, y = binary
    X = X[:, :2]
    warm, cold = quick(n_draws=3000), quick(n_draws=3000, temperature=0.5)
    ratio = moments(cold.fit(X, y))[1] / moments(warm.fit(X, y))[1]
    np.testing.assert_allclose(ratio, np.sqrt(0.5), rtol=0.07)


def test_too_large_a_step_names_the_limit(binary):
    X, y = binary
    with pytest.raises(
        DivergenceError, match=r"largest stable step size here is about [234]"
    ):
        quick(step_size=400.0).fit(X, y)


def test_same_draws_for_any_n_jobs(binary):
    X, y = binary
    alone = quick(n_jobs=1).fit(X, y)
    assert np.array_equal(alone.samples_, quick(n_jobs=2).fit(X, y).samples_)
    assert not np.array_equal(alone.samples_, quick(random_state=1).fit(X, y).samples_)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_warm_start_goes_on(binary):
    X, y = binary
    sd = quick().fit(X, y).coef_std_
    model = quick(warm_start=True, burn_in=0, thin=1, step_size=1e-4).fit(X, y)
    last = model.samples_[:, -1].copy()
    change = model.fit(X, y).samples_[:, 0] - last
    # One step of sd sqrt(h) = 0.01 posterior sds; a new start would be 1 away.
    assert np.abs(change[:, :8] / sd).max() < 0.1


def test_in_scikit_learn_tools(binary):
    X, y = binary
    model = quick(n_draws=50)
    pipeline = make_pipeline(StandardScaler(), model)
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.9
    grid = GridSearchCV(model, {"prior_variance": [0.1, 10.0]}, cv=2).fit(X, y)
    assert grid.best_score_ > 0.9
    calibrated = CalibratedClassifierCV(model, cv=2).fit(X, y)
    assert calibrated.predict_proba(X).shape == (len(y), 2)
    copy = clone(SGMCMCLogisticRegression(sampler=SGLD(), gradient="cv"))
    assert copy.sampler == SGLD()


def test_pickle(binary):
    X, y = binary
    model = quick(n_draws=50).fit(X, y)
    size = len(pickle.dumps(model))
    assert size < 2 * model.samples_.nbytes + 20_000  # no training data inside
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_storage(binary, tmp_path):
    X, y = binary
    model = quick(n_draws=50, storage=tmp_path).fit(X, y)
    assert isinstance(model.samples_, np.memmap)
    assert np.array_equal(model.samples_, quick(n_draws=50).fit(X, y).samples_)
    again = pickle.loads(pickle.dumps(model))
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X))


def test_verbose_shows_progress(binary, capfd):
    quick(verbose=1, n_draws=20).fit(*binary)
    assert "sampling" in capfd.readouterr().err
