"""The search keeps GridSearchCV's contract and finds what the discrepancy says."""

import pickle
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.base import clone, is_classifier
from sklearn.exceptions import ConvergenceWarning, FitFailedWarning, NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import skbayes_sg.inference.exploration.one_mode as exploring
from skbayes_sg import (
    DivergenceError,
    KSDStepSizeSearch,
    SGBPMFRecommender,
    SGLDLogisticRegression,
    SGMCMCClassifierMLP,
    SGMCMCLogisticRegression,
    SGMCMCRegressorMLP,
)
from skbayes_sg.datasets import make_logistic
from skbayes_sg.kernels.samplers import SGLD, LeimkuhlerMatthews
from skbayes_sg.model_selection._candidates import SAMPLING
from skbayes_sg.model_selection._search import DEFAULT_GRID

pytestmark = pytest.mark.usefixtures("without_mixing_warnings")

X, Y = make_logistic(300, 3, random_state=0)
SHORT = SGLDLogisticRegression(sampler="sgld", n_draws=100, thin=1, n_chains=2)
GRID = {"step_size": [0.01, 0.3, 3.5]}
ESTIMATORS = [
    SGMCMCLogisticRegression,
    SGMCMCClassifierMLP,
    SGMCMCRegressorMLP,
    SGBPMFRecommender,
]
TOO_LARGE = {"step_size": [0.3, 50.0, 1.0]}


@pytest.mark.usefixtures("short_pilots")
@parametrize_with_checks(
    [
        KSDStepSizeSearch(
            SGLDLogisticRegression(n_draws=20, thin=1, n_chains=2, gradient="full"),
            {"step_size": [0.5, 1.0]},
        )
    ]
)
def test_sklearn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def search():
    return KSDStepSizeSearch(SHORT, GRID, random_state=1).fit(X, Y)


def assert_untouched(search):
    assert not [attribute for attribute in vars(search) if attribute.endswith("_")]


# Results
def test_names_and_shapes_are_those_of_grid_search(search):
    grid = {"C": [0.1, 1.0, 10.0]}
    known = GridSearchCV(LogisticRegression(), grid, cv=2).fit(X, Y)
    for name, values in known.cv_results_.items():
        name = name.replace("param_C", "param_step_size")
        if not name.startswith("split1"):
            got = search.cv_results_[name]
            assert type(got) is type(values)
            assert len(got) == 3
            assert getattr(got, "dtype", None) == getattr(values, "dtype", None)
    for name, value in vars(known).items():
        if name.startswith(("best_", "refit_time")):
            assert np.shape(getattr(search, name)) == np.shape(value)
    assert search.n_candidates_ == 3


def test_results_make_a_frame(search):
    frame = pd.DataFrame(search.cv_results_)
    assert list(frame["param_step_size"]) == GRID["step_size"]
    assert (frame["mean_test_score"] == -frame["ksd"]).all()
    assert (frame["ess"].diff().dropna() > 0).all()  # largest where the bias is
    assert (frame["ksd"] > 0.5 * frame["ksd_floor"]).all()
    assert (frame["n_iter"] == 110).all() and (frame["status"] == "ok").all()
    assert (frame["mean_fit_time"] > 0).all() and (frame["mean_score_time"] > 0).all()


def test_slow_mixing_and_bias_both_lose(search):
    assert search.best_index_ == 1
    assert search.best_params_ == {"step_size": 0.3}
    assert search.best_score_ == search.cv_results_["mean_test_score"][1]
    assert search.cv_results_["rank_test_score"][1] == 1


def test_best_estimator(search):
    best = search.best_estimator_
    assert best.step_size == 0.3 and best.n_draws == 100
    np.testing.assert_array_equal(search.predict(X), best.predict(X))
    np.testing.assert_array_equal(search.predict_proba(X), best.predict_proba(X))
    assert search.predict_proba_samples(X[:2]).shape == (2, 100, 2, 2)
    assert search.score(X, Y) == best.score(X, Y)
    assert search.n_features_in_ == 3 and list(search.classes_) == [0, 1]
    assert is_classifier(search) and not hasattr(search, "transform")
    assert best.ksd() < 1.2 * -search.best_score_


def test_other_parameters_and_several_grids():
    grids = [
        {"sampler": [SGLD(), LeimkuhlerMatthews()], "batch_size": [50]},
        {"sampler": ["sgld-lm"]},
    ]
    estimator = SGMCMCLogisticRegression(n_draws=20, thin=1, n_chains=2)
    search = KSDStepSizeSearch(estimator, grids, random_state=0).fit(X, Y)
    sizes = search.cv_results_["param_batch_size"]
    np.testing.assert_array_equal(sizes.mask, [False, False, True])
    assert sizes[0] == 50
    samplers = search.cv_results_["param_sampler"]
    assert samplers.dtype == object and samplers[2] == "sgld-lm"
    assert [p["sampler"] for p in search.cv_results_["params"]] == list(samplers)


def test_pipeline_with_frame():
    frame = pd.DataFrame(X * [1, 100, 0.01], columns=["a", "b", "c"])
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", clone(SHORT))])
    search = KSDStepSizeSearch(pipeline, {"clf__step_size": [0.01, 0.5]})
    search.fit(frame, Y)
    assert search.best_params_ == {"clf__step_size": 0.5}
    assert search.best_estimator_["clf"].step_size == 0.5
    assert list(search.feature_names_in_) == ["a", "b", "c"]
    last = search.best_estimator_["clf"]
    assert last.ksd() > 0 and search.score(frame, Y) > 0.5


def test_default_grid_is_around_the_automatic_step():
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", clone(SHORT))])
    pipeline.set_params(clf__n_draws=20, clf__step_size=1e-9, clf__random_state=1)
    search = KSDStepSizeSearch(pipeline, random_state=0).fit(X, Y)
    tried = search.cv_results_["param_clf__step_size"].data
    auto = clone(pipeline).set_params(clf__step_size="auto")
    h = auto.fit(X, Y)["clf"].step_size_
    np.testing.assert_allclose(tried, h * DEFAULT_GRID)
    assert search.n_candidates_ == len(DEFAULT_GRID)


@pytest.mark.parametrize(
    ("own", "n_iter", "expected"),
    [
        ({"thin": 1}, None, (100, 1, 10)),
        ({}, 1000, (100, 10, 100)),
        ({}, 250, (83, 3, 25)),
        ({"thin": 3}, 40, (40, 1, 4)),
        ({"thin": 3, "burn_in": 7}, None, (100, 3, 7)),
    ],
)
def test_candidates_have_equal_length(own, n_iter, expected):
    seen = []

    class Spy(SGLDLogisticRegression):
        def fit(self, X, y):
            seen.append((self.n_draws, self.thin, self.burn_in))
            return super().fit(X, y)

    spy = Spy(sampler="sgld", n_draws=100, n_chains=1, random_state=0, **own)
    search = KSDStepSizeSearch(spy, {"step_size": [0.1, 1.0]}, n_iter=n_iter)
    search.fit(X, Y)
    assert seen[:2] == [expected, expected]
    assert seen[2] == (100, own.get("thin", "auto"), own.get("burn_in", "auto"))
    n_draws, thin, burn_in = expected
    assert (search.cv_results_["n_iter"] == n_draws * thin + burn_in).all()


@pytest.mark.parametrize("sizes", [[50, 100], [10**9, 50]])
def test_automatic_thinning_is_that_of_the_automatic_step(sizes):
    """The first candidate that does not fail tells how long all of them run."""
    estimator = SGLDLogisticRegression(n_draws=20, n_chains=1, random_state=0)
    auto = clone(estimator).set_params(batch_size=50).fit(X, Y)
    assert auto.thin_ > 1
    grid = {"batch_size": sizes, "step_size": [0.2, 0.4]}
    search = KSDStepSizeSearch(estimator, grid, refit=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FitFailedWarning)
        results = search.fit(X, Y).cv_results_
    ran = results["n_iter"][results["status"] == "ok"]
    assert len(ran) >= 2 and (ran == 22 * auto.thin_).all()


def test_candidates_share_what_does_not_depend_on_the_step(monkeypatch):
    """One search for the mode, and the draws of a fit that shares nothing."""
    modes = []
    find_mode = exploring.find_mode

    def counted(*args):
        modes.append(find_mode(*args))
        return modes[-1]

    monkeypatch.setattr(exploring, "find_mode", counted)
    grid = {"step_size": [0.1, 0.3, 0.5, 1.0, 1.5, 2.0], "n_chains": [2, 4]}
    options = {"refit": False, "random_state": 0}
    halving = KSDStepSizeSearch(SHORT, grid, strategy="halving", **options).fit(X, Y)
    assert len(modes) == 2  # one for each number of chains
    last = halving.cv_results_["iter"] == 2
    chosen = halving.cv_results_["params"][int(np.argmax(last))]
    seed = np.random.RandomState(0).randint(2**31, size=2)[0]
    alone = clone(SHORT).set_params(random_state=seed, burn_in=10, **chosen).fit(X, Y)
    np.testing.assert_allclose(halving.cv_results_["ksd"][last][0], alone.ksd())


@pytest.mark.parametrize(
    "name", ["prior_variance", "temperature", "fit_intercept", "class_weight"]
)
def test_parameters_of_the_posterior_are_refused(name):
    grid = [{"step_size": [0.3]}, {"step_size": [0.3], name: [0.5, 1.0]}]
    search = KSDStepSizeSearch(SHORT, grid)
    with pytest.raises(ValueError, match=f"tunes '{name}', which changes .*step_size"):
        search.fit(X, Y)
    assert_untouched(search)


@pytest.mark.parametrize(
    "name", ["scale__with_std", "scale", "clf__prior_variance", "clf"]
)
def test_steps_of_a_pipeline_that_change_the_posterior_are_refused(name):
    pipeline = Pipeline([("scale", StandardScaler()), ("clf", SHORT)])
    search = KSDStepSizeSearch(pipeline, {name: [None], "clf__step_size": [0.3]})
    with pytest.raises(ValueError, match=f"tunes '{name}'.*'clf__step_size'"):
        search.fit(X, Y)


@pytest.mark.parametrize("kind", ESTIMATORS, ids=lambda kind: kind.__name__)
def test_parameters_of_every_estimator_are_of_the_sampling_or_of_the_posterior(kind):
    """A new parameter has to be put on one of two lists: SAMPLING, or this one."""
    posterior = {
        *("temperature", "prior_variance", "fit_intercept", "class_weight"),
        *("intercept_variance", "prior", "positive", "bounds"),
        *("hidden_layer_sizes", "activation", "weight_precision", "noise_precision"),
        "noise",
        *("n_factors", "biases", "noise_dof", "precision_prior", "hyperparameters"),
        *("user_features", "item_features", "rating_range"),
        *("implicit_sets", "feedback", "unobserved_weight", "context"),
    }
    assert not posterior & SAMPLING
    assert set(kind().get_params()) <= posterior | SAMPLING


# Halving
@pytest.mark.parametrize(
    "sampler", ["sgld", pytest.param("sgld-lm", marks=pytest.mark.long)]
)
def test_halving_is_cheaper_and_as_good(sampler):
    """4 times fewer iterations than the grid, a KSD within 5 % of its best."""
    estimator = SGLDLogisticRegression(sampler=sampler, n_draws=400, thin=1)
    steps = {"step_size": np.geomspace(0.01, 3.9, 20)}
    ran = {
        strategy: KSDStepSizeSearch(
            estimator, steps, strategy=strategy, refit=False, random_state=0
        ).fit(X, Y)
        for strategy in ("grid", "halving")
    }
    grid, halving = ran["grid"].cv_results_, ran["halving"].cv_results_
    assert grid["n_iter"].sum() >= 3.9 * halving["n_iter"].sum()
    assert ran["halving"].best_score_ >= 1.05 * ran["grid"].best_score_
    assert halving["iter"][ran["halving"].best_index_] == 2
    np.testing.assert_array_equal(np.bincount(halving["iter"]), [13, 5, 2])
    last = halving["iter"] == 2
    np.testing.assert_allclose(halving["ksd"][last], grid["ksd"][last])
    assert sorted(halving["rank_test_score"][last]) == [1, 2]
    assert ran["halving"].n_candidates_ == len(halving["params"]) == 20


def test_halving_is_deterministic_and_drops_what_diverges():
    steps = {"step_size": [0.01, 0.1, 0.5, 1.0, 60.0, 70.0]}
    options = {"strategy": "halving", "refit": False, "random_state": 3}
    first, second = (
        KSDStepSizeSearch(SHORT, steps, **options).fit(X, Y).cv_results_
        for _ in range(2)
    )
    np.testing.assert_array_equal(first["ksd"], second["ksd"])
    assert list(first["status"]) == ["ok"] * 4 + ["diverged"] * 2
    assert list(first["rank_test_score"][4:]) == [5, 5]


# Failures
def test_divergence_is_an_error_score(recwarn):
    search = KSDStepSizeSearch(SHORT, TOO_LARGE, random_state=0).fit(X, Y)
    assert list(search.cv_results_["status"]) == ["ok", "diverged", "ok"]
    assert np.isnan(search.cv_results_["mean_test_score"][1])
    assert np.isnan(search.cv_results_["ksd"][1])
    assert search.cv_results_["rank_test_score"][1] == 3
    assert not recwarn.list


def test_steps_above_the_limit_are_reported_for_the_refit_only(recwarn):
    steps = {"step_size": [0.3, 4.2, 4.4]}
    search = KSDStepSizeSearch(SHORT, steps, random_state=0).fit(X, Y)
    assert list(search.cv_results_["status"]) == ["ok"] * 3 and search.best_index_ == 0
    assert not recwarn.list
    search.set_params(refit=lambda results: 2)
    with pytest.warns(ConvergenceWarning, match=r"step_size=4.4 is above"):
        search.fit(X, Y)


def test_failures_rank_last_whatever_their_score():
    search = KSDStepSizeSearch(SHORT, TOO_LARGE, error_score=0.0, random_state=0)
    results = search.fit(X, Y).cv_results_
    assert results["mean_test_score"][1] == 0.0
    assert results["rank_test_score"][1] == 3 and search.best_index_ != 1


def test_error_score_may_raise():
    search = KSDStepSizeSearch(SHORT, TOO_LARGE, error_score="raise")
    with pytest.raises(DivergenceError, match="step_size=50"):
        search.fit(X, Y)


def test_failure_warns():
    search = KSDStepSizeSearch(SHORT, {"batch_size": [100, 10**9]}, refit=False)
    with pytest.warns(FitFailedWarning, match="1 of 2 .*batch_size=1000000000"):
        search.fit(X, Y)
    assert list(search.cv_results_["status"]) == ["ok", "failed"]


def test_all_fail():
    search = KSDStepSizeSearch(SHORT, {"step_size": [100.0, 200.0]})
    with pytest.raises(DivergenceError, match="All 2 candidates failed"):
        search.fit(X, Y)
    assert not hasattr(search, "cv_results_") and not hasattr(search, "n_candidates_")


# Seeds and backends
def test_seeds():
    grid = {"step_size": [0.3, 0.3]}
    search = KSDStepSizeSearch(SHORT, grid, random_state=0).fit(X, Y)
    ksd = search.cv_results_["ksd"]
    assert ksd[0] == ksd[1]  # candidates share their seed
    again = KSDStepSizeSearch(SHORT, grid, random_state=0).fit(X, Y)
    samples = search.best_estimator_.samples_
    np.testing.assert_array_equal(again.best_estimator_.samples_, samples)
    other = KSDStepSizeSearch(SHORT, grid, random_state=1).fit(X, Y)
    assert other.cv_results_["ksd"][0] != ksd[0]
    seeded = clone(SHORT).set_params(random_state=7)
    own = [KSDStepSizeSearch(seeded, grid, random_state=s).fit(X, Y) for s in (0, 1)]
    assert own[0].cv_results_["ksd"][0] == own[1].cv_results_["ksd"][0]
    assert own[0].best_estimator_.random_state == 7
    assert search.estimator.random_state is None


def test_refit_has_a_seed_of_its_own():
    fixed = clone(SHORT).set_params(thin=1, burn_in=10)
    search = KSDStepSizeSearch(fixed, {"step_size": [0.3]}, random_state=0).fit(X, Y)
    assert search.best_estimator_.ksd() != -search.best_score_


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_backends_give_the_same_results(search, backend):
    with joblib.parallel_config(backend):
        again = KSDStepSizeSearch(SHORT, GRID, n_jobs=2, random_state=1).fit(X, Y)
    # The draws are equal; matrix products round by where their arrays lie in memory.
    for name in ("ksd", "ksd_floor", "ess", "n_iter"):
        np.testing.assert_allclose(
            search.cv_results_[name], again.cv_results_[name], rtol=1e-12
        )


# scikit-learn's manners
def test_without_refit():
    search = KSDStepSizeSearch(SHORT, GRID, refit=False, random_state=0).fit(X, Y)
    assert search.best_params_ == {"step_size": 0.3}
    for name in ("predict", "predict_proba", "score", "n_features_in_", "classes_"):
        assert not hasattr(search, name)


def test_refit_by_a_rule_of_ones_own():
    def most_effective(results):
        return int(np.argmax(results["ess"]))

    search = KSDStepSizeSearch(SHORT, GRID, refit=most_effective, random_state=0)
    with pytest.warns(ConvergenceWarning, match="too wide"):  # of the largest steps
        search.fit(X, Y)
    assert search.best_index_ == 2 and search.best_estimator_.step_size == 3.5
    assert not hasattr(search, "best_score_")


def test_refit_rule_must_return_an_index():
    with pytest.raises(ValueError, match="index of one of the 3 candidates"):
        KSDStepSizeSearch(SHORT, GRID, refit=lambda results: 3).fit(X, Y)


def test_methods_before_fit():
    search = KSDStepSizeSearch(SHORT, GRID)
    assert hasattr(search, "predict_proba") and not hasattr(search, "transform")
    with pytest.raises(NotFittedError):
        search.predict(X)


def test_saved_search_predicts(search):
    copy = pickle.loads(pickle.dumps(search))
    np.testing.assert_array_equal(copy.predict_proba(X), search.predict_proba(X))
    assert copy.best_params_ == search.best_params_


@pytest.mark.parametrize("routing", [False, True])
def test_sample_weight_reaches_the_estimator(routing):
    keep = np.arange(300) < 200
    with sklearn.config_context(enable_metadata_routing=routing):
        estimator = clone(SHORT).set_params(random_state=0)
        if routing:
            estimator.set_fit_request(sample_weight=True)
        search = KSDStepSizeSearch(estimator, {"step_size": [0.3]})
        search.fit(X, Y, sample_weight=keep.astype(float))
    some = clone(SHORT).set_params(random_state=0).fit(X[keep], Y[keep])
    np.testing.assert_allclose(search.best_estimator_.mode_, some.mode_, atol=1e-6)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_ksd_params_are_passed_on():
    options = {"standardize": False, "max_draws": 50}
    fixed = clone(SHORT).set_params(thin=1, burn_in=10, random_state=0)
    search = KSDStepSizeSearch(fixed, {"step_size": [0.3]}, ksd_params=options)
    search.fit(X, Y)
    assert -search.best_score_ == search.best_estimator_.ksd(**options)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_verbose(capsys):
    KSDStepSizeSearch(SHORT, TOO_LARGE, random_state=0, verbose=2).fit(X, Y)
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 4
    assert lines[0].startswith("Sampling 3 candidates")
    assert "ksd=" in lines[1] and "diverged" in lines[2]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("strategy", "random"),
        ("strategy", None),
        ("strategy", 3),
        ("n_iter", 0),
        ("n_iter", 9),
        ("n_iter", -5),
        ("n_iter", True),
        ("n_iter", 2.5),
        ("n_iter", "auto"),
        ("n_jobs", 0),
        ("n_jobs", 1.5),
        ("n_jobs", "all"),
        ("refit", "ksd"),
        ("refit", None),
        ("refit", 1),
        ("error_score", "nan"),
        ("error_score", None),
        ("error_score", [0]),
        ("verbose", -1),
        ("verbose", "loud"),
        ("verbose", 0.5),
        ("ksd_params", [1]),
        ("ksd_params", "joint"),
        ("param_grid", []),
    ],
)
def test_bad_parameter(name, value):
    search = KSDStepSizeSearch(SHORT, GRID).set_params(**{name: value})
    with pytest.raises((TypeError, ValueError), match=f"^{name}=") as error:
        search.fit(X, Y)
    assert len(str(error.value).split()) >= 5
    assert_untouched(search)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"estimator": None}, "None draws no samples"),
        ({"estimator": SGLDLogisticRegression}, "draws no samples"),
        ({"estimator": LogisticRegression()}, "draws no samples"),
        ({"estimator": StandardScaler()}, "draws no samples"),
        ({"estimator": Pipeline([("clf", LogisticRegression())])}, "draws no samples"),
        ({"param_grid": 3}, "dict or a list.*3"),
        ({"param_grid": [3]}, "3"),
        ({"param_grid": {"step_size": 0.1}}, "step_size.*0.1"),
        ({"param_grid": {"step_size": []}}, "step_size.*empty|non-empty.*step_size"),
        ({"param_grid": {"step_size": "0.1"}}, "step_size.*'0.1'"),
        ({"param_grid": {"step_size": [-1.0]}}, "step_size=-1.0"),
        ({"param_grid": {"stepsize": [1.0]}}, "Invalid parameter 'stepsize'"),
        ({"param_grid": {"clf__step_size": [1.0]}}, "Invalid parameter 'clf'"),
        ({"ksd_params": {"max_draws": 1}}, "max_draws=1"),
        ({"ksd_params": {"max_draws": "all"}}, "max_draws='all'"),
        ({"ksd_params": {"max_draws": 10.0}}, "max_draws=10.0"),
        ({"ksd_params": {"beta": 1.0}}, "beta == 1.0"),
        ({"ksd_params": {"kernel": "rbf"}}, "kernel"),
        ({"random_state": "x"}, "'x'"),
        ({"refit": lambda results: "first"}, "refit returned 'first'"),
    ],
)
def test_bad_input(options, words):
    search = KSDStepSizeSearch(SHORT, {"step_size": [0.3]}).set_params(**options)
    with pytest.raises((TypeError, ValueError), match=words):
        search.fit(X, Y)
    assert_untouched(search)
