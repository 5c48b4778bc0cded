"""Every bad input is a ValueError or TypeError with a sentence; nothing is fitted.

One table for all estimators with features as columns: each gets every line that names
one of its parameters, alone or inside a meta-estimator.
"""

import os

import numpy as np
import pytest
from scipy import sparse

import skbayes_sg
from skbayes_sg import (
    ConsensusClassifier,
    KSDStepSizeSearch,
    SGHMCClassifierMLP,
    SGHMCLogisticRegression,
    SGHMCRegressorMLP,
    SGLDClassifierMLP,
    SGLDLogisticRegression,
    SGLDRegressorMLP,
    SGMCMCClassifierMLP,
    SGMCMCLinearRegression,
    SGMCMCLogisticRegression,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCPoissonRegressor,
    SGMCMCRegressorMLP,
    SGMCMCRobustRegressor,
    SGNHTClassifierMLP,
    SGNHTLogisticRegression,
    SGNHTRegressorMLP,
)
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.samplers import SGLD

X = np.random.default_rng(0).normal(size=(20, 3))
Y = np.tile([0, 1], 10)
LOGISTIC = [
    SGLDLogisticRegression,
    SGHMCLogisticRegression,
    SGNHTLogisticRegression,
    SGMCMCLogisticRegression,
]
REGRESSIONS = [
    SGMCMCLinearRegression,
    SGMCMCPoissonRegressor,
    SGMCMCNegativeBinomialRegressor,
    SGMCMCRobustRegressor,
]
NETWORKS = [
    SGLDClassifierMLP,
    SGHMCClassifierMLP,
    SGNHTClassifierMLP,
    SGMCMCClassifierMLP,
    SGLDRegressorMLP,
    SGHMCRegressorMLP,
    SGNHTRegressorMLP,
    SGMCMCRegressorMLP,
]


def in_consensus(**parameters):
    return ConsensusClassifier(SGLDLogisticRegression(**parameters), n_shards=2)


def in_search(step_size=1.0, **parameters):
    grid = {"step_size": [step_size]}
    return KSDStepSizeSearch(SGLDLogisticRegression(**parameters), grid)


class NotASampler:
    pass


ESTIMATORS = [*LOGISTIC, *REGRESSIONS, *NETWORKS, in_consensus, in_search]
PARAMETERS = [
    ("step_size", 0.0),
    ("step_size", -1.0),
    ("step_size", np.nan),
    ("step_size", np.inf),
    ("step_size", "large"),
    ("step_size", None),
    ("step_size", True),
    ("gradient", "exact"),
    ("gradient", 3),
    ("gradient", None),
    ("gradient", Minibatch),
    ("batch_size", 0),
    ("batch_size", -5),
    ("batch_size", 2.5),
    ("batch_size", 10**9),
    ("batch_size", "all"),
    ("preconditioner", "fisher"),
    ("preconditioner", None),
    ("n_draws", 0),
    ("n_draws", 10.0),
    ("n_draws", "many"),
    ("burn_in", -1),
    ("burn_in", "long"),
    ("thin", 0),
    ("thin", 1.5),
    ("n_chains", 0),
    ("n_chains", None),
    ("schedule", "linear"),
    ("schedule", 1),
    ("temperature", 0.0),
    ("temperature", "hot"),
    ("noise_correction", "yes"),
    ("prior_variance", 0.0),
    ("prior_variance", -10.0),
    ("prior_variance", np.inf),
    ("prior_variance", "wide"),
    ("prior_variance", [1.0, -1.0, 1.0]),
    ("prior", "flat"),
    ("prior", None),
    ("intercept_variance", 0.0),
    ("intercept_variance", "wide"),
    ("positive", "yes"),
    ("bounds", "tight"),
    ("bounds", (1.0, 0.0)),
    ("bounds", (0.0, np.nan)),
    ("bounds", (0.0, 1.0, 2.0)),
    ("df", 0.0),
    ("df", "few"),
    ("fit_intercept", "yes"),
    ("fit_intercept", 1),
    ("sampler", "nuts"),
    ("sampler", SGLD),
    ("sampler", NotASampler()),
    ("keep", "all"),
    ("keep", None),
    ("warm_start", "no"),
    ("n_jobs", 0),
    ("n_jobs", 1.5),
    ("verbose", -1),
    ("verbose", "loud"),
    ("checkpoint", 3),
    ("hidden_layer_sizes", (0,)),
    ("hidden_layer_sizes", (10, "x")),
    ("hidden_layer_sizes", 2.5),
    ("activation", "step"),
    ("activation", None),
    ("weight_precision", 0.0),
    ("weight_precision", "wide"),
    ("weight_precision", 1e300),
    ("weight_precision", 1e-300),
    ("dtype", "float16"),
    ("dtype", float),
    ("storage", 3),
    ("storage", __file__),
    ("checkpoint", __file__),
    ("checkpoint", f"{__file__}/folder"),
    ("checkpoint", ""),
    ("storage", "a\0b"),
]


def assert_untouched(model):
    assert not [name for name in vars(model) if name.endswith("_")]


def takes(make, name):
    """Whether a bad value of the parameter is an error of this estimator."""
    if make is in_consensus:  # which says itself what it needs of a schedule
        return name in SGLDLogisticRegression().get_params() and name != "schedule"
    if make is in_search:
        return name in SGLDLogisticRegression().get_params()
    return name in make().get_params()


CASES = [
    (make, name, value)
    for make in ESTIMATORS
    for name, value in PARAMETERS
    if takes(make, name)
]


def test_every_estimator_has_forty_cases():
    for make in ESTIMATORS:
        assert sum(case[0] is make for case in CASES) >= 40
    public = {name for name in skbayes_sg.__all__ if name.startswith("SG")}
    here = {make.__name__ for make in (*LOGISTIC, *REGRESSIONS, *NETWORKS)}
    # Of these, see the tests of their own.
    assert public - here == {
        "SGBPMFRecommender",
        "SGMCMCAutoregressiveHMM",
        "SGMCMCCategoricalHMM",
        "SGMCMCGaussianHMM",
        "SGMCMCLatentDirichletAllocation",
        "SGMCMCLinearGaussianSSM",
        "SGMCMCMixedMembershipBlockmodel",
        "SGMCMCModel",
        "SGMCMCPoissonHMM",
        "SGMCMCStochasticVolatility",
    }


@pytest.mark.parametrize("name", ["checkpoint", "storage"])
def test_a_folder_that_may_not_be_written_to(tmp_path, monkeypatch, name):
    monkeypatch.setattr(os, "access", lambda *args: False)  # root may write anywhere
    model = SGLDLogisticRegression(random_state=0, **{name: tmp_path / "new"})
    with pytest.raises(ValueError, match=f"^{name}=.*is not writable; use"):
        model.fit(X, Y)


@pytest.mark.parametrize("make, name, value", CASES)
def test_parameter(make, name, value):
    model = make(**{name: value})
    with pytest.raises((ValueError, TypeError), match=f"^{name}=.*") as error:
        model.fit(X, Y)
    assert len(str(error.value).split()) >= 5
    assert_untouched(model)


def replaced(row, column, value):
    bad = X.copy()
    bad[row, column] = value
    return bad


DATA = {
    "NaN in X": (replaced(0, 0, np.nan), Y, None, "NaN"),
    "Inf in X": (replaced(0, 0, np.inf), Y, None, "infinity"),
    "one-dimensional X": (X[:, 0], Y, None, "2D array"),
    "three-dimensional X": (X[:, None], Y, None, "dim 3"),
    "no rows": (X[:0], Y[:0], None, "0 sample"),
    "no columns": (X[:, :0], Y, None, "0 feature"),
    "text in X": (np.full((20, 3), "a"), Y, None, "convert"),
    "complex X": (X + 1j, Y, None, "Complex"),
    "y too short": (X, Y[:-1], None, "inconsistent"),
    "no y": (X, None, None, "requires y"),
    "one class": (X, np.zeros(20), None, "one class"),
    "continuous y": (X, X[:, 0], None, "Unknown label type"),
    "NaN in y": (X, np.where(Y, np.nan, 1.0), None, "NaN"),
    "matrix y": (X, np.tile(Y, (2, 1)).T, None, "1d array"),
    "negative weight": (X, Y, -np.ones(20), "sample_weight"),
    "NaN weight": (X, Y, np.full(20, np.nan), "sample_weight"),
    "zero weights": (X, Y, np.zeros(20), "sample_weight"),
    "huge weights": (X, Y, np.full(20, 1e300), "sample_weight holds values up to 1e"),
    "huge X": (1e200 * X, Y, None, "X .*too large"),
    "short weights": (X, Y, np.ones(19), "sample_weight"),
    "text weights": (X, Y, ["a"] * 20, "sample_weight"),
    "NaN in CSR": (sparse.csr_array(replaced(0, 0, np.nan)), Y, None, "NaN"),
}


OF_LABELS = ("one class", "continuous y", "matrix y")


@pytest.mark.parametrize("case", DATA)
@pytest.mark.parametrize("make", ESTIMATORS)
def test_data(make, case):
    bad_X, bad_y, weight, words = DATA[case]
    model = make()
    if case in OF_LABELS and (make in REGRESSIONS or "Regressor" in make.__name__):
        pytest.skip("numbers, and several of them, are targets")
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(bad_X, bad_y, sample_weight=weight)
    assert_untouched(model)


@pytest.mark.parametrize(
    "make", [*REGRESSIONS, *(m for m in NETWORKS if "Regressor" in m.__name__)]
)
def test_huge_targets(make):
    with pytest.raises(ValueError, match="^y holds values up to .*larger units"):
        make().fit(X, 1e200 * np.abs(X[:, 0]))


def test_unknown_class_weight():
    with pytest.raises(ValueError, match="class_weight|class"):
        SGLDLogisticRegression(class_weight="even").fit(X, Y)


def test_failed_refit_keeps_the_first_fit():
    model = SGLDLogisticRegression(n_draws=20, n_chains=1, random_state=0).fit(X, Y)
    before = vars(model).copy()
    with pytest.raises(ValueError):
        model.fit(replaced(0, 0, np.nan)[:, :2], Y)
    assert vars(model).keys() == before.keys()
    assert model.n_features_in_ == 3


def test_predict_checks_its_input():
    model = SGLDLogisticRegression(n_draws=20, n_chains=1, random_state=0).fit(X, Y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :2])
    with pytest.raises(ValueError, match="NaN"):
        model.predict_proba(replaced(0, 0, np.nan))


def test_named_class_refuses_other_samplers():
    class Other(SGLDLogisticRegression):
        _sampler_kinds = (SGLD,)

    with pytest.raises(ValueError, match="generic class"):
        Other(sampler="sgld-lm").fit(X, Y)
