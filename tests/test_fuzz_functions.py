"""Random arguments of functions: `sample`, metrics, generators, displays and files."""

import matplotlib
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skbayes_sg import (
    CoefficientDisplay,
    CoverageDisplay,
    DivergenceError,
    KSDSearchDisplay,
    KSDStepSizeSearch,
    PredictiveCheckDisplay,
    RankDisplay,
    SGLDLogisticRegression,
    SGMCMCLinearRegression,
    TraceDisplay,
    sample,
)
from skbayes_sg.datasets import make_documents, make_graph, make_logistic, make_ratings
from skbayes_sg.inference.moments import Moments
from skbayes_sg.kernels.coordinates import Dense, Diagonal
from skbayes_sg.kernels.gradients import SAGA, ControlVariate, Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.samplers import SAMPLERS, SGLD
from skbayes_sg.kernels.schedules import Cyclical, Polynomial
from skbayes_sg.metrics import (
    completion_perplexity,
    kernel_stein_discrepancy,
    ksd_floor,
    stein_thinning,
)
from tests.fuzzing import attempt, fuzz, parameters

WILD = st.sampled_from([0.0, 1.0, -1.0, np.nan, np.inf, 1e308, -1e154, 5e-324, 1e-200])
CALM = st.floats(-9, 9)


def numbers(shape, wild=True):
    """Return arrays of a shape, wild ones now and then."""
    calm = arrays(np.float64, shape, elements=CALM)
    if not wild:
        return calm
    return calm | calm | calm | arrays(np.float64, shape, elements=CALM | WILD)


# sample
DATA = np.random.default_rng(0).normal(size=(12, 2))
MODEL = GaussianMean(DATA, np.diag([1.0, 4.0]))
SAMPLE = {
    "step_size": st.sampled_from([0.1, 1e-12, np.float32(0.5), 1.0, 1e12, 0]),
    "n_draws": st.sampled_from([1, 5, np.int64(7), 0]),
    "burn_in": st.sampled_from([0, 3, -5]),
    "thin": st.sampled_from([1, 2, 0]),
    "n_chains": st.sampled_from([1, 2, 3, 0]),
    "start": st.none() | numbers((2,)) | numbers((2, 2)) | numbers((3,)),
    "temperature": st.sampled_from([1, 0.5, 1e-8, 1e8, 0, -1.0]),
    "noise_correction": st.booleans(),
    "scale": st.none() | numbers((2,)) | numbers((3,)),
    "step_limit": st.sampled_from([None, 1.0]),
    "storage_dtype": st.sampled_from([None, "float16", "float32", np.float64, "int8"]),
    "keep": st.sampled_from(["draws", "moments", "variances"]),
    "n_jobs": st.sampled_from([None, 1, 2]),
    "random_state": st.sampled_from([0, np.random.SeedSequence(3), 2**40, [1, 2]]),
    "progress": st.just(False),
    "return_info": st.booleans(),
    "resume": st.sampled_from([None, None, [], [{}], [{"t": 3}] * 2, "x"]),
}
COMPILED = {
    "coordinates": st.sampled_from(
        [None, Diagonal(np.zeros(2), np.ones(2)), Dense(np.zeros(2), np.eye(2))]
    ),
    "step_size": st.sampled_from(
        [
            0.1,
            1e12,
            Polynomial(0.1, 0.5, 10),
            Cyclical(0.1, 2),
            Polynomial(-1, 2, 0),
        ]
    ),
    "sampler": st.sampled_from([make() for make in SAMPLERS.values()] + [SGLD, "sgld"]),
    "gradient": st.sampled_from(
        [Full(), Minibatch(3), Minibatch(0), Minibatch(99), SAGA(2), Minibatch, None]
        + [ControlVariate(3)]
    ),
}


def check_sample(chosen):
    """Draw; what comes is finite and has the shape that was asked for."""
    parts = {"model": MODEL, "sampler": SGLD(), "gradient": Minibatch(3)}
    arguments = {**parts, "step_size": 0.1, "n_draws": 4, **chosen}
    result, error = attempt(lambda: sample(**arguments), DivergenceError)
    if error is not None:
        return False
    draws = result[0] if arguments.get("return_info") else result
    if isinstance(draws, Moments):
        assert np.isfinite(draws.mean).all() and np.isfinite(draws.covariance).all()
        draws = draws.mean[:, None]
    assert draws.shape[::2] == (arguments.get("n_chains", 1), 2)
    assert np.isfinite(draws).all()
    return True


def test_sample():
    fuzz(check_sample, 300, parameters(SAMPLE))


@pytest.mark.long
def test_sample_with_all_components():
    fuzz(check_sample, 300, parameters(SAMPLE | COMPILED))


# Metrics
@st.composite
def draws_and_scores(draw):
    """Return draws and scores that fit each other, most of the time."""
    n, d = draw(st.integers(1, 12)), draw(st.integers(1, 3))
    other = draw(st.sampled_from([n, n, n, n, n + 1]))
    shape = draw(st.sampled_from([(n, d), (n, d), (n, d), (n,), (0, d), (1, n, d)]))
    return draw(numbers(shape)), draw(numbers((other, d)))


STEIN = {
    "c": st.sampled_from([1.0, 0.1, 10, 1e-300, 1e300]),
    "beta": st.sampled_from([-0.5, -0.9, -0.01]),
    "standardize": st.sampled_from([False, True, np.eye(2), np.eye(3), -np.eye(2)]),
}
KSD = STEIN | {
    "form": st.sampled_from(["joint", "sum", "x"]),
    "statistic": st.sampled_from(["v", "u"]),
    "method": st.sampled_from(["exact", "features"]),
    "n_features": st.sampled_from([1, 10]),
    "random_state": st.sampled_from([0, 7]),
    "n_jobs": st.sampled_from([None, 1, 2]),
    "return_floor": st.booleans(),
    "return_error": st.booleans(),
}
METRICS = {
    "discrepancy": (kernel_stein_discrepancy, KSD),
    "floor": (ksd_floor, STEIN | {"n_draws": st.sampled_from([None, 1, 100])}),
    "thinning": (stein_thinning, STEIN | {"m": st.sampled_from([1, 3, 20])}),
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics(name):
    metric, valid = METRICS[name]

    def check(data, chosen):
        if "m" in valid:
            chosen = {"m": 2, **chosen}
        result, error = attempt(lambda: metric(*data, **chosen))
        if error is not None:
            return False
        assert np.isfinite(np.asarray(result, float)).all()
        return True

    fuzz(check, 200, draws_and_scores(), parameters(valid))


@st.composite
def documents(draw):
    n, words = draw(st.integers(0, 4)), draw(st.integers(1, 5))
    counts = st.sampled_from([0, 1, 3])
    X = draw(arrays(np.float64, (n, words), elements=counts))
    if draw(st.booleans()) and X.size:
        X[0, 0] = draw(st.sampled_from([1.0, 2.0, -1.0, 0.5, np.nan, 1e300]))
    topics = draw(arrays(np.float64, (2, words), elements=st.floats(0.1, 5)))
    if draw(st.sampled_from([False, False, True])):
        topics[0, -1] = draw(WILD)
    X = sp.csr_array(X) if draw(st.booleans()) else X
    return X, topics


def test_perplexity():
    valid = {
        "doc_topic_prior": st.sampled_from([0.1, [0.1, 2.0], [1.0], [1.0, -1.0]]),
        "random_state": st.sampled_from([0, 5]),
        "n_jobs": st.sampled_from([None, 1, 2]),
    }

    def check(data, chosen):
        chosen = {"doc_topic_prior": 0.5, **chosen}
        result, error = attempt(lambda: completion_perplexity(*data, **chosen))
        assert error is not None or np.isfinite(result)
        return error is None

    fuzz(check, 100, documents(), parameters(valid))


# Generators
SMALL = st.sampled_from([1, 2, 7, np.int64(9), 20])
SEEDS = st.sampled_from([0, None, np.random.RandomState(1), np.random.default_rng(0)])
SCALES = st.sampled_from([0.0, 0.1, 1, 3.0, 1e300])
GENERATORS = {
    "logistic": (
        make_logistic,
        {
            "n_samples": SMALL,
            "n_features": SMALL,
            "rho": st.sampled_from([0.0, 0.4, 0.99, -0.5, 1.0]),
            "coef_scales": st.sampled_from([(1.0,), (0.1, 10), (), [np.nan], 3]),
            "intercept": SCALES,
            "random_state": SEEDS,
            "return_coef": st.booleans(),
        },
        dict(n_samples=20, n_features=3),
    ),
    "ratings": (
        make_ratings,
        {
            "n_users": SMALL,
            "n_items": SMALL,
            "n_ratings": SMALL,
            "n_factors": SMALL,
            "mean": SCALES,
            "bias_std": SCALES,
            "factor_std": SCALES,
            "noise_std": SCALES,
            "levels": st.sampled_from([None, (1, 2), (3.0,), (), "ab"]),
            "user_exponent": SCALES,
            "item_exponent": SCALES,
            "random_state": SEEDS,
            "return_truth": st.booleans(),
        },
        dict(n_users=8, n_items=6, n_ratings=20),
    ),
    "documents": (
        make_documents,
        {
            "n_documents": SMALL,
            "n_words": SMALL,
            "n_topics": SMALL,
            "length": SMALL,
            "doc_topic_prior": SCALES,
            "topic_word_prior": SCALES,
            "random_state": SEEDS,
        },
        dict(n_documents=5, n_words=8, n_topics=2, length=10),
    ),
    "graph": (
        make_graph,
        {
            "n_nodes": SMALL,
            "n_communities": SMALL,
            "membership_prior": SCALES,
            "link_rates": st.sampled_from([0.2, 1, 0.0, [0.1, 0.9], 2.0, [[1.0]]]),
            "background_rate": st.sampled_from([0.0, 0.1, 1, 1.5]),
            "random_state": SEEDS,
        },
        dict(n_nodes=10, n_communities=2),
    ),
}


@pytest.mark.parametrize("name", GENERATORS)
def test_generators(name):
    make, valid, small = GENERATORS[name]

    def check(chosen):
        result, error = attempt(lambda: make(**{**small, **chosen}))
        if error is not None:
            return False
        values = result.values() if hasattr(result, "values") else result
        for value in values:
            value = value.data if sp.issparse(value) else value
            if isinstance(value, np.ndarray) and value.dtype.kind == "f":
                assert np.isfinite(value).all()
        return True

    fuzz(check, 200, parameters(valid))


# Displays
@pytest.fixture(scope="module")
def fitted():
    X, y = make_logistic(200, 3, random_state=0)
    short = dict(n_draws=20, burn_in=5, thin=1, n_chains=2, gradient="full")
    model = SGLDLogisticRegression(**short, random_state=0)
    search = KSDStepSizeSearch(model, {"step_size": [0.1, 0.5], "thin": [1, 2]})
    numbers = SGMCMCLinearRegression(**short, random_state=0)
    return model.fit(X, y), search.fit(X, y), numbers.fit(X, X @ [1.0, 2.0, 0.0] + y)


NAMES = st.sampled_from([None, ["x0"], ["x0", "x2"], ["x0", "x0"], ["y"], [], "x0", 5])
PREDICTED = {
    "X": numbers((5, 3)) | numbers((5, 2)) | st.sampled_from([None, "x", []]),
    "y": numbers((5,)) | numbers((4,)) | st.sampled_from([None, "x", []]),
    "n_samples": st.sampled_from([1, 20, 0]),
    "random_state": st.sampled_from([0, None, -1]),
}
DISPLAYS = {
    "traces": (TraceDisplay, 0, {"parameters": NAMES}),
    "coefficients": (
        CoefficientDisplay,
        0,
        {
            "parameters": NAMES,
            "prob": st.sampled_from([0.94, 0.5, 1e-9, 1, 0.0]),
            "max_parameters": st.sampled_from([1, 2, 100]),
        },
    ),
    "ranks": (RankDisplay, 0, {"parameters": NAMES}),
    "predictions": (PredictiveCheckDisplay, 2, PREDICTED),
    "coverage": (CoverageDisplay, 2, PREDICTED),
    "search": (
        KSDSearchDisplay,
        1,
        {"param": st.sampled_from([None, "step_size", "thin", "burn_in", "", 3])},
    ),
}


@pytest.mark.parametrize("name", DISPLAYS)
def test_displays(name, fitted):
    display, which, valid = DISPLAYS[name]
    axes = "ax" if name in ("coefficients", "predictions", "coverage") else "axes"
    data = ["X", "y"] if valid is PREDICTED else []
    unsuited = [None, None, "x", 3, [], [None, None], object()]
    own = valid | {axes: st.sampled_from(unsuited)}
    estimators = [fitted[which]] * 8 + [fitted[which - 1], None, 3, "x"]
    estimators.append(SGLDLogisticRegression())
    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    def check(estimator, chosen):
        try:
            _, error = attempt(lambda: display.from_estimator(estimator, **chosen))
        finally:
            plt.close("all")
        return error is None

    fuzz(check, 60, st.sampled_from(estimators), parameters(own, data))
