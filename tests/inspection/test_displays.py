"""Displays draw what the estimators hold."""

import sys

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skbayes_sg import (
    CoefficientDisplay,
    KSDSearchDisplay,
    KSDStepSizeSearch,
    SGLDLogisticRegression,
    TraceDisplay,
)
from skbayes_sg.datasets import make_logistic

X, Y = make_logistic(300, 3, random_state=0)
SHORT = SGLDLogisticRegression(n_draws=50, thin=1, n_chains=2, random_state=0)


@pytest.fixture(autouse=True)
def no_window():
    plt.switch_backend("Agg")
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def model():
    return make_pipeline(StandardScaler(), clone(SHORT)).fit(X, Y)


@pytest.fixture(scope="module")
def search():
    grid = {"step_size": [1.0, 0.1, 60.0], "sampler": ["sgld", "sgld-lm"]}
    return KSDStepSizeSearch(SHORT, grid, refit=False).fit(X, Y)


def curves(ax):
    """Return the lines of `ax` that have a legend label of their own and points."""
    return {
        line.get_label(): line
        for line in ax.lines
        if not line.get_label().startswith("_") and len(line.get_xdata())
    }


def drawn(display):
    """Render the figure, which fails where a label or a limit is unusable."""
    display.figure_.canvas.draw()
    return display


def test_search(search):
    display = drawn(KSDSearchDisplay.from_estimator(search))
    top, bottom = display.axes_
    found = curves(top)
    results = search.cv_results_
    for sampler in ("sgld", "sgld-lm"):
        line = found[f"sampler={sampler}"]
        chosen = results["param_sampler"] == sampler
        expected = results["ksd"][chosen][[1, 0]]  # by step size, without the diverged
        np.testing.assert_array_equal(line.get_xdata(), [0.1, 1.0])
        np.testing.assert_array_equal(line.get_ydata(), expected)
    np.testing.assert_array_equal(found["diverged or failed"].get_xdata(), [60.0, 60.0])
    best = search.best_params_["step_size"]
    np.testing.assert_array_equal(found[f"best: {best:.2g}"].get_xdata(), [best, best])
    assert top.get_xscale() == top.get_yscale() == bottom.get_yscale() == "log"
    assert bottom.get_xlabel() == "step_size"


def test_search_of_halving_and_pipeline():
    steps = {"sgldlogisticregression__step_size": [0.01, 0.1, 0.3, 0.5, 1.0]}
    pipeline = make_pipeline(StandardScaler(), clone(SHORT))
    search = KSDStepSizeSearch(pipeline, steps, strategy="halving", refit=False)
    display = drawn(KSDSearchDisplay.from_estimator(search.fit(X, Y)))
    found = curves(display.axes_[0])
    assert list(found)[:2] == ["round 1", "round 2"]
    (best,) = search.best_params_.values()
    assert display.values[display.best_index] == best
    assert len(found["round 2"].get_xdata()) == 2
    assert found["round 2"].get_linestyle() == "None"


def test_search_on_given_axes(search):
    _, axes = plt.subplots(2)
    display = KSDSearchDisplay.from_estimator(search, axes=axes)
    assert display.axes_[0] is axes[0]
    with pytest.raises(ValueError, match=r"axes has shape \(3,\)"):
        display.plot(plt.subplots(3)[1])


def test_search_needs_a_numeric_parameter(search):
    with pytest.raises(ValueError, match="param='sampler'.*step_size"):
        KSDSearchDisplay.from_estimator(search, param="sampler")
    with pytest.raises(ValueError, match="param='n_draws'"):
        KSDSearchDisplay.from_estimator(search, param="n_draws")
    with pytest.raises(NotFittedError):
        KSDSearchDisplay.from_estimator(KSDStepSizeSearch(SHORT))


def test_traces(model):
    display = drawn(TraceDisplay.from_estimator(model, parameters=["x2", "intercept"]))
    assert display.axes_.shape == (2, 2)
    assert display.axes_[0, 0].get_ylabel() == "x2"
    for chain, line in zip(model[-1].samples_, display.axes_[0, 0].lines, strict=True):
        np.testing.assert_array_equal(line.get_ydata(), chain[:, 2])
    assert TraceDisplay.from_estimator(model).axes_.shape == (4, 2)


def test_histograms_do_not_depend_on_the_unit():
    draws = np.random.default_rng(0).normal(size=(2, 200, 1)) * [1.0, 1000.0]
    axes = drawn(TraceDisplay(names=["a", "b"], draws=draws).plot()).axes_[:, 1]
    tops = [max(patch.get_xy()[:, 0].max() for patch in ax.patches) for ax in axes]
    assert tops[0] == tops[1] >= 200 / 25


def test_one_trace_on_given_axes(model):
    _, axes = plt.subplots(1, 2, squeeze=False)
    display = TraceDisplay.from_estimator(model, parameters=["x0"], axes=axes)
    assert display.figure_ is axes[0, 0].figure
    assert drawn(TraceDisplay.from_estimator(model, parameters=["x0"]))


def test_coefficients(model):
    display = drawn(CoefficientDisplay.from_estimator(model, prob=0.8))
    draws = model[-1].samples_.reshape(-1, 4)
    np.testing.assert_allclose(display.mean, draws.mean(axis=0))
    wide = np.quantile(draws, [0.1, 0.9], axis=0).T
    np.testing.assert_allclose(display.intervals[:, 0], wide)
    narrow = np.quantile(draws, [0.25, 0.75], axis=0).T
    np.testing.assert_allclose(display.intervals[:, 1], narrow)
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == ["x0", "x1", "x2", "intercept"]


def test_some_coefficients(model):
    draws = model[-1].samples_.reshape(-1, 4)
    strength = np.abs(draws.mean(axis=0)) / draws.std(axis=0)
    display = CoefficientDisplay.from_estimator(model, max_parameters=2)
    expected = np.sort(np.argsort(strength)[-2:])
    assert display.names == [["x0", "x1", "x2", "intercept"][j] for j in expected]
    _, ax = plt.subplots()
    display = CoefficientDisplay.from_estimator(model, parameters=["x1"], ax=ax)
    assert display.names == ["x1"] and display.ax_ is ax


@pytest.mark.parametrize("display", [TraceDisplay, CoefficientDisplay])
def test_wrong_estimators(display):
    with pytest.raises(NotFittedError):
        display.from_estimator(SHORT)
    with pytest.raises(TypeError, match="draws no samples"):
        display.from_estimator(LogisticRegression())


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"prob": 0}, "prob=0"),
        ({"prob": 1.5}, "prob=1.5"),
        ({"max_parameters": 0}, "max"),
    ],
)
def test_coefficients_check_their_arguments(model, options, words):
    with pytest.raises(ValueError, match=words):
        CoefficientDisplay.from_estimator(model, **options)


def test_missing_matplotlib_is_named(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r"skbayes_sg\[plot\]"):
        TraceDisplay.from_estimator(model)
