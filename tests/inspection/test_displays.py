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
    CoverageDisplay,
    KSDSearchDisplay,
    KSDStepSizeSearch,
    PredictiveCheckDisplay,
    RankDisplay,
    SGLDLogisticRegression,
    SGMCMCLinearRegression,
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


def test_coefficients_say_what_they_leave_out(model):
    display = drawn(CoefficientDisplay.from_estimator(model, max_parameters=2))
    assert "2 of 4 parameters" in display.ax_.get_xlabel()
    assert " of " not in CoefficientDisplay.from_estimator(model).ax_.get_xlabel()


def test_ranks(model):
    display = drawn(RankDisplay.from_estimator(model, parameters=["x1"]))
    draws = model[-1].samples_[..., 1]
    (ax,) = display.axes_
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["chain 0", "chain 1"]
    for chain, patch in zip(draws, ax.patches, strict=True):
        counts, edges = patch.get_data()[:2]
        ranks = (draws.reshape(-1) < chain[:, None]).sum(axis=1) + 0.5
        np.testing.assert_array_equal(counts, np.histogram(ranks, edges)[0])


def test_ranks_show_a_shifted_chain():
    draws = np.random.default_rng(0).normal(size=(2, 400, 1))
    draws[1] += 2.0
    (ax,) = drawn(RankDisplay(draws, ["a"]).plot()).axes_
    low, high = sorted(line.get_ydata()[0] for line in ax.lines)
    first = ax.patches[0].get_data()[0]
    assert first[0] > high and first[-1] < low


class Known(SGMCMCLinearRegression):
    """A regressor whose predictive distribution is known: normal, sd 1."""

    def sample_y(self, X, n_samples=1, random_state=0):
        noise = np.random.default_rng(random_state).normal(size=(len(X), n_samples))
        return np.asarray(X)[:, :1] + noise


@pytest.fixture(scope="module")
def known():
    rng = np.random.default_rng(1)
    rows = rng.normal(size=(2000, 2))
    model = Known(n_draws=20, n_chains=1, random_state=0).fit(rows[:100], rows[:100, 0])
    return model, rows, rows[:, 0] + rng.normal(size=2000)


def test_predictive_check(known):
    display = drawn(PredictiveCheckDisplay.from_estimator(*known))
    band, _, observed = display.ax_.patches
    counts, edges = observed.get_data()[:2]
    np.testing.assert_array_equal(counts, np.histogram(known[2], edges)[0])
    high, _, low = band.get_data()
    inside = np.mean((low <= counts) & (counts <= high))
    assert inside > 0.7  # 90 % +- 5 % of 30 bins


def test_predictive_check_of_counts():
    counts = np.random.default_rng(0).poisson(3.0, (500, 101))
    display = drawn(PredictiveCheckDisplay(counts[:, 0], counts[:, 1:]).plot())
    edges = display.ax_.patches[0].get_data()[1]
    assert edges[0] == -0.5 and np.all(np.diff(edges) == 1)


def test_coverage(known):
    model, rows, y = known
    display = drawn(CoverageDisplay.from_estimator(model, rows, y))
    # Monte Carlo error of a share at most 0.5 / sqrt(2000) = 0.011.
    assert np.max(np.abs(display.shares - display.levels)) < 0.04
    spread = rows[:, 0] + 2 * (y - rows[:, 0])
    narrow = CoverageDisplay.from_estimator(model, rows, spread)
    assert np.max(display.levels - narrow.shares) > 0.2
    counts = rows[:, 0].round() * 0  # all targets tie with no draw
    assert CoverageDisplay.from_estimator(model, rows, counts).n_rows == 2000


def test_predictive_displays_check_their_arguments(known, model):
    with pytest.raises(TypeError, match=r"no sample_y\(\).*CalibrationDisplay"):
        CoverageDisplay.from_estimator(model, X, Y)
    with pytest.raises(ValueError, match=r"y has the shape \(3,\)"):
        PredictiveCheckDisplay.from_estimator(known[0], known[1], known[2][:3])
    with pytest.raises(ValueError, match="n_samples=5"):
        PredictiveCheckDisplay.from_estimator(*known, n_samples=5)


@pytest.mark.parametrize("display", [TraceDisplay, CoefficientDisplay, RankDisplay])
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
