"""The recommender: its predictions, its labels, and inside scikit-learn's tools."""

import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from scipy.special import ndtr
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import r2_score
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    PredefinedSplit,
    cross_val_predict,
    cross_val_score,
)

from skbayes_sg import DivergenceError, KSDStepSizeSearch, SGBPMFRecommender
from skbayes_sg.datasets import fetch_movielens_100k, make_ratings
from skbayes_sg.inference.exploration import explore
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.samplers import LazyLangevin
from tests.decomposition.gibbs import Gibbs, gibbs_predictions
from tests.kernels.conftest import skip_compiler


def quick(**parameters):
    defaults = dict(n_factors=3, n_draws=50, n_chains=2, random_state=0)
    return SGBPMFRecommender(**{**defaults, **parameters})


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(40, 30, 700, n_factors=3, noise_std=0.5, random_state=0)


@pytest.fixture(scope="module")
def model(ratings):
    return quick().fit(*ratings)


@pytest.fixture(scope="module")
def movielens(data_dir):
    return fetch_movielens_100k(data_home=data_dir, download_if_missing=False)


def features_of(movielens):
    return {
        "user_features": (np.arange(1, 944), movielens.user_features),
        "item_features": (np.arange(1, 1683), movielens.item_features),
    }


def fold_quality(model, movielens, fold):
    """Return root mean square error and coverage of 90 % intervals on a fold."""
    test = movielens.test_fold == fold
    model.fit(movielens.data[~test], movielens.target[~test])
    y, X = movielens.target[test], movielens.data[test]
    low, high = model.predict_interval(X, 0.9).T
    error = np.sqrt(np.mean((model.predict(X) - y) ** 2))
    return error, np.mean((low <= y) & (y <= high))


# Against exact conditionals
def compare_with_gibbs(model, X, y, test, n_burn, n_sweeps):
    """Return errors of both, correlation of their means, and the ratios of their sds.

    `test` selects ratings that neither sees; all labels occur in the others.
    """
    users, items = (np.unique(x, return_inverse=True)[1] for x in X.T)
    variance, d = np.var(y[~test]), model.n_factors
    rate = 0.1 * np.array([variance**0.5] * d + [variance])
    chain = Gibbs(users[~test], items[~test], y[~test], d, rate=rate)
    codes = np.stack([users, items], axis=1)
    mean, sd = gibbs_predictions(chain, codes[test], n_burn, n_sweeps)
    mean = np.clip(mean, *model.rating_range_)
    ours, our_sd = model.predict(X[test], return_std=True)
    errors = [np.sqrt(np.mean((m - y[test]) ** 2)) for m in (ours, mean)]
    return *errors, np.corrcoef(ours, mean)[0, 1], our_sd / sd


def known_test(X, share, seed=0):
    """Return a random test set of ratings whose user and item have others."""
    test = np.random.default_rng(seed).random(len(X)) < share
    for column in X.T:
        test &= np.isin(column, column[~test])
    return test


def test_predictions_are_those_of_gibbs_sampling():
    X, y = make_ratings(25, 20, 350, n_factors=2, noise_std=0.7, random_state=1)
    test = known_test(X, 0.2)
    model = quick(n_factors=2, n_draws=1000).fit(X[~test], y[~test])
    ours, theirs, correlation, ratio = compare_with_gibbs(model, X, y, test, 100, 1000)
    assert correlation > 0.995
    assert abs(ours - theirs) < 0.01  # 70 ratings: Monte Carlo error of 0.002 to 0.004
    assert 0.97 < ratio.mean() < 1.03
    assert ratio.std() < 0.03


@pytest.mark.long
def test_predictions_on_movielens_are_those_of_gibbs_sampling(movielens):
    X, y, test = movielens.data, movielens.target, movielens.test_fold == 0
    for column in X.T:
        keep = np.isin(column, column[~test])
        X, y, test = X[keep], y[keep], test[keep]
    model = SGBPMFRecommender(random_state=0, n_draws=400).fit(X[~test], y[~test])
    ours, theirs, correlation, ratio = compare_with_gibbs(model, X, y, test, 50, 400)
    assert correlation > 0.995
    assert abs(ours - theirs) < 0.002
    assert 0.98 < ratio.mean() < 1.02


def test_quality_on_movielens(movielens):
    # Fold u1, the hardest of five; SMURFF's Gibbs sampler has 0.905 on it.
    error, coverage = fold_quality(
        SGBPMFRecommender(random_state=0, n_draws=30), movielens, 0
    )
    assert error < 0.903
    assert 0.88 < coverage < 0.92


@pytest.mark.long
@pytest.mark.parametrize("with_features, limit", [(False, 0.896), (True, 0.888)])
def test_quality_on_all_folds_of_movielens(movielens, with_features, limit):
    features = features_of(movielens) if with_features else {}
    model = SGBPMFRecommender(random_state=0, **features)
    errors, coverages = zip(
        *(fold_quality(model, movielens, fold) for fold in range(5)), strict=True
    )
    assert np.mean(errors) <= limit
    assert 0.88 <= np.mean(coverages) <= 0.92


PARTS = {
    "sgld": {"sampler": "sgld", "gradient": "minibatch"},
    "sgld-cv": {"sampler": "sgld", "gradient": "cv"},
    "sghmc": {"sampler": "sghmc", "gradient": "minibatch"},
    "sghmc-cv": {"sampler": "sghmc", "gradient": "cv"},
    "sgnht": {"sampler": "sgnht", "gradient": "minibatch"},
    "default sampler": {"gradient": "minibatch"},
    "lazy": {"sampler": LazyLangevin(), "gradient": "minibatch"},
    "instances": {"gradient": Minibatch(5)},
    "log scale": {"hyperparameters": "log-scale", "gradient": "full"},
    "plain": {"sampler": "sgld", "preconditioner": "none", "step_size": 1e-3},
    "no biases": {"biases": False, "noise_dof": None, "noise_precision": 3.0},
}


@pytest.mark.parametrize("name", PARTS)
def test_every_algorithm_moves(name, monkeypatch):
    skip_compiler(monkeypatch)
    monkeypatch.setattr(
        "skbayes_sg.inference.exploration.matrix_factorization.MODE_STEPS", 5
    )
    X, y = make_ratings(4, 3, 10, random_state=0)
    settings = dict(n_factors=1, n_draws=3, burn_in=2, thin=1, batch_size=5)
    if "instances" in name:
        settings["batch_size"] = "auto"
    model = quick(**{**settings, **PARTS[name]}).fit(X, y)
    assert np.isfinite(model.samples_).all()
    rows = model.samples_[..., : 6 * (1 + model.biases)]
    assert np.ptp(rows, axis=1).min() > 0
    assert model.batch_size_ == (10 if name == "log scale" else 5)


@pytest.mark.long
@pytest.mark.parametrize(
    "name", ["sgld", "sgld-cv", "sghmc", "sghmc-cv", "sgnht", "lazy", "log scale"]
)
def test_every_algorithm_predicts_movielens(name, movielens):
    model = SGBPMFRecommender(random_state=0, n_draws=50, **PARTS[name])
    error, coverage = fold_quality(model, movielens, 0)
    assert error < 0.91
    assert 0.86 < coverage < 0.94


@pytest.mark.long
def test_lazy_steps_where_a_minibatch_touches_few_rows(monkeypatch):
    X, y = make_ratings(300, 200, 3000, n_factors=3, noise_std=0.5, random_state=0)
    exact = quick(n_draws=300).fit(X, y)
    few = quick(gradient="minibatch", batch_size=9, n_chains=1, thin=4000)
    lazy = clone(few).fit(X, y)
    monkeypatch.setattr(
        "skbayes_sg.inference.exploration.matrix_factorization.LAZY_SHARE", 0.0
    )
    eager = clone(few).set_params(n_draws=2).fit(X, y)
    assert not np.array_equal(lazy.samples_[:, :2], eager.samples_)
    assert np.corrcoef(lazy.predict(X), exact.predict(X))[0, 1] > 0.96
    sds = [m.predict(X, return_std=True)[1].mean() for m in (lazy, exact)]
    assert sds[0] == pytest.approx(sds[1], rel=0.03)


def test_control_variate_keeps_a_given_center(monkeypatch):
    skip_compiler(monkeypatch)
    X, y = make_ratings(4, 3, 10, random_state=0)
    center = np.zeros(2 * (len(np.unique(X[:, 0])) + len(np.unique(X[:, 1]))), "f4")
    gradient = ControlVariate(5, center)
    quick(n_factors=1, n_draws=2, gradient=gradient, burn_in=1, thin=1).fit(X, y)


# Predictions
def test_predicts_better_than_the_mean(ratings):
    X, y = ratings
    assert cross_val_score(quick(), X, y, cv=KFold(3)).min() > 0.1


def test_attributes(model, ratings):
    X, y = ratings
    np.testing.assert_array_equal(model.users_, np.unique(X[:, 0]))
    np.testing.assert_array_equal(model.items_, np.unique(X[:, 1]))
    np.testing.assert_array_equal(model.classes_, [1, 2, 3, 4, 5])
    assert model.rating_range_ == (1.0, 5.0)
    assert model.mean_rating_ == pytest.approx(y.mean())
    assert model.n_features_in_ == 2
    assert len(model._parameter_names()) == model.samples_.shape[-1]
    assert model.n_iter_ == model.burn_in_ + 50 * model.thin_


def test_the_noise_is_found_quickly():
    # 400 draws; alpha given s and t, and the reverse, would leave 46 effective ones.
    X, y = make_ratings(200, 150, 6000, n_factors=3, noise_std=0.5, random_state=0)
    table = quick(n_draws=200).fit(X, y).summary(parameters=["noise precision"])
    assert table["ess"].item() > 100


def test_summary_shows_what_does_not_turn(ratings):
    # Factors of two chains never agree, which would be a warning.
    model = quick(n_factors=2, n_draws=3).fit(*ratings)
    n, names = len(model.users_) + len(model.items_), model._parameter_names()
    assert len(set(names)) == len(names)
    with pytest.warns(ConvergenceWarning, match="noise"):  # three draws
        table = model.summary()
    assert list(table.index) == names[-1 - n :]
    expected = model.samples_.mean(axis=(0, 1))[-1 - n :]
    np.testing.assert_allclose(table["mean"], expected, rtol=1e-6)
    model.set_params(noise_precision=1.0)
    with pytest.warns(ConvergenceWarning, match="noise"):
        assert list(model.summary().index) == names[-n:]
    with pytest.raises(ValueError, match="parameters=None.*'U"):
        model.set_params(noise_dof=None).summary()


def test_same_seed_same_draws_for_any_number_of_threads(model, ratings):
    again = quick(n_jobs=2).fit(*ratings)
    np.testing.assert_array_equal(again.samples_, model.samples_)
    other = quick(random_state=1).fit(*ratings)
    assert not np.array_equal(other.samples_, model.samples_)


def test_order_of_the_ratings_does_not_matter(model, ratings):
    X, y = ratings
    reverse = quick().fit(X[::-1], y[::-1])
    np.testing.assert_allclose(reverse.predict(X), model.predict(X), atol=1e-4)


def test_score_is_r2(model, ratings):
    X, y = ratings
    assert model.score(X, y) == pytest.approx(r2_score(y, model.predict(X)))


def test_intervals_widen_with_the_level_and_stay_in_range(model, ratings):
    X, _ = ratings
    narrow, wide = model.predict_interval(X, 0.5), model.predict_interval(X, 0.9)
    assert (wide[:, 0] <= narrow[:, 0]).all()
    assert (wide[:, 1] >= narrow[:, 1]).all()
    assert wide.min() >= 1 and wide.max() <= 5


def test_probabilities_are_the_predictive_law_between_cut_points(model, ratings):
    X, y = ratings
    proba = model.predict_proba(X)
    assert proba.shape == (len(X), 5)
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-12)
    assert (proba >= 0).all()
    mean, sd = model.predict(X, return_std=True)
    inside = (mean > 1) & (mean < 5)  # where the mean is not clipped
    low, high = model.cut_points_[1:3]
    expected = ndtr((high - mean) / sd) - ndtr((low - mean) / sd)
    share = model._levels.mixed
    expected = (1 - share) * expected + share * np.mean(y == 3)
    np.testing.assert_allclose(proba[inside, 2], expected[inside], atol=1e-6)
    assert (np.diff(model.cut_points_) > 0).all()


def test_rating_range_clips(ratings):
    X, y = ratings
    model = quick(rating_range=(2.9, 3.1)).fit(X, y)
    assert model.predict(X).min() >= 2.9
    assert model.predict(X).max() <= 3.1


def test_weights_count_as_repetitions(ratings):
    # Not equal draws, but one posterior: the means agree to Monte Carlo error.
    X, y = ratings
    w = np.random.default_rng(0).integers(1, 4, len(y))
    noise = dict(noise_precision=1.0, noise_dof=None)
    weighted = quick(n_draws=300, **noise).fit(X, y, sample_weight=w)
    repeated = quick(n_draws=300, **noise)
    repeated.fit(np.repeat(X, w, axis=0), np.repeat(y, w))
    a, b = weighted.predict(X), repeated.predict(X)
    assert np.corrcoef(a, b)[0, 1] > 0.995
    assert np.abs(a - b).mean() < 0.05
    assert weighted.mean_rating_ == pytest.approx(repeated.mean_rating_)


def test_fewest_ratings():
    X, y = np.array([["u", "i"]]), [4.0]
    model = quick().fit(X, y)
    mean, sd = model.predict(X, return_std=True)
    assert mean == 4.0 and np.isfinite(sd)
    np.testing.assert_array_equal(model.predict_proba(X), [[1.0]])
    items, scores = model.recommend("u")
    assert items.tolist() == ["i"] and scores[0] == -np.inf


@pytest.mark.parametrize("seed", range(3))
def test_one_rating_for_each_user_and_item(seed):
    # The noise precision rises by much from where it starts, and the steps must follow.
    y, pairs = np.arange(30) % 3, np.stack([np.arange(30)] * 2, axis=1)
    model = quick(random_state=seed).fit(pairs, y, sample_weight=np.full(30, 3.0))
    assert np.abs(model.samples_).max() < 1000


def few_ratings():
    """Return four users' ratings of two items, four times each."""
    X = np.repeat([[1, 3], [2, 1], [3, 3], [4, 1]], 4, axis=0)
    return X, np.repeat([1, 2, 1, 2], 4)


def test_few_ratings_fit_without_restarts(monkeypatch):
    X, y = few_ratings()
    shares = []

    def counted(model, request):
        shares.append(request.share)
        return explore(model, request)

    monkeypatch.setattr("skbayes_sg.inference.fitting.explore", counted)
    for seed in range(12):
        model = quick(n_factors=2, n_draws=5, random_state=seed).fit(X, y)
        assert np.abs(model.predict(X) - y).max() < 0.4
    assert len(shares) <= 12 + 2  # one of a hundred starts again


def test_units_of_the_ratings_do_not_matter(model, ratings):
    X, y = ratings
    scaled = quick().fit(X, 1e4 * y)
    np.testing.assert_allclose(scaled.predict(X), 1e4 * model.predict(X), rtol=0.05)


@pytest.mark.parametrize("value", [100.0, 5000.0])
def test_a_rating_far_out_is_taken_for_noise(value, model, ratings):
    X, y = ratings
    y = np.where(np.arange(len(y)) == 17, value, y)
    far = quick(rating_range=(1, 5)).fit(X, y)
    others = (X != X[17]).all(axis=1)  # those of another user and of another item
    mean, sd = far.predict(X[others], return_std=True)
    expected, expected_sd = model.predict(X[others], return_std=True)
    assert np.corrcoef(mean, expected)[0, 1] > 0.97
    assert sd.mean() == pytest.approx(expected_sd.mean(), rel=0.1)
    own = far.predict(X[17:18], return_std=True)[1]
    assert own > 10 * sd.max()


# Unknown labels
def test_unknown_labels_get_the_prior_with_a_larger_std(model, ratings):
    X, y = ratings
    known = model.predict(X, return_std=True)[1].mean()
    new_user, new_item, both = X.copy(), X.copy(), np.full_like(X, 999)
    new_user[:, 0] = new_item[:, 1] = 999
    for pairs in (new_user, new_item):
        mean, sd = model.predict(pairs, return_std=True)
        assert np.isfinite(mean).all()
        assert known + 0.1 < sd.mean() < model.predict(both, return_std=True)[1][0]
    assert abs(model.predict(both)[0] - y.mean()) < 0.3


def test_unknown_pair_has_the_moments_of_the_prior(model):
    rng, draws = np.random.default_rng(0), model._factors()
    s = rng.integers(len(draws.weights), size=200_000)
    m, inverse = draws.hyper[s, :, 0], draws.hyper[s, :, 1]
    x = m + rng.normal(size=m.shape) / np.sqrt(inverse)  # rows of user and item
    signal = (x[:, 0, :3] * x[:, 1, :3]).sum(axis=1) + x[:, :, 3].sum(axis=1)
    own = rng.gamma(5.0, 1 / 5.0, size=(2, len(s)))
    noise = 1.0 / (draws.noise[s, 0] * own.prod(axis=0))
    mean, sd = model.predict([(999, 999)], return_std=True)
    assert mean[0] == pytest.approx(model.mean_rating_ + signal.mean(), abs=0.01)
    assert sd[0] == pytest.approx(np.sqrt(signal.var() + noise.mean()), rel=0.01)


def test_features_inform_about_unknown_users():
    rng = np.random.default_rng(0)
    X, y = make_ratings(60, 30, 1200, n_factors=1, bias_std=0.0, random_state=0)
    z = rng.choice([-1.0, 1.0], size=70)
    y = y + 1.5 * z[X[:, 0]]
    kind = dict(user_features=(np.arange(70), z[:, None]))
    model = quick(n_factors=1, **kind).fit(X, y)
    mean = model.predict([(60 + k, X[0, 1]) for k in range(10)])
    assert mean[z[60:] > 0].min() > mean[z[60:] < 0].max() + 1.0
    sparse = quick(
        n_factors=1, user_features=(np.arange(70), sp.csr_array(z[:, None]))
    ).fit(X, y)
    np.testing.assert_array_equal(sparse.samples_, model.samples_)
    frame = quick(n_factors=1, user_features=pd.DataFrame({"z": z})).fit(X, y)
    np.testing.assert_array_equal(frame.samples_, model.samples_)
    assert len(model._parameter_names()) == model.samples_.shape[-1]


# Labels
@pytest.mark.parametrize(
    "convert",
    [
        lambda X: X.astype(np.int32),
        lambda X: X.astype(float),
        lambda X: X.tolist(),
        lambda X: X.astype(object),
        lambda X: np.char.mod("%03d", X),
        lambda X: np.char.mod("%03d", X).astype(object),
        lambda X: [(("user", int(u)), int(i)) for u, i in X],
        lambda X: pd.DataFrame(X, columns=["user", "item"]),
        lambda X: pd.DataFrame(X, columns=["user", "item"]).assign(
            item=lambda frame: [f"{i:03d}" for i in frame["item"]]
        ),
        lambda X: pd.DataFrame(X, columns=["user", "item"]).astype(
            {"user": "category", "item": "string"}
        ),
        lambda X: pl.DataFrame(X, schema=["user", "item"], orient="row"),
    ],
)
def test_labels_of_any_kind(convert, model, ratings):
    X, y = ratings
    converted = convert(X)
    other = quick(n_draws=2).fit(converted, y)
    assert len(other.users_) == len(model.users_)
    mean, sd = other.predict(converted, return_std=True)
    assert np.corrcoef(mean, y)[0, 1] > 0.4  # no label was unknown
    items, scores = other.recommend(other.users_[:2], n=3)
    assert set(items.ravel().tolist()) <= set(other.items_.tolist())


def test_labels_of_another_type_are_unknown_with_a_warning(model, ratings):
    X, _ = ratings
    with pytest.warns(UserWarning, match="count as unknown"):
        mean = model.predict(X[:3].astype(str))
    assert np.isfinite(mean).all()


def test_sparse_matrix_of_ratings(ratings):
    X, y = ratings
    R = sp.csr_array((y, X.T), shape=(40, 30))
    model, pairs = quick().fit_matrix(R), quick().fit(X, y)
    np.testing.assert_allclose(model.predict(X), pairs.predict(X), atol=1e-4)
    assert model.users_.max() < 40


# Recommendations
def test_recommendations_are_the_best_predictions(model, ratings):
    X, _ = ratings
    user = X[0, 0]
    items, scores, sds = model.recommend(user, n=5, filter_seen=False, return_std=True)
    mean, sd = model._predictive([(user, item) for item in model.items_])
    best = np.argsort(-mean)[:5]
    np.testing.assert_array_equal(items, model.items_[best])
    np.testing.assert_allclose(scores, mean[best], rtol=1e-5)
    np.testing.assert_allclose(sds, sd[best], rtol=1e-5)


def test_recommendations_have_the_shape_that_implicit_gives(model, ratings):
    X, _ = ratings
    users = model.users_[:3]
    items, scores = model.recommend(users, n=4)
    assert items.shape == scores.shape == (3, 4)
    assert (np.diff(scores, axis=1) <= 0).all()
    for user, row in zip(users, items, strict=True):
        assert not set(row) & set(X[X[:, 0] == user, 1])
        one, _ = model.recommend(user, n=4)
        np.testing.assert_array_equal(one, row)
    assert model.recommend(users, n=1000)[0].shape == (3, len(model.items_))


def test_recommendations_for_unknown_users_are_the_popular_items(model):
    (first, second), _ = model.recommend([998, 999], n=3)
    np.testing.assert_array_equal(first, second)


def test_seen_items_fill_up_the_end(model, ratings):
    X, _ = ratings
    user, counts = np.unique(X[:, 0], return_counts=True)
    busy, n_seen = user[counts.argmax()], counts.max()
    items, scores = model.recommend(busy, n=len(model.items_))
    assert np.isinf(scores).sum() == n_seen
    assert set(items[np.isinf(scores)]) == set(X[X[:, 0] == busy, 1])


def test_recommendations_in_blocks_are_the_same(model, monkeypatch):
    whole = model.recommend(model.users_, n=3)
    monkeypatch.setattr("skbayes_sg.decomposition._recommendations.CELLS_AT_ONCE", 100)
    for a, b in zip(whole, model.recommend(model.users_, n=3), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-5)


def test_similar_items(model):
    items, scores = model.similar_items(model.items_[3], n=4)
    assert items[0] == model.items_[3] and scores[0] == pytest.approx(1.0)
    assert (np.diff(scores) <= 0).all()
    many, many_scores = model.similar_items(model.items_[:3], n=4)
    assert many.shape == many_scores.shape == (3, 4)
    with pytest.raises(ValueError, match="items=999"):
        model.similar_items(999)


# Inside scikit-learn's tools
def test_pickle_and_clone(model, ratings):
    X, _ = ratings
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.predict(X), model.predict(X))
    np.testing.assert_array_equal(
        copy.recommend(X[0, 0])[0], model.recommend(X[0, 0])[0]
    )
    with pytest.raises(ValueError, match="training data"):
        copy.ksd()
    assert not hasattr(clone(model), "samples_")


def test_cross_validation_and_grid_search(ratings):
    X, y = ratings
    folds = PredefinedSplit(np.arange(len(y)) % 3)
    predicted = cross_val_predict(quick(n_draws=10), X, y, cv=folds)
    assert np.corrcoef(predicted, y)[0, 1] > 0.3
    search = GridSearchCV(
        quick(n_draws=10), {"n_factors": [1, 3]}, cv=folds, error_score="raise"
    ).fit(X, y)
    assert search.best_estimator_.predict(X[:2]).shape == (2,)


def test_search_for_a_step_size(ratings):
    X, y = ratings
    grid = {"step_size": [0.01, 1.0]}
    search = KSDStepSizeSearch(
        quick(n_draws="auto"), grid, n_iter=300, random_state=0
    ).fit(X, y)
    assert search.best_params_["step_size"] == 1.0  # the other has hardly moved
    assert search.predict(X[:2]).shape == (2,)


def test_ksd_sees_that_the_temperature_is_wrong(model, ratings):
    hot = quick(temperature=2.0).fit(*ratings)
    assert hot._representative_draws(50).std() > model._representative_draws(50).std()
    hot._model = model._model  # its draws, judged as those of the posterior
    ksd, floor = model.ksd(return_floor=True)
    assert ksd < hot.ksd()
    assert np.isfinite(floor)


def test_warm_start_goes_on_bit_by_bit(ratings):
    X, y = ratings  # automatic lengths depend on the number of draws
    whole = quick(n_draws=30, thin=10).fit(X, y).samples_
    model = quick(n_draws=10, thin=10, warm_start=True).fit(X, y)
    first = model.samples_
    model.set_params(n_draws=20).fit(X, y)
    np.testing.assert_array_equal(np.hstack([first, model.samples_]), whole)
    model.fit(X, y + 1)  # other ratings: from the last draws on
    assert model.mean_rating_ == pytest.approx(y.mean() + 1)
    fewer = X[:, 0] < 30
    model.fit(X[fewer], y[fewer])  # other users: it starts anew
    assert len(model.users_) < 40


def in_sampling(*args):
    """Whether a chunk is one of sampling, which records 20 draws in the fits below."""
    return args[11].shape[0] == 20


@pytest.mark.parametrize(
    "parts",
    [
        {},
        pytest.param({"batch_size": 100}, marks=pytest.mark.long),
        pytest.param({"hyperparameters": "log-scale"}, marks=pytest.mark.long),
    ],
)
def test_checkpoint_goes_on_to_the_same_draws(ratings, stop_after, tmp_path, parts):
    model = quick(n_draws=20, n_chains=1, burn_in=10, thin=2, **parts)
    whole = clone(model).fit(*ratings)
    model.set_params(checkpoint=tmp_path)

    stop_after(30, lambda: model.fit(*ratings), counts=in_sampling)
    assert not hasattr(model, "samples_")
    stop_after(10, lambda: model.fit(*ratings), counts=in_sampling)
    model.fit(*ratings)
    np.testing.assert_array_equal(model.samples_, whole.samples_)
    with pytest.raises(ValueError, match="belongs to another run"):
        clone(model).set_params(random_state=1).fit(*ratings)


@pytest.mark.parametrize("warm_start", [False, True])
def test_interrupt_keeps_the_draws_if_asked_to(ratings, stop_after, warm_start):
    model = quick(n_draws=20, n_chains=1, burn_in=10, thin=2, warm_start=warm_start)
    stop_after(40, lambda: model.fit(*ratings), KeyboardInterrupt, in_sampling)
    assert hasattr(model, "samples_") == warm_start
    if warm_start:
        assert model.samples_.shape[1] == 15
        assert model.predict(ratings[0]).shape == ratings[1].shape
        assert model.fit(*ratings).samples_.shape[1] == 20


def test_draws_in_a_file(ratings, tmp_path):
    X, y = ratings
    stored = quick(storage=tmp_path).fit(X, y)
    assert isinstance(stored.samples_, np.memmap)
    np.testing.assert_array_equal(stored.predict(X), quick().fit(X, y).predict(X))


def test_too_large_a_step_is_a_named_error(ratings):
    with pytest.raises(DivergenceError, match="step_size=50") as error:
        quick(step_size=50.0).fit(*ratings)
    assert "y holds" not in str(error.value)
    X, y = ratings
    with pytest.raises(DivergenceError, match="step_size=50.*y holds 500,"):
        quick(step_size=50.0).fit(X, np.where(np.arange(len(y)) == 17, 500.0, y))
