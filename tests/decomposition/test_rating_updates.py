"""Fold-in of new users and items, against conditionals in closed form."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import make_ratings
from skbayes_sg.decomposition._rating_model import Ratings
from skbayes_sg.inference.rating_fold_in import contributions, redraw
from skbayes_sg.inference.rating_predictions import RatingDraws


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(40, 30, 700, n_factors=3, noise_std=0.5, random_state=0)


@pytest.fixture(scope="module")
def model(ratings):
    settings = dict(n_factors=3, n_draws=50, random_state=0, implicit_sets=True)
    return SGBPMFRecommender(**settings).fit(*ratings)


def repeated_draw(n, dof=0.0, d=2, n_users=3, n_items=5):
    """Return n copies of one draw, so that rows drawn given it have one law."""
    rng = np.random.default_rng(0)

    def same(x):
        return np.repeat(x[None], n, axis=0)

    return RatingDraws(
        rows=same(rng.normal(size=(n_users + n_items, d + 1))),
        hyper=same(rng.uniform(0.5, 2.0, (2, 2, d + 1))),
        noise=same(rng.uniform(0.5, 2.0, 1 + n_users + n_items)),
        links=same(rng.normal(size=(1, d + 1))),
        weights=np.full(n, 1 / n),
        sizes=(n_users, n_items),
        n_factors=d,
        n_user_features=1,
        dof=dof,
    )


def rated(items):
    """Return the ratings of some items by user 1, of 3 users and 5 items."""
    codes, n = (np.ones_like(items), items), len(items)
    return Ratings(codes, np.zeros(n), None, np.zeros((n, 0)), (3, 5))


@pytest.mark.parametrize("unobserved", [0.0, 0.6])
def test_rows_have_the_gaussian_law_given_the_rest(unobserved):
    # Means and variances within 4 Monte Carlo errors of 20,000 draws.
    n = 20_000
    draws, rng = repeated_draw(n), np.random.default_rng(1)
    if unobserved:
        draws = draws._replace(n_factors=3)  # choices have no biases
    d = draws.n_factors
    others, y, w = (
        np.array([0, 3, 4]),
        np.array([0.5, -1.0, 2.0]),
        np.array([1, 2, 0.5]),
    )
    redraw(draws, 0, 1, rated(others), y, w, np.array([0.7]), rng, unobserved)
    V, t, alpha = draws.rows[0, 3:], draws.noise[0, 4:], draws.noise[0, 0]
    if unobserved:
        t = np.ones(5)
        draws.noise[:, 1:] = 1.0
        redraw(draws, 0, 1, rated(others), y, w, np.array([0.7]), rng, unobserved)
    design = np.column_stack([V[:, :d], np.ones((5, 3 - d))])
    outcome, weight = np.zeros(5), np.full(5, unobserved)
    outcome[others], weight[others] = y - V[others, d:].sum(axis=1), w
    scaled = design.T * (alpha * t * weight)
    precision = scaled @ design + np.diag(draws.hyper[0, 0, 1])
    prior = draws.hyper[0, 0, 0] + 0.7 * draws.links[0, 0]
    linear = scaled @ outcome + draws.hyper[0, 0, 1] * prior
    covariance = np.linalg.inv(precision)
    found = draws.rows[:, 1]
    error = np.sqrt(np.diag(covariance) / n)
    assert np.all(np.abs(found.mean(axis=0) - covariance @ linear) < 4 * error)
    np.testing.assert_allclose(
        np.cov(found.T), covariance, atol=0.05 * covariance.max()
    )


def test_noise_of_a_new_user_follows_its_residuals():
    # Ratings 20 sds away from anything that factors explain are noise.
    draws, rng = repeated_draw(2000, dof=6.0), np.random.default_rng(1)
    others, weights = np.tile(np.arange(5), 8), np.ones(40)
    wild = np.random.default_rng(2).choice([-20.0, 20.0], 40)
    redraw(draws, 0, 1, rated(others), wild, weights, np.zeros(1), rng)
    assert draws.noise[:, 2].mean() < 0.05
    redraw(draws, 0, 1, rated(others), 0.0 * wild, weights, np.zeros(1), rng)
    assert draws.noise[:, 2].mean() > 0.3


def test_new_labels_leave_all_others_as_they_are(model, ratings):
    X, _ = ratings
    before, names = model.predict(X), model._parameter_names()
    grown = clone(model).set_params(warm_start=False)
    grown.__setstate__(model.__getstate__())
    new = [(999, X[0, 1]), (999, 777), (-5, X[1, 1])]
    grown.partial_fit(new, [5, 4, 1])
    np.testing.assert_allclose(grown.predict(X), before, rtol=1e-6)
    assert {999, -5} <= set(grown.users_) and 777 in grown.items_
    assert len(grown._parameter_names()) == grown.samples_.shape[-1]
    assert set(names) <= set(grown._parameter_names())
    assert grown.predict([(999, 777)]) > grown.predict([(-5, 777)])
    items, _ = grown.recommend(999, n=5)
    assert 777 not in items
    with pytest.raises(ValueError, match="training data"):
        grown.ksd()


def test_fold_in_predicts_about_as_well_as_a_fit_of_all(ratings):
    X, y = make_ratings(150, 60, 5000, n_factors=3, noise_std=0.5, random_state=3)
    new = X[:, 0] >= 130
    test = new & (np.random.default_rng(0).random(len(X)) < 0.3)
    settings = dict(n_factors=3, n_draws=50, random_state=0, implicit_sets=False)
    whole = SGBPMFRecommender(**settings).fit(X[~test], y[~test])
    folded = SGBPMFRecommender(**settings).fit(X[~new], y[~new])
    folded.partial_fit(X[new & ~test], y[new & ~test])
    errors = [
        np.sqrt(np.mean((m.predict(X[test]) - y[test]) ** 2)) for m in (whole, folded)
    ]
    assert errors[1] < 1.03 * errors[0] < 0.9 * y[test].std()
    low, high = folded.predict_interval(X[test], 0.9).T
    assert 0.84 < np.mean((low <= y[test]) & (y[test] <= high)) < 0.96


def test_partial_fit_alone_is_a_fit(ratings):
    X, y = ratings
    settings = dict(n_factors=2, n_draws=5, random_state=0)
    fresh = SGBPMFRecommender(**settings).partial_fit(X, y)
    fitted = SGBPMFRecommender(**settings).fit(X, y)
    np.testing.assert_array_equal(fresh.samples_, fitted.samples_)
    with pytest.raises(ValueError, match="both must be numbers"):
        fresh.partial_fit([("a", "b")], [3])


def test_warm_start_with_a_new_user_starts_at_the_last_draws(ratings):
    X, y = ratings
    settings = dict(n_factors=2, n_draws=5, random_state=0, warm_start=True)
    model = SGBPMFRecommender(**settings).fit(X, y)
    more, levels = np.vstack([X, [[999, X[0, 1]]]]), np.append(y, 5.0)
    model.fit(more, levels)
    assert 999 in model.users_ and np.isfinite(model.samples_).all()


def test_weights_of_a_matrix_of_ratings(ratings):
    X, y = ratings
    R = sp.csr_array((y, X.T), shape=(40, 30))
    W = sp.csr_array((np.arange(1.0, len(y) + 1), X.T), shape=(40, 30))
    settings = dict(n_factors=1, n_draws=2, random_state=0)
    model = SGBPMFRecommender(**settings).fit_matrix(R, sample_weight=W)
    weights = np.arange(1.0, len(y) + 1)
    pairs = SGBPMFRecommender(**settings).fit(X, y, sample_weight=weights)
    np.testing.assert_allclose(model.predict(X), pairs.predict(X), atol=1e-4)
    with pytest.raises(ValueError, match="sample_weight has the shape"):
        model.fit_matrix(R, sample_weight=W[:3])


def test_contributions_add_up_to_the_mean_given_the_items():
    # Against 20,000 draws of the user: within 4 Monte Carlo errors.
    n = 20_000
    draws, rng = repeated_draw(n), np.random.default_rng(1)
    others, y, w = (
        np.array([0, 3, 4]),
        np.array([0.5, -1.0, 2.0]),
        np.array([1, 2, 0.5]),
    )
    z, own = np.array([0.7]), draws.noise[0, 2]
    parts, rest = contributions(draws, 1, 2, rated(others), y, w, z)
    more = contributions(draws, 1, 2, rated(others), y + [0.0, 1.0, 0.0], w, z)[0]
    np.testing.assert_allclose(more[[0, 2]], parts[[0, 2]])
    assert more[1] != parts[1]
    redraw(draws, 0, 1, rated(others), y, own * w, z, rng)
    u, v = draws.rows[:, 1], draws.rows[0, 3 + 2]
    scores = u[:, :2] @ v[:2] + u[:, 2] + v[2]
    error = scores.std() / np.sqrt(n)
    assert abs(scores.mean() - parts.sum() - rest) < 4 * error


def test_contributions_explain_scores(model, ratings):
    X, y = ratings
    user = X[0, 0]
    items, scores = model.recommend(user, n=3)
    rated_items, parts, rest = model.contributions(user, items[0])
    assert set(rated_items) == set(X[X[:, 0] == user, 1])
    assert np.all(np.diff(np.abs(parts)) <= 0)
    assert parts.sum() + rest == pytest.approx(scores[0], abs=0.15)
    with pytest.raises(ValueError, match="items=-1 is not among"):
        model.contributions(user, -1)
