"""Further columns of X: labels, bins and numbers beside user and item."""

import numpy as np
import pandas as pd
import pytest

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.decomposition._rating_model import Ratings
from skbayes_sg.inference.rating_fold_in import redraw
from skbayes_sg.inference.rating_predictions import RatingDraws, pair_moments

DAYS, NOISE = 6, 0.4


def quick(**parameters):
    defaults = dict(n_factors=2, n_draws=60, implicit_sets=False, random_state=0)
    return SGBPMFRecommender(**{**defaults, **parameters})


def frame_of(n=1500, seed=0):
    """Return ratings that depend on the user, the item, the day and a number."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(
        {
            "user": rng.integers(40, size=n),
            "item": rng.integers(30, size=n),
            "day": rng.integers(DAYS, size=n),
            "heat": rng.normal(20.0, 5.0, size=n),
        }
    )
    effects = [np.random.default_rng(9).normal(size=k) for k in (40, 30, DAYS)]
    y = sum(effect[X[name]] for effect, name in zip(effects, X.columns, strict=False))
    y = y + 0.8 * (X["heat"] - 20.0) / 5.0 + NOISE * rng.normal(size=n)
    return X, y.to_numpy(), effects[2]


@pytest.fixture(scope="module")
def data():
    return frame_of()


@pytest.fixture(scope="module")
def model(data):
    return quick().fit(*data[:2])


def test_effects_of_labels_and_numbers_are_found(model, data):
    # Errors of an effect are about NOISE / sqrt(250) = 0.025; within five of them.
    _, _, effects = data
    pairs = pd.DataFrame({"user": 0, "item": 0, "day": range(DAYS), "heat": 20.0})
    found = model.predict(pairs)
    np.testing.assert_allclose(
        found - found.mean(), effects - effects.mean(), atol=0.125
    )
    warm = model.predict(pairs.assign(heat=25.0)) - found
    np.testing.assert_allclose(warm, 0.8, atol=0.125)


def test_the_error_is_that_of_the_noise(model):
    X, y, _ = frame_of(seed=1)
    error = model.predict(X) - y
    assert np.sqrt(np.mean(error**2)) < 1.15 * NOISE
    low, high = model.predict_interval(X, 0.9).T
    assert 0.86 < np.mean((low <= y) & (y <= high)) < 0.94
    without = quick().fit(X[["user", "item"]], y)
    assert np.std(without.predict(X[["user", "item"]]) - y) > 2.0 * NOISE


def test_predictions_are_those_of_a_factorization_machine(model, data):
    X = data[0][:5]
    draws, means = model._factors(), []
    z = (X["heat"] - data[0]["heat"].mean()) / data[0]["heat"].std(ddof=0)
    for x in draws.rows:
        firsts = np.cumsum([0, 40, 30, DAYS])
        labels = np.column_stack([X[["user", "item", "day"]], np.zeros(5, int)])
        rows = x[labels + firsts].astype(float)
        rows[:, 3] *= z.to_numpy()[:, None]
        factors = rows[..., :2]
        products = factors.sum(axis=1) ** 2 - (factors**2).sum(axis=1)
        means.append(0.5 * products.sum(axis=1) + rows[..., 2].sum(axis=1))
    expected = np.mean(means, axis=0) + model.mean_rating_
    np.testing.assert_allclose(model._predictive(X)[0], expected, rtol=1e-4)


def test_unknown_labels_have_the_moments_of_the_prior():
    # By simulation of the unknown rows: within 4 Monte Carlo errors of 200,000.
    rng, n, d = np.random.default_rng(0), 200_000, 2
    draws = RatingDraws(
        rows=rng.normal(size=(1, 4, d + 1)),
        hyper=rng.uniform(0.5, 2.0, (1, 4, 2, d + 1)),
        noise=np.ones((1, 5)),
        links=np.zeros((1, 0, d + 1)),
        weights=np.ones(1),
        sizes=(1, 1, 1, 1),
        n_factors=d,
        n_user_features=0,
        dof=0.0,
    )
    values = np.array([[1.0, -1.7]])
    codes = [np.array([code]) for code in (-1, 0, -1, -1)]
    found = pair_moments(draws, codes, values)
    rows = np.repeat(draws.rows, n, axis=0)
    for side in (0, 2, 3):
        mean, precision = draws.hyper[0, side]
        rows[:, side] = mean + rng.normal(size=(n, d + 1)) / np.sqrt(precision)
    rows *= np.array([1.0, 1.0, *values[0]])[:, None]
    factors = rows[..., :d]
    f = 0.5 * (factors.sum(axis=1) ** 2 - (factors**2).sum(axis=1)).sum(axis=1)
    f += rows[..., d].sum(axis=1)
    assert abs(f.mean() - found.mean[0]) < 4 * f.std() / np.sqrt(n)
    squares = (f - f.mean()) ** 2
    assert abs(squares.mean() - found.variance[0]) < 4 * squares.std() / np.sqrt(n)


def test_a_row_of_a_number_has_the_gaussian_law_given_the_rest():
    # Means and covariances within 4 and 6 Monte Carlo errors of 20,000 draws.
    n, d, rng = 20_000, 2, np.random.default_rng(0)
    sizes, k = (3, 4, 2, 1), 6
    one = rng.normal(size=(sum(sizes), d + 1))
    hyper, noise = (
        rng.uniform(0.5, 2.0, (4, 2, d + 1)),
        np.append(rng.uniform(0.5, 2.0, 8), np.ones(3)),
    )
    draws = RatingDraws(
        *(np.repeat(x[None], n, axis=0) for x in (one, hyper, noise)),
        links=np.zeros((n, 0, d + 1)),
        weights=np.full(n, 1 / n),
        sizes=sizes,
        n_factors=d,
        n_user_features=0,
        dof=6.0,
    )
    codes = [rng.integers(size, size=k) for size in sizes]
    values = np.column_stack([np.ones(k), rng.normal(size=k)])
    y, weights = rng.normal(size=k), rng.uniform(0.5, 2.0, k)
    ratings = Ratings(tuple(codes), y, None, values, sizes)
    redraw(draws, 3, 0, ratings, y, weights, np.zeros(0), rng)
    u, v, w = (one[ratings.pairs[:, side]] for side in range(3))
    z = values[:, 1:]
    design = z * np.column_stack([(u + v + w)[:, :d], np.ones(k)])
    rest = np.sum(u * v + u * w + v * w, axis=1) - u[:, d] * v[:, d]
    rest += (u + v + w)[:, d] - u[:, d] * w[:, d] - v[:, d] * w[:, d]
    alpha = noise[0] * noise[1 + codes[0]] * noise[4 + codes[1]] * weights
    mean, inverse = hyper[3]
    covariance = np.linalg.inv(design.T * alpha @ design + np.diag(inverse))
    center = covariance @ (design.T @ (alpha * (y - rest)) + inverse * mean)
    found, sd = draws.rows[:, -1], np.sqrt(np.diag(covariance))
    assert np.all(np.abs(found.mean(axis=0) - center) < 4 * sd / np.sqrt(n))
    scale = np.outer(sd, sd)
    np.testing.assert_allclose(np.cov(found.T) / scale, covariance / scale, atol=0.06)


def test_new_days_are_folded_in(data):
    X, y, effects = data
    late = X["day"] == DAYS - 1
    model = quick().fit(X[~late], y[~late]).partial_fit(X[late], y[late])
    assert model.context_labels_[0].tolist() == list(range(DAYS))
    pairs = pd.DataFrame({"user": 0, "item": 0, "day": [0, DAYS - 1], "heat": 20.0})
    found = np.diff(model.predict(pairs))[0]
    assert abs(found - (effects[-1] - effects[0])) < 0.2


def test_recommendations_in_a_context(model, data):
    users, day = [0, 3], 2
    items, scores, stds = model.recommend(
        users, n=4, filter_seen=False, context=(day, 30.0), return_std=True
    )
    pairs = pd.DataFrame({"user": np.repeat(users, 4), "item": items.ravel()})
    mean, std = model._predictive(pairs.assign(day=day, heat=30.0))
    np.testing.assert_allclose(scores.ravel(), mean, rtol=1e-4)
    np.testing.assert_allclose(stds.ravel(), std, rtol=1e-4)
    each = model.recommend(users, n=4, context=[(day, 30.0), (1, 10.0)])[1]
    one = model.recommend(0, 4, context=(2, 30.0))[1]
    np.testing.assert_allclose(each[0], one, rtol=1e-5)
    assert np.isfinite(model.recommend(users, n=4)[1]).all()
    with pytest.raises(ValueError, match="context has the shape"):
        model.recommend(users, context=(1, 2, 3))


def test_recommendations_to_many_users(model, monkeypatch):
    """In blocks, and by few directions of the factors: in a context of each user."""
    rng, users = np.random.default_rng(0), model.users_
    context = np.stack([rng.integers(DAYS, size=40), rng.normal(20, 5, 40)], axis=1)
    ask = dict(n=3, context=context, return_std=True)
    whole = model.recommend(users, **ask)
    monkeypatch.setattr("skbayes_sg.decomposition._recommendations.CELLS_AT_ONCE", 100)
    in_blocks = model.recommend(users, **ask)
    for name, value in {"MANY": 10, "RANK": 4, "MORE": 4}.items():
        monkeypatch.setattr(f"skbayes_sg.inference.rating_rankings.{name}", value)
    by_directions = model.recommend(users, **ask)
    for other in (in_blocks, by_directions):
        np.testing.assert_array_equal(other[0], whole[0])
        for a, b in zip(other[1:], whole[1:], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-4)
    few = model.recommend(users, n=3, items=model.items_[:2])
    assert np.isneginf(few[1][:, 2]).all()
    assert np.isin(few[0][np.isfinite(few[1])], model.items_[:2]).all()


def test_times_are_days_unless_bins_are_given(data):
    X, y, _ = data
    times = pd.Timestamp("2024-03-01") + pd.to_timedelta(24 * X["day"] + 5, unit="h")
    X = X[["user", "item"]].assign(time=times)
    by_day = quick(n_draws=5).fit(X, y)
    assert len(by_day.context_labels_[0]) == DAYS
    seconds = times.to_numpy().astype("datetime64[s]").astype(np.int64)
    options = dict(n_draws=5, context=[2 * 86400.0])
    both = [
        quick(**options).fit(X.assign(time=column), y) for column in (times, seconds)
    ]
    assert len(both[0].context_labels_[0]) in (DAYS // 2, DAYS // 2 + 1)
    np.testing.assert_array_equal(both[0].samples_, both[1].samples_)


def test_order_and_kind_of_input_do_not_matter(model, data):
    X, y, _ = data
    order = np.random.default_rng(0).permutation(len(y))
    again = quick().fit(X.iloc[order], y[order])
    np.testing.assert_array_equal(again.samples_, model.samples_)
    as_list = model.predict(list(X[:4].itertuples(index=False, name=None)))
    np.testing.assert_allclose(as_list, model.predict(X[:4]))


@pytest.mark.filterwarnings("ignore:The chains have not converged")
def test_summary_names_further_columns(model):
    # A constant moves between the biases of columns, but not into that of numbers.
    table = model.summary(parameters=["W2[5,bias]", "W3[0,bias]"])
    assert table.loc["W3[0,bias]", "mean"] == pytest.approx(0.8, abs=0.3)


def test_what_does_not_go_together(data):
    X, y, _ = data
    for wrong, words in (
        (dict(feedback="implicit"), "implicit.*only two"),
        (dict(hyperparameters="log-scale"), "log-scale.*only two"),
        (dict(context=["numbers"]), "each of the 2 columns"),
        (dict(context=["labels", "other"]), "other"),
    ):
        with pytest.raises(ValueError, match=words):
            quick(**wrong).fit(X, y)
    words = X.assign(day="monday")
    with pytest.raises(ValueError, match="'monday'; use 'labels'"):
        quick(context=["numbers", "numbers"]).fit(words, y)


def test_pairs_without_their_context_are_an_error(model):
    with pytest.raises(ValueError, match="2 features, but SGBPMFRec.* expecting 4"):
        model.predict([(0, 1)])
