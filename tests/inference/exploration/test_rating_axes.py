"""Principal axes of factors: the same mean ratings, and uncorrelated factors."""

import numpy as np
import pytest

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import make_ratings
from skbayes_sg.inference.exploration.rating_axes import with_principal_axes
from skbayes_sg.kernels.models.matrix_factorization_draws import (
    rating_means,
    unpack_of,
)
from skbayes_sg.kernels.protocol.model import work_at

D = 3


@pytest.fixture(scope="module", params=[False, True], ids=["labels", "features"])
def fitted(request):
    X, y = make_ratings(60, 40, 900, random_state=0)
    features = None
    if request.param:
        rng = np.random.default_rng(0)
        features = np.arange(60), rng.normal(size=(60, 2))
    model = SGBPMFRecommender(
        D, user_features=features, n_draws=4, dtype="float64", random_state=0
    )
    return model.fit(X, y)


def test_mean_ratings_stay_as_they_are(fitted):
    model, before = fitted._model, fitted.samples_[:, -1].copy()
    turned = with_principal_axes(model, before)
    rows, expected = unpack_of(model, turned).rows, unpack_of(model, before).rows
    assert np.abs(rows - expected).max() > 0.01
    means = [rating_means(x, model.pairs, model.values, D) for x in (rows, expected)]
    np.testing.assert_allclose(*means, rtol=1e-8, atol=1e-8)
    np.testing.assert_array_equal(before, fitted.samples_[:, -1])


def test_factors_are_uncorrelated_and_as_large_on_both_sides(fitted):
    model = fitted._model
    sizes = []
    for draw in with_principal_axes(model, fitted.samples_[:, -1]):
        deviations = unpack_of(model, draw).rows - work_at(model, draw).mean
        for rows in np.split(deviations[:, :D], [model.n_users]):
            moments = rows.T @ rows / len(rows)
            outside = moments - np.diag(np.diag(moments))
            assert np.abs(outside).max() < 1e-4 * np.diag(moments).min()
            sizes.append(np.diag(moments))
    np.testing.assert_allclose(sizes[0::2], sizes[1::2], rtol=1e-4)


def test_draws_of_few_users_stay_as_they_are():
    X, y = make_ratings(5, 40, 150, random_state=0)
    fitted = SGBPMFRecommender(D, n_draws=2, random_state=0).fit(X, y)
    draws = fitted.samples_[:, -1]
    assert with_principal_axes(fitted._model, draws) is draws
