"""Many draws: in float16, or fewer of them."""

import numpy as np
import pytest

from skbayes_sg import SGBPMFRecommender
from skbayes_sg.datasets import make_ratings
from skbayes_sg.decomposition import _rating_memory
from skbayes_sg.inference.exploration import matrix_factorization


@pytest.fixture(scope="module")
def ratings():
    return make_ratings(40, 30, 700, n_factors=3, noise_std=0.5, random_state=0)


def quick(**parameters):
    return SGBPMFRecommender(n_factors=3, random_state=0, **parameters)


@pytest.fixture(scope="module")
def half(ratings):
    return quick(storage_dtype="float16").fit(*ratings)


def test_predictions_of_float16_draws_are_the_same(half, ratings):
    X, y = ratings
    full = quick().fit(X, y)
    assert full.samples_.dtype == np.float32 and half.samples_.dtype == np.float16
    np.testing.assert_array_equal(full.samples_.astype(np.float16), half.samples_)
    unknown = np.vstack([X, [(999, 3), (5, 999)]])
    for one, other in zip(
        full.predict(unknown, return_std=True),
        half.predict(unknown, return_std=True),
        strict=True,
    ):
        np.testing.assert_allclose(one, other, atol=1e-3 * y.std())
    proba = full.predict_proba(X) - half.predict_proba(X)
    assert np.abs(proba).max() < 2e-3
    scores = [model.recommend(full.users_)[1] for model in (full, half)]
    np.testing.assert_allclose(*scores, atol=1e-3 * y.std())


@pytest.mark.filterwarnings("ignore:The chains have not converged")
def test_everything_takes_float16_draws(half, ratings):
    X, y = ratings
    assert half.similar_users(0)[1].dtype == np.float64
    assert np.isfinite(half.summary()["ess"]).all()
    assert half.ksd() > 0.0
    again = quick(storage_dtype="float16", warm_start=True, n_draws=5).fit(X, y)
    again.fit(np.vstack([X, [(999, 3)]]), np.append(y, 4.0))
    again.partial_fit([(777, 3), (777, 4)], [5.0, 4.0])
    assert again.samples_.dtype == np.float16
    assert np.isfinite(again.predict([(777, 5), (999, 5)])).all()


def test_large_fits_keep_fewer_and_shorter_draws(ratings, monkeypatch):
    X, y = ratings
    monkeypatch.setattr(_rating_memory, "LARGE", 100_000)
    dim = quick(n_draws=5).fit(X, y).samples_.shape[-1]
    assert quick(n_draws=5).fit(X, y).samples_.dtype == np.float32
    monkeypatch.setattr(_rating_memory, "BOUND", 2 * 2 * dim * 30)
    model = quick().fit(X, y)
    assert model.samples_.shape[1] == 30 and model.samples_.dtype == np.float16
    given = quick(n_draws=40, storage_dtype=None).fit(X, y)
    assert given.samples_.shape[1] == 40 and given.samples_.dtype == np.float32
    tiny = quick(n_draws=100).fit(X, 1e-6 * y)  # float16 would round biases to zero
    assert tiny.samples_.dtype == np.float32


def test_many_ratings_start_with_a_sample(monkeypatch):
    # Predictions agree within the Monte Carlo error of 80 draws.
    X, y = make_ratings(150, 100, 8000, n_factors=3, random_state=0)
    settings = dict(implicit_sets=False, n_draws=40)
    expected, std = quick(**settings).fit(X, y).predict(X, return_std=True)
    lengths = []
    part = matrix_factorization._part

    def counted(model, chosen):
        lengths.append(int(chosen.sum()))
        return part(model, chosen)

    monkeypatch.setattr(matrix_factorization, "SAMPLED", 3500)
    monkeypatch.setattr(matrix_factorization, "_part", counted)
    found = quick(**settings).fit(X, y).predict(X)
    assert len(lengths) == 1 and 3300 < lengths[0] < 3700
    assert np.sqrt(np.mean((found - expected) ** 2)) < 0.2 * std.mean()
