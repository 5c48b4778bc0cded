"""Random parameters and data: a fit, or an error with a sentence; never a crash.

The quick run of each estimator draws from the settings that need little compilation,
the long one from all of them.
"""

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skbayes_sg import (
    ConsensusClassifier,
    DivergenceError,
    KSDStepSizeSearch,
    SGBPMFRecommender,
    SGMCMCClassifierMLP,
    SGMCMCLogisticRegression,
    SGMCMCRegressorMLP,
)
from skbayes_sg.inference.exploration import mlp_training as networks
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.samplers import SAMPLERS
from skbayes_sg.kernels.schedules import SCHEDULES
from tests.fuzzing import attempt, fuzz, parameters

SAMPLING = {
    "step_size": st.sampled_from(["auto", 0.1, 1e-12, 3.9, 1e12, np.float32(0.5)]),
    "batch_size": st.sampled_from(["auto", 1, 2, np.int64(3), 10**6]),
    "preconditioner": st.sampled_from(["auto", "dense", "diagonal", "none"]),
    "n_draws": st.integers(1, 5),
    "burn_in": st.sampled_from(["auto", 0, 3]),
    "thin": st.sampled_from(["auto", 1, 2]),
    "n_chains": st.integers(1, 3),
    "temperature": st.sampled_from([1, 0.5, 1e-8, 1e8]),
    "warm_start": st.booleans(),
    "n_jobs": st.sampled_from([None, 1, 2]),
    "random_state": st.sampled_from([0, np.random.RandomState(0), 2**32 - 1]),
}
LOGISTIC = SAMPLING | {
    "batch_size": st.sampled_from(["auto", 10**6]),
    "gradient": st.sampled_from(["auto", "full", "minibatch"]),
    "prior_variance": st.sampled_from([10.0, 1, 1e-10, 1e10, 1e300, 1e-300]),
    "fit_intercept": st.booleans(),
    "class_weight": st.sampled_from([None, "balanced", {0: 2.0}, {0: 1e-300}, {9: 1}]),
    "keep": st.sampled_from(["draws", "moments", "variances"]),
}
NETWORK = SAMPLING | {
    "hidden_layer_sizes": st.sampled_from([(), 3, (2,), [2, 3], np.array([4])]),
    "weight_precision": st.sampled_from(
        ["fan-in", "hierarchical", "relevance", "gamma", 1.0, 1e-8, 1e8, 1e300]
    ),
    "storage_dtype": st.sampled_from([None, "float16", "float32", "float64"]),
    "noise_correction": st.booleans(),
    "preconditioner": st.sampled_from(["auto", "dense", "diagonal"]),
}
RECOMMENDER = SAMPLING | {
    "batch_size": st.sampled_from(["auto", 10**6]),
    "preconditioner": st.sampled_from(["auto", "dense", "diagonal"]),
    "n_factors": st.integers(1, 4),
    "biases": st.booleans(),
    "noise_precision": st.sampled_from(["learn", 1.0, 1e-8, 1e8, 1e300]),
    "noise_dof": st.sampled_from([10.0, 2.1, 1e8, None]),
    "precision_prior": st.sampled_from([(1.0, "auto"), (1e-3, 1e-3), (1e6, 1.0)]),
    "rating_range": st.sampled_from([None, (0, 5), (-1e9, 1e9), (2, 2.5)]),
}
# Each name of these is compiled anew.
COMPILED = {
    "sampler": st.sampled_from([None, *SAMPLERS]),
    "gradient": st.sampled_from(["auto", *GRADIENTS]),
    "schedule": st.sampled_from([*SCHEDULES]),
    "noise_correction": st.booleans(),
    "preconditioner": SAMPLING["preconditioner"],
    "batch_size": SAMPLING["batch_size"],
}
COMPILED_NETWORK = COMPILED | {
    "activation": st.sampled_from(["relu", "tanh", "logistic", "identity"]),
    "dtype": st.sampled_from(["float32", "float64"]),
}
COMPILED_RECOMMENDER = COMPILED | {
    "hyperparameters": st.sampled_from(["conjugate", "log-scale"]),
    "dtype": st.sampled_from(["float32", "float64"]),
}
NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0]),
    st.floats(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([np.nan, np.inf, 1e308, -1e308, 5e-324, 1e154, 1e20, 1e-200]),
)
WEIGHTS = st.sampled_from([1.0, 3.0, 1e-300, 0.0])
WILD_WEIGHTS = st.sampled_from([1.0, 1e300, -1.0, np.nan])
LABELS = [[0, 1], [0, 1, 2], ["a", "b"], [True, False]]
WILD_LABELS = [[0], [0.5, 1], ["a", 1], [None, "a"], [np.nan, 1]]


@st.composite
def rows(draw, targets="labels"):
    """Return X, y and weights of a few samples, wild ones now and then."""
    wild = draw(st.sampled_from([False, False, True]))
    n, p = draw(st.integers(1 if wild else 8, 20)), draw(st.integers(1, 3))
    numbers = NUMBERS if wild else st.floats(-9, 9)
    X = draw(arrays(np.float64, (n, p), elements=numbers))
    if targets == "labels":
        labels = draw(st.sampled_from(LABELS + wild * WILD_LABELS))
        y = np.array([labels[k % len(labels)] for k in range(n)])
    else:
        shape = draw(st.sampled_from([n, n, (n, 1), (n, 2)]))
        y = draw(arrays(np.float64, shape, elements=numbers))
    weights = WILD_WEIGHTS if wild else WEIGHTS
    return X, y, draw(st.none() | arrays(np.float64, n, elements=weights))


@st.composite
def ratings(draw):
    """Return pairs of labels, ratings and weights."""
    n = draw(st.integers(1, 12))
    wild = draw(st.sampled_from([False, False, True]))
    labels = [0, 1, 2, "a", "b"]
    if wild:
        labels += [None, np.nan, 1e300, (1, 2), [1], b"x"]
    pair = st.tuples(st.sampled_from(labels), st.sampled_from(labels))
    X = np.empty((n, 2), dtype=object)
    for row in X:
        row[0], row[1] = draw(pair)
    levels = NUMBERS if wild else st.sampled_from([1.0, 2.0, 3.5, 5.0])
    y = draw(arrays(np.float64, n, elements=levels))
    weights = WILD_WEIGHTS if wild else WEIGHTS
    return X, y, draw(st.none() | arrays(np.float64, n, elements=weights))


def fit_or_refuse(model, data):
    """Fit, and return whether it worked; nothing may be half fitted."""
    X, y, weights = data
    options = {} if weights is None else {"sample_weight": weights}

    def fit():
        model.fit(X, y, **options)
        check_predictions(model, X)
        return True

    _, error = attempt(fit, DivergenceError)
    if error is not None:
        assert not [name for name in vars(model) if name.endswith("_")], error
    return error is None


def check_predictions(model, X):
    """Predictions are finite, and probabilities add up."""
    if hasattr(model, "predict_proba"):
        np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0, rtol=1e-5)
    if hasattr(model, "samples_"):
        assert np.isfinite(model.samples_).all()
    if hasattr(model, "coef_"):
        assert np.isfinite(model.coef_).all() and np.isfinite(model.coef_std_).all()
    if not hasattr(model, "predict"):  # of a search without a refit
        return
    predicted = model.predict(X)
    assert len(predicted) == len(X)
    if predicted.dtype.kind == "f":
        assert np.isfinite(predicted).all()


def fuzz_fits(make, valid, data, n_examples):
    """Try `n_examples` fits of the estimators that ``make`` returns."""

    def check(chosen, data):
        return fit_or_refuse(make(chosen), data)

    fuzz(check, n_examples, parameters(valid), data)


SHORT = dict(n_draws=3, n_chains=1, burn_in=5, thin=1)


def logistic(parameters):
    return SGMCMCLogisticRegression(**{**SHORT, **parameters})


def classifier(parameters):
    return SGMCMCClassifierMLP(**{**SHORT, "hidden_layer_sizes": (2,), **parameters})


def regressor(parameters):
    return SGMCMCRegressorMLP(**{**SHORT, "hidden_layer_sizes": (2,), **parameters})


def recommender(parameters):
    return SGBPMFRecommender(**{**SHORT, "n_factors": 2, **parameters})


def consensus(parameters):
    own = ("n_shards", "weighting", "random_state", "n_jobs")
    inner = {k: v for k, v in parameters.items() if k not in own}
    outer = {k: v for k, v in parameters.items() if k in own}
    return ConsensusClassifier(logistic(inner), **{"n_shards": 2, **outer})


def search(parameters):
    own = ("param_grid", "strategy", "n_iter", "ksd_params", "refit", "error_score")
    inner = {k: v for k, v in parameters.items() if k not in own}
    outer = {k: v for k, v in parameters.items() if k in own}
    grid = {"step_size": [0.1, 0.5]}
    return KSDStepSizeSearch(logistic(inner), **{"param_grid": grid, **outer})


CONSENSUS = LOGISTIC | {
    "n_shards": st.integers(1, 3),
    "weighting": st.sampled_from(["auto", "dense", "diagonal"]),
}
SEARCH = LOGISTIC | {
    "param_grid": st.sampled_from(
        [
            {"step_size": [0.1, 1e9]},
            {"step_size": [0.1], "n_chains": [1, 0]},
            {"step_size": ["auto"], "burn_in": [0, 3]},
            [{"thin": [2]}, {"step_size": [1.0]}],
            {"nothing": [1]},
            {},
        ]
    ),
    "strategy": st.sampled_from(["grid", "halving"]),
    "n_iter": st.sampled_from([None, 10, 30]),
    "ksd_params": st.sampled_from(
        [None, {"max_draws": 5}, {"batch_size": 1}, {"beta": 2.0}, {"max_draws": 1}]
    ),
    "refit": st.booleans(),
    "error_score": st.sampled_from(["raise", np.nan, 0]),
}
LABELLED, MEASURED = rows(), rows("numbers")
FAMILIES = {
    "logistic": (logistic, LOGISTIC, COMPILED, LABELLED),
    "classifier": (classifier, NETWORK, COMPILED_NETWORK, LABELLED),
    "regressor": (regressor, NETWORK, COMPILED_NETWORK, MEASURED),
    "recommender": (recommender, RECOMMENDER, COMPILED_RECOMMENDER, ratings()),
    "consensus": (consensus, CONSENSUS, COMPILED, LABELLED),
    "search": (search, SEARCH, COMPILED, LABELLED),
}
QUICK = dict(
    logistic=150, classifier=40, regressor=40, recommender=40, consensus=20, search=40
)


@pytest.mark.parametrize("family", FAMILIES)
def test_few(family, monkeypatch):
    monkeypatch.setattr(networks, "MIN_TRAINING", 10)
    monkeypatch.setattr(networks, "EPOCHS", 1)
    make, valid, _, data = FAMILIES[family]
    fuzz_fits(make, valid, data, QUICK[family])


@pytest.mark.long
@pytest.mark.parametrize("family", FAMILIES)
def test_many(family, monkeypatch):
    """All samplers, gradients, schedules and types, most of which are compiled once."""
    monkeypatch.setattr(networks, "MIN_TRAINING", 10)
    monkeypatch.setattr(networks, "EPOCHS", 1)
    make, valid, compiled, data = FAMILIES[family]
    fuzz_fits(make, valid | compiled, data, 300)


ONE_ROW_APART = np.full((20, 3), -4.35923622)
ONE_ROW_APART[3, 0] = -0.136115
ONE_RATING = np.array([["b", 1]], dtype=object), np.ones(1), None
FOUND = {
    # A network at so low a temperature that rounding hides its curvature.
    "rounding": (
        classifier,
        {
            "step_size": 1e-12,
            "gradient": "full",
            "batch_size": 3,
            "preconditioner": "none",
            "temperature": 1e-8,
            "random_state": 0,
        },
        (ONE_ROW_APART, np.arange(20) % 2, None),
    ),
    # A network of which one draw takes all of y for noise.
    "noise": (
        regressor,
        {
            "step_size": 3.9,
            "weight_precision": 1e-8,
            "gradient": "full",
            "preconditioner": "none",
            "burn_in": 0,
            "thin": 2,
            "n_draws": 1,
            "n_chains": 2,
            "hidden_layer_sizes": 4,
            "dtype": "float64",
            "random_state": 0,
        },
        (np.zeros((16, 3)), np.random.default_rng(0).normal(size=(16, 2)), None),
    ),
    # Targets without noise, of which the curvature is beyond all bounds.
    "curvature": (
        regressor,
        {
            "step_size": 1e-12,
            "weight_precision": 1e-8,
            "gradient": "cv",
            "sampler": "sghmc",
            "schedule": "cyclical",
            "hidden_layer_sizes": [2, 3],
            "burn_in": 0,
            "n_draws": 4,
            "n_chains": 3,
            "dtype": "float64",
            "temperature": 1e-8,
            "random_state": 0,
        },
        (-8.0 * (np.arange(24).reshape(8, 3) == 3), np.zeros(8), None),
    ),
    # A sampler whose steps do not depend on the curvature.
    "metric": (
        classifier,
        {"sampler": "sgrld-dense", "thin": 2, "n_chains": 1, "random_state": 0},
        (ONE_ROW_APART, np.arange(20) % 2, None),
    ),
    # The precision of a factor that no rating holds falls to zero.
    "precision": (
        recommender,
        {
            "hyperparameters": "log-scale",
            "gradient": "minibatch",
            "n_factors": 1,
            "temperature": 0.5,
            "n_chains": 2,
            "random_state": 0,
        },
        ONE_RATING,
    ),
}


@pytest.mark.long
@pytest.mark.parametrize("case", FOUND)
def test_found_before(case, monkeypatch):
    monkeypatch.setattr(networks, "MIN_TRAINING", 10)
    monkeypatch.setattr(networks, "EPOCHS", 1)
    make, parameters, data = FOUND[case]
    fit_or_refuse(make(parameters), data)
