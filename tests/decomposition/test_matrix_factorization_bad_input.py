"""Every bad input of the recommender is a ValueError or TypeError with a sentence."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import make_ratings
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.samplers import SGLD, LazyLangevin
from tests.test_bad_input import assert_untouched

X, Y = make_ratings(8, 6, 20, random_state=0)

PARAMETERS = [
    ("n_factors", 0),
    ("n_factors", -3),
    ("n_factors", 2.5),
    ("n_factors", "many"),
    ("biases", 1),
    ("biases", "yes"),
    ("noise_precision", 0.0),
    ("noise_precision", -1.0),
    ("noise_precision", np.nan),
    ("noise_precision", "auto"),
    ("noise_precision", None),
    ("noise_precision", 1e300),
    ("noise_dof", 2.0),
    ("noise_dof", -1),
    ("noise_dof", "few"),
    ("precision_prior", 1.0),
    ("precision_prior", (1.0,)),
    ("precision_prior", (0.0, 1.0)),
    ("precision_prior", (1.0, 0.0)),
    ("precision_prior", (1.0, "learn")),
    ("precision_prior", None),
    ("hyperparameters", "gibbs"),
    ("hyperparameters", None),
    ("implicit_sets", "yes"),
    ("implicit_sets", None),
    ("feedback", "clicks"),
    ("feedback", None),
    ("unobserved_weight", 0.0),
    ("unobserved_weight", "low"),
    ("rating_range", (5, 1)),
    ("rating_range", (1, 1)),
    ("rating_range", 5),
    ("rating_range", ("low", "high")),
    ("rating_range", (1, np.nan)),
    ("preconditioner", "dense"),
    ("preconditioner", "fisher"),
    ("step_size", 0.0),
    ("step_size", "large"),
    ("step_size", None),
    ("gradient", "exact"),
    ("gradient", Minibatch),
    ("gradient", None),
    ("batch_size", 0),
    ("batch_size", 21),
    ("batch_size", 2.5),
    ("n_draws", 0),
    ("burn_in", -1),
    ("thin", 0),
    ("n_chains", 0),
    ("schedule", "linear"),
    ("temperature", 0.0),
    ("noise_correction", "yes"),
    ("dtype", "float16"),
    ("dtype", float),
    ("storage_dtype", "int8"),
    ("context", ["labels"]),
    ("sampler", "nuts"),
    ("sampler", SGLD),
    ("warm_start", "no"),
    ("n_jobs", 0),
    ("verbose", -1),
]


def test_forty_cases():
    assert len(PARAMETERS) >= 40


@pytest.mark.parametrize("name, value", PARAMETERS)
def test_parameter(name, value):
    model = SGBPMFRecommender(n_factors=2).set_params(**{name: value})
    with pytest.raises((ValueError, TypeError), match=f"^{name}=.*") as error:
        model.fit(X, Y)
    assert len(str(error.value).split()) >= 5
    assert_untouched(model)


def test_a_step_in_the_units_of_no_preconditioner():
    model = SGBPMFRecommender(preconditioner="none")
    with pytest.raises(ValueError, match="step_size='auto'.*must be a number"):
        model.fit(X, Y)


def test_lazy_steps_with_a_moving_prior():
    model = SGBPMFRecommender(sampler=LazyLangevin(), hyperparameters="log-scale")
    with pytest.raises(ValueError, match="^sampler=LazyLangevin.*conjugate"):
        model.fit(X, Y)


MISSING = pd.DataFrame({"user": ["a", None], "item": [1, 2]})
DATA = {
    "one-dimensional X": (X[:, 0], Y, None, "2D array"),
    "three-dimensional X": (np.zeros((20, 2, 2)), Y, None, "2D array"),
    "one column": (X[:, :1], Y, None, "1 feature"),
    "the ratings in X": (np.column_stack([X, Y]), Y, None, "column 2 of X"),
    "no rows": (X[:0], Y[:0], None, "0 sample"),
    "a single pair": ((1, 2), Y[:1], None, r"\[\(user, item\)\]"),
    "a pair of words": (["ab", "cd"], Y[:2], None, r"\[\(user, item\)\]"),
    "ragged rows": ([(1, 2), (1,)], Y[:2], None, "row"),
    "sparse X": (sp.csr_array(X), Y, None, "fit_matrix"),
    "NaN label": (np.where(X == X[0, 0], np.nan, X), Y, None, "missing"),
    "infinite label": (np.where(X == X[0, 0], np.inf, X), Y, None, "infinity"),
    "complex label": (X + 1j, Y, None, "Complex"),
    "None label": ([("a", None), ("b", "c")], Y[:2], None, "missing"),
    "missing in a frame": (MISSING, Y[:2], None, "missing"),
    "unhashable label": ([("a", [1]), ("b", [2])], Y[:2], None, "hashed"),
    "no y": (X, None, None, "requires y"),
    "y too short": (X, Y[:-1], None, "inconsistent"),
    "NaN rating": (X, np.where(Y > 3, np.nan, Y), None, "NaN"),
    "huge ratings": (X, 1e200 * Y, None, "y holds values up to .*larger units"),
    "infinite rating": (X, np.where(Y > 3, np.inf, Y), None, "infinity"),
    "text ratings": (X, ["good"] * 20, None, "good"),
    "matrix of ratings": (X, np.tile(Y, (2, 1)).T, None, "1d array"),
    "negative weight": (X, Y, -np.ones(20), "sample_weight"),
    "zero weights": (X, Y, np.zeros(20), "sample_weight"),
    "short weights": (X, Y, np.ones(19), "sample_weight"),
}


@pytest.mark.parametrize("case", DATA)
def test_data(case):
    bad_X, bad_y, weight, words = DATA[case]
    model = SGBPMFRecommender(n_factors=2)
    with pytest.raises((ValueError, TypeError), match=words):
        model.fit(bad_X, bad_y, sample_weight=weight)
    assert_untouched(model)


FEATURES = {
    "no labels": (np.zeros((8, 2)), "data frame"),
    "no rows": (([], np.zeros((0, 2))), "a row for each label"),
    "too few rows": ((np.arange(8), np.zeros((7, 2))), "a row for each label"),
    "label twice": (([0, 0], np.zeros((2, 2))), "distinct"),
    "NaN": (([0, 1], [[np.nan], [1.0]]), "NaN"),
    "text": (([0, 1], [["a"], ["b"]]), "numbers"),
    "others' labels": ((["a", "b"], np.zeros((2, 1))), "any label in X.*like 'a'"),
    "others' numbers": (([99, 98], np.zeros((2, 1))), "any label in X.*like 98"),
    "missing label": (([0, None], np.zeros((2, 1))), "missing"),
}


@pytest.mark.parametrize("case", FEATURES)
@pytest.mark.parametrize("name", ["user_features", "item_features"])
def test_features(name, case):
    features, words = FEATURES[case]
    model = SGBPMFRecommender(n_factors=2, **{name: features})
    with pytest.raises((ValueError, TypeError), match=words) as error:
        model.fit(X, Y)
    if "missing" not in case:
        assert name in str(error.value)
    assert_untouched(model)


def test_dense_matrix_of_ratings():
    with pytest.raises(TypeError, match="R is of type ndarray.*sparse"):
        SGBPMFRecommender().fit_matrix(np.eye(3))


@pytest.fixture(scope="module")
def model():
    return SGBPMFRecommender(n_factors=2, n_draws=5, random_state=0).fit(X, Y)


@pytest.mark.parametrize(
    "call, words",
    [
        (lambda model: model.predict(X[:, :1]), "1 feature"),
        (lambda model: model.predict(X[:0]), "0 sample"),
        (lambda model: model.predict_interval(X, 1.0), "level=1.0"),
        (lambda model: model.predict_interval(X, 0), "level=0"),
        (lambda model: model.recommend(0, n=0), "n=0"),
        (lambda model: model.recommend(0, n=2.5), "n=2.5"),
        (lambda model: model.recommend(0, filter_seen=3), "filter_seen=3"),
        (lambda model: model.recommend([]), "at least one"),
        (lambda model: model.recommend(None), "missing"),
        (lambda model: model.similar_items("x"), "items='x'"),
        (lambda model: model.ksd(max_draws=1), "max_draws=1"),
    ],
)
@pytest.mark.filterwarnings("ignore:labels of type")
def test_bad_questions(model, call, words):
    with pytest.raises((ValueError, TypeError), match=words):
        call(model)


def test_failed_refit_keeps_the_first_fit():
    model = SGBPMFRecommender(n_factors=2, n_draws=5, random_state=0).fit(X, Y)
    before = model.predict(X)
    with pytest.raises(ValueError):
        model.fit(X + 100, np.where(Y > 3, np.nan, Y))
    np.testing.assert_array_equal(model.predict(X), before)
