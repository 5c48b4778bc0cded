"""What estimators tell about their draws."""

import pickle
import sys
from typing import NamedTuple

import numpy as np
import pandas as pd
import pytest
from arviz_stats.base import array_stats
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes_sg import (
    DivergenceError,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    sample,
)
from skbayes_sg.base._diagnostics import last_step, smallest_ess
from skbayes_sg.datasets import make_logistic
from skbayes_sg.inference.checks import check_moments
from skbayes_sg.inference.mixing import r_hat
from skbayes_sg.inference.scores import posterior_scores
from skbayes_sg.kernels.gradients import ControlVariate
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    n_parameters,
    n_rows,
    refresh,
)
from skbayes_sg.kernels.protocol.target import locate
from skbayes_sg.kernels.samplers import SGLD
from skbayes_sg.metrics import kernel_stein_discrepancy
from tests.targets import NoisyFull

pytestmark = pytest.mark.usefixtures("without_mixing_warnings")

X, Y = make_logistic(500, 3, random_state=0)
NAMES = ["x0", "x1", "x2", "intercept"]


@pytest.fixture(scope="module")
def model():
    return SGLDLogisticRegression(n_draws=500, random_state=0).fit(X, Y)


PRIOR_PRECISION = np.array([0.1, 0.1, 0.1, 0.01])  # the intercept's is its own


def exact_scores(theta):
    design = np.column_stack([X, np.ones(len(X))])
    return (Y - expit(theta @ design.T)) @ design - theta * PRIOR_PRECISION


def changed(model, **attributes):
    """Return the model with other learned attributes."""
    other = SGLDLogisticRegression(**model.get_params())
    vars(other).update({**vars(model), **attributes})
    return other


# ksd
def test_ksd_is_the_metric_of_exact_scores(model):
    theta = model.samples_.reshape(-1, 4)[1::2]
    expected = kernel_stein_discrepancy(theta, exact_scores(theta), return_floor=True)
    got = model.ksd(standardize=False, return_floor=True)
    np.testing.assert_allclose(got, expected, rtol=1e-9)


def test_ksd_whitens_by_the_curvature_at_the_mode(model):
    design = np.column_stack([X, np.ones(len(X))])
    p = expit(design @ model.mode_)
    hessian = (design.T * p * (1 - p)) @ design + np.diag(PRIOR_PRECISION)
    expected = model.ksd(standardize=np.linalg.inv(hessian))
    assert model.ksd() == pytest.approx(expected, rel=1e-6)


def test_ksd_of_good_draws_is_near_its_floor_and_u_statistic_near_zero(model):
    ksd, floor = model.ksd(return_floor=True)
    assert 0.7 < ksd / floor < 1.4
    assert abs(model.ksd(statistic="u")) < floor


def test_ksd_does_not_depend_on_n_jobs(model):
    assert model.ksd(n_jobs=2) == model.ksd()


def test_ksd_from_minibatches(model):
    """All rows are the exact score; 100 of 500 add their variance to the floor."""
    assert model.ksd(batch_size=500) == pytest.approx(model.ksd(), rel=1e-9)
    assert model.ksd(batch_size=10**6) == pytest.approx(model.ksd(), rel=1e-9)
    noisy, floor = model.ksd(batch_size=100, return_floor=True)
    assert noisy == model.ksd(batch_size=100)
    assert floor > model.ksd(return_floor=True)[1]
    assert abs(model.ksd(batch_size=100, statistic="u")) < floor


def test_ksd_sees_what_rhat_and_ess_do_not(recwarn):
    biased = SGLDLogisticRegression(
        sampler="sgld", step_size=2.5, n_draws=500, random_state=0
    )
    with pytest.warns(ConvergenceWarning, match="too wide"):  # Stein identities see it
        biased.fit(X, Y)
    table = biased.summary()
    assert not recwarn.list
    assert table["rhat"].max() < 1.02 and table["ess"].min() > 1000
    ksd, floor = biased.ksd(return_floor=True)
    assert ksd > 2 * floor


def test_ksd_is_that_of_the_tempered_posterior():
    hot = SGLDLogisticRegression(temperature=3.0, n_draws=500, random_state=0)
    hot.fit(X, Y)
    ksd, floor = hot.ksd(return_floor=True)
    assert ksd < 1.5 * floor
    hot._model = SGLDLogisticRegression(n_draws=1).fit(X, Y)._model
    ksd, floor = hot.ksd(return_floor=True)
    assert ksd > 2 * floor


def test_draws_are_chosen_by_weight(model):
    weights = np.linspace(1, 3, 500)
    weighted = changed(model, draw_weights_=weights / weights.sum())
    index = np.arange(2000).reshape(4, 500, 1).repeat(4, axis=2)
    chosen = changed(weighted, samples_=index)._representative_draws(2000)[:, 0]
    first, last = np.sum(chosen % 500 < 100), np.sum(chosen % 500 >= 400)
    assert last / first == pytest.approx(2.8 / 1.2, rel=0.02)
    np.testing.assert_array_equal(
        changed(model, samples_=index)._representative_draws(10**6)[:, 0],
        np.arange(2000),
    )


def test_saved_estimator_says_that_ksd_needs_the_data(model):
    copy = pickle.loads(pickle.dumps(model))
    with pytest.raises(ValueError, match="needs the training data"):
        copy.ksd()
    assert model.ksd() > 0  # saving left the original as it was
    pd.testing.assert_frame_equal(copy.summary(), model.summary())


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"max_draws": 1}, ValueError, "max_draws=1"),
        ({"max_draws": 2.5}, TypeError, "max_draws=2.5"),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"standardize": "yes"}, ValueError, "standardize='yes'"),
        ({"beta": 1.0}, ValueError, "beta"),
        ({"form": "sum"}, ValueError, "form"),
        ({"n_draws": 3}, TypeError, "n_draws"),
    ],
)
def test_ksd_checks_its_arguments(model, options, error, words):
    with pytest.raises(error, match=words):
        model.ksd(**options)


@pytest.mark.parametrize("method", ["ksd", "check", "summary", "to_arviz"])
def test_not_fitted(method):
    with pytest.raises(NotFittedError):
        getattr(SGLDLogisticRegression(), method)()


class Scale(NamedTuple):
    """theta ~ N(0, I / lambda), lambda ~ Gamma(1, 1), and no data."""

    dim: int


class ScaleWork(NamedTuple):
    precision: np.ndarray  # (1,) lambda


@n_parameters.register(Scale)
def _(model):
    return model.dim


@n_rows.register(Scale)
def _(model):
    return 0


@init_work.register(Scale)
def _(model):
    return ScaleWork(np.ones(1))


@add_gradient.register(Scale)
def _(model, work, theta, idx, scale, out):
    pass


@add_prior_gradient.register(Scale)
def _(model, work, theta, out):
    for j in range(theta.size):
        out[j] -= work.precision[0] * theta[j]


@refresh.register(Scale)
def _(model, target, position, rng):
    theta = locate(target, position)
    total = 0.0
    for j in range(theta.size):
        total += theta[j] ** 2
    rate = 1.0 + 0.5 * total
    target.work.precision[0] = rng.standard_gamma(1.0 + 0.5 * model.dim) / rate


def test_scores_of_a_marginal_posterior():
    """Their mean is -E[lambda | theta] theta; its error here is 0.9 %, and 4 allowed.

    Without the draws of lambda it would be off by 22 %.
    """
    theta = np.array([1.0, -2.0, 0.5])
    scores = posterior_scores(Scale(3), np.tile(theta, (5000, 1)))
    expected = -2.5 / (1 + 0.5 * theta @ theta) * theta
    np.testing.assert_allclose(scores.mean(axis=0), expected, rtol=0.04)


def test_scores_do_not_depend_on_the_threads(model):
    thetas = model._flat_draws()[:250]
    gradient = ControlVariate(50, model.mode_)
    one = posterior_scores(model._model, thetas, gradient)
    two = posterior_scores(model._model, thetas, gradient, n_jobs=2)
    np.testing.assert_array_equal(one, two)


def test_rhat_of_one_chain_compares_its_halves(model):
    one = changed(model, samples_=model.samples_[:1])
    np.testing.assert_allclose(one.summary()["rhat"], r_hat(one.samples_), atol=1e-3)
    drift = one.samples_ + 0.01 * np.arange(500)[:, None]
    with pytest.warns(ConvergenceWarning, match=r"R-hat is \d\.\d+ for"):
        changed(model, samples_=drift).summary()


# check
def test_check_of_good_draws(model):
    table = model.check()
    assert list(table.columns) == ["value", "error", "limit", "worst", "verdict"]
    assert list(table.index[:4]) == ["R-hat", "effective draws", "means", "sds"]
    assert (table["verdict"] == "ok").all()
    pd.testing.assert_frame_equal(table, model.check(n_jobs=2))
    summary = model.summary()
    worst = table.loc["R-hat", "worst"]
    assert worst == summary["rhat"].idxmax()
    assert table.loc["R-hat", "value"] == pytest.approx(summary["rhat"].max(), abs=1e-3)


def test_check_uses_exact_scores_and_the_curvature_at_the_mode(model):
    thetas = model._flat_draws()
    design = np.column_stack([X, np.ones(len(X))])
    p = expit(design @ model.mode_)
    hessian = (design.T * p * (1 - p)) @ design + np.diag(PRIOR_PRECISION)
    expected = check_moments(
        model.samples_,
        exact_scores(thetas).reshape(4, 500, 4),
        covariance=np.linalg.inv(hessian),
    )
    table = model.check().iloc[2:]
    assert list(table.index) == [check.name for check in expected]
    np.testing.assert_allclose(
        table["value"], [check.value for check in expected], rtol=1e-6
    )
    np.testing.assert_allclose(
        table["error"], [check.error for check in expected], rtol=1e-6
    )
    assert table.loc["sds", "worst"] == NAMES[expected[1].worst]


@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_check_sees_what_rhat_and_ess_do_not(model, scale):
    mean = model.samples_.mean(axis=(0, 1))
    wrong = changed(model, samples_=mean + scale * (model.samples_ - mean))
    verdicts = wrong.check()["verdict"]
    assert verdicts["R-hat"] == verdicts["effective draws"] == "ok"
    assert verdicts["sds"] == ("too wide" if scale > 1 else "too narrow")


def test_check_is_that_of_the_tempered_posterior():
    hot = SGLDLogisticRegression(temperature=3.0, random_state=0).fit(X, Y)
    assert (hot.check()["verdict"] == "ok").all()
    hot._model = SGLDLogisticRegression(n_draws=1).fit(X, Y)._model
    assert hot.check().loc["sds", "verdict"] == "too wide"


def test_check_of_some_draws_and_from_minibatches(model):
    pd.testing.assert_frame_equal(model.check(batch_size=500), model.check())
    some, every = model.check(max_draws=400), model.check()
    assert some.loc["R-hat", "value"] == every.loc["R-hat", "value"]
    assert some.loc["sds", "error"] > 1.7 * every.loc["sds", "error"]
    noisy = model.check(batch_size=100)
    assert (noisy["verdict"] == "ok").all()
    assert noisy.loc["sds, average", "error"] > every.loc["sds, average", "error"]


def test_check_weighs_the_draws(model):
    draws = model.samples_.copy()
    draws[:, 400:] = model.mode_  # of no weight
    weights = np.where(np.arange(500) < 400, 1 / 400, 0.0)
    half = changed(model, samples_=draws, draw_weights_=weights)
    assert (half.check()["verdict"].iloc[2:] == "ok").all()
    assert half.check()["value"].iloc[3] == pytest.approx(1, abs=0.1)


def test_saved_estimator_says_that_check_needs_the_data(model):
    with pytest.raises(ValueError, match=r"check\(\) needs the training data"):
        pickle.loads(pickle.dumps(model)).check()


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"max_draws": 7}, ValueError, "max_draws=7"),
        ({"max_draws": 20}, ValueError, "8 draws of each chain and has 5.*max_draws=2"),
        ({"batch_size": 0}, ValueError, "batch_size=0"),
        ({"batch_size": "all"}, ValueError, "batch_size='all'"),
    ],
)
def test_check_checks_its_arguments(model, options, error, words):
    with pytest.raises(error, match=words):
        model.check(**options)


# summary and to_arviz
def test_summary(model):
    table = model.summary()
    assert list(table.index) == NAMES
    columns = ["mean", "sd", "hdi_3%", "hdi_97%", "P(>0)", "ess", "rhat", "mcse"]
    assert list(table.columns) == columns
    np.testing.assert_allclose(table["mean"], np.append(model.coef_, model.intercept_))
    np.testing.assert_allclose(table["sd"][:3], model.coef_std_[0])
    axes = {"chain_axis": 0, "draw_axis": 1}
    ess = array_stats.ess(model.samples_, **axes)
    np.testing.assert_allclose(table["ess"], ess, atol=0.5)
    np.testing.assert_allclose(table["mcse"], array_stats.mcse(model.samples_, **axes))
    inside = (model.samples_[..., 0] > table.loc["x0", "hdi_3%"]) & (
        model.samples_[..., 0] < table.loc["x0", "hdi_97%"]
    )
    assert inside.mean() == pytest.approx(0.94, abs=0.005)
    assert np.isfinite(table.to_numpy()).all()


def test_summary_of_some_parameters(model):
    table = model.summary(parameters=["intercept", "x1"], prob=0.5)
    expected = model.summary(prob=0.5).loc[["intercept", "x1"]]
    pd.testing.assert_frame_equal(table, expected)
    assert {"hdi_25%", "hdi_75%"} < set(table.columns)


def test_summary_weighs_the_draws(model):
    weights = np.zeros(500)
    weights[:100] = 0.01
    half = changed(model, draw_weights_=weights).summary()
    draws = model.samples_[:, :100].reshape(-1, 4)
    np.testing.assert_allclose(half["mean"], draws.mean(axis=0))
    np.testing.assert_allclose(half["sd"], draws.std(axis=0))
    np.testing.assert_allclose(
        half["hdi_3%"], array_stats.hdi(draws, 0.94, axis=0)[:, 0], atol=0.05
    )
    np.testing.assert_allclose(half["ess"], model.summary()["ess"] / 5, rtol=0.01)


@pytest.mark.parametrize(
    ("options", "words"),
    [({"prob": 1.0}, "prob=1.0"), ({"prob": 0}, "prob=0"), ({"prob": 2}, "prob=2")],
)
def test_summary_checks_its_arguments(model, options, words):
    with pytest.raises(ValueError, match=words):
        model.summary(**options)


def test_unknown_parameter(model):
    with pytest.raises(ValueError, match="no 'x7'; the names are .*intercept"):
        model.summary(parameters=["x0", "x7"])


def test_names_of_columns_and_classes():
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    classes = np.array(["a", "b", "c"])[np.arange(500) % 3]
    options = {"n_draws": 100, "n_chains": 2, "random_state": 0}
    several = SGLDLogisticRegression(**options).fit(frame, classes)
    names = several._parameter_names()
    assert names[:2] == ["age (a)", "height (a)"] and names[-1] == "intercept (c)"
    assert len(names) == several.samples_.shape[-1]
    plain = SGLDLogisticRegression(fit_intercept=False, **options).fit(frame, Y)
    assert plain._parameter_names() == ["age", "height", "weight"]


def test_chains_that_disagree_are_reported(model):
    apart = model.samples_.copy()
    apart[0, :, 1] += 10
    with pytest.warns(ConvergenceWarning, match="R-hat is .* for x1.*ksd") as record:
        table = changed(model, samples_=apart).summary()
    assert "cannot detect the bias of a step size" in str(record[0].message)
    assert table["rhat"].idxmax() == "x1"


def test_chains_that_do_not_move_are_reported(model):
    still = np.ones_like(model.samples_)
    with pytest.warns(ConvergenceWarning, match="R-hat is nan for x0"):
        changed(model, samples_=still).summary()


def test_few_effective_draws_are_reported(model):
    few = changed(model, samples_=model.samples_[:, :8], draw_weights_=np.ones(8) / 8)
    with pytest.warns(ConvergenceWarning, match="effective draws of"):
        few.summary()


# Steps above the limit of stability, which is known for a Gaussian of curvature 1.
LIMITS = {"sgld": 4.0, "sgld-lm": 4.0, "sghmc": 2 * (5**0.5 - 1), "baoab": 4.0}


def fitted_with(sampler, step_size, **options):
    options = {"n_draws": 50, "thin": 1, "burn_in": 0, "random_state": 0} | options
    model = SGMCMCLogisticRegression(sampler=sampler, step_size=step_size, **options)
    return model.fit(X, Y)


@pytest.mark.parametrize("sampler", LIMITS)
def test_steps_above_the_limit_are_reported(sampler, recwarn):
    limit = LIMITS[sampler]
    fitted_with(sampler, 0.98 * limit)
    assert not recwarn.list
    words = rf"step_size={1.02 * limit:.3g} is above the largest .* {limit:.3g} for"
    with pytest.warns(ConvergenceWarning, match=words + '.*step_size="auto"') as record:
        wide = fitted_with(sampler, 1.02 * limit, n_draws=500)
    assert [warning.filename for warning in record] == [__file__]
    good = fitted_with("sgld-lm", 0.5, n_draws=500)
    assert (wide.coef_std_ > 1.3 * good.coef_std_).any()


@pytest.mark.parametrize(
    ("sampler", "preconditioner"),
    [
        ("sgnht", "dense"),
        ("badodab", "dense"),
        ("sgld", "none"),
        ("sgld-lm", "diagonal"),
    ],
)
def test_limits_with_gradient_noise_and_in_other_coordinates(
    sampler, preconditioner, recwarn
):
    """Thermostats answer to noise by friction, which lowers their limit."""
    options = {"gradient": "minibatch", "batch_size": 50, "n_draws": 2}
    options["preconditioner"] = preconditioner
    with pytest.raises(DivergenceError) as error:
        fitted_with(sampler, 1e6, **options)
    assert not recwarn.list
    limit = str(error.value).split("step size here is about ")[1]
    steep = float(limit.split()[0].rstrip("."))  # the limit where -log p is steepest
    fitted_with(sampler, 0.9 * steep, **options)
    assert not recwarn.list
    words = "is above the largest stable step size, "
    with pytest.warns(ConvergenceWarning, match=words) as record:
        fitted_with(sampler, 2.0 * steep, **options)
    named = float(str(record[0].message).split(words)[1].split()[0])
    assert 0.99 * steep < named < 2 * steep


def test_steps_that_a_metropolis_sampler_rejects_are_not_reported(recwarn):
    fitted_with("mala", 8.0)
    fitted_with("hmc", 8.0)
    assert not recwarn.list


def test_a_schedule_may_begin_above_the_limit(recwarn):
    """It has come down to h (1 + 50)^(-1/3) = h / 3.7 when draws are recorded."""
    fitted_with("sgld", 5.0, schedule="polynomial", burn_in=50_000)
    assert not recwarn.list
    with pytest.warns(ConvergenceWarning, match="step_size=5 is above"):
        fitted_with("sgld", 5.0, schedule="polynomial")


def test_steps_of_a_stream_are_reported_once(recwarn):
    model = SGLDLogisticRegression(step_size=4.5, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"step_size=4.5 is above .* 4 for"):
        model.partial_fit(X, Y, total_samples=1000)
    model.partial_fit(X, Y, total_samples=1000)
    assert not recwarn.list


def test_to_arviz(model):
    data = model.to_arviz()
    p = model.n_features_in_
    np.testing.assert_array_equal(data.posterior["coef"], model.samples_[..., :p])
    np.testing.assert_array_equal(data.posterior["intercept"], model.samples_[..., p])
    assert data.posterior["coef"].dims == ("chain", "draw", "feature")
    assert list(data.posterior["feature"].values) == NAMES[:p]
    np.testing.assert_allclose(data.sample_stats["weight"].sum("draw"), 1.0)


@pytest.mark.parametrize(
    ("method", "module"),
    [
        ("check", "pandas"),
        ("summary", "arviz_stats.base"),
        ("summary", "pandas"),
        ("to_arviz", "arviz_base"),
    ],
)
def test_missing_extra_is_named(model, monkeypatch, method, module):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=r"skbayes_sg\[arviz\]"):
        getattr(model, method)()


def test_smallest_ess_looks_at_some_of_many_parameters(rng, monkeypatch):
    draws = rng.standard_normal((2, 200, 1000))
    assert 100 < smallest_ess(draws) < 400
    monkeypatch.setitem(sys.modules, "arviz_stats.base", None)
    assert np.isnan(smallest_ess(draws))


def test_last_step():
    inner = SGLDLogisticRegression()
    pipeline = make_pipeline(StandardScaler(), make_pipeline(StandardScaler(), inner))
    assert last_step(pipeline) == (inner, "pipeline__sgldlogisticregression__")
    with pytest.raises(TypeError, match="draws no samples"):
        last_step(make_pipeline(StandardScaler(), LogisticRegression()))


# The illustration of the paper's section 4
def test_discrepancy_and_effective_sample_size_choose_other_steps():
    """Of four step sizes, KSD chooses 0.1 in at least 19 of 20 seeds and ESS always 1.

    With 40,000 steps: see `test_gaussian_example` in test_metrics.py for the length.
    """
    rotation = np.array([[1, 1], [-1, 1]]) / np.sqrt(2)
    precision = rotation.T @ np.diag([1 / 2, 1]) @ rotation
    target = GaussianMean(np.zeros((1, 2)), precision)
    ksd, ess = np.empty((2, 20, 4))
    for j, h in enumerate([1e-3, 1e-2, 1e-1, 1.0]):
        draws = sample(
            target,
            SGLD(),
            NoisyFull(0.01),
            step_size=h,
            n_draws=10_000,
            thin=4,
            n_chains=20,
            random_state=0,
        )
        for i, chain in enumerate(draws):
            some = chain[9::10]
            ksd[i, j] = kernel_stein_discrepancy(some, -some @ precision)
            ess[i, j] = smallest_ess(chain[None])
    assert np.sum(ksd.argmin(axis=1) == 2) >= 19
    assert np.all(ess.argmax(axis=1) == 3)
