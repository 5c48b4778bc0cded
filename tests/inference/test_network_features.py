"""Features of very different sizes, which networks see standardized."""

import numpy as np
import pytest
from sklearn.datasets import load_wine

from skbayes_sg import SGHMCClassifierMLP
from skbayes_sg.inference.exploration.mlp_features import standardization
from tests.kernels.examples import csr

N = 3000


def columns():
    """Return columns of sizes from sqrt(3) / 1000 to 1000 sqrt(3), and one constant."""
    rng = np.random.default_rng(0)
    normal = rng.normal(size=(N, 3)) * [1e-3, 1.0, 1e3] + [0.0, 2.0, 0.0]
    rare = (rng.random(N) < 0.01).astype(float)
    return np.column_stack([normal, rare, np.full(N, 0.1)])


@pytest.mark.parametrize("kind", [np.asarray, csr])
def test_sizes_are_those_where_features_count(kind):
    # Fourth moments of 3,000 Gaussian numbers have errors of about 6 %.
    center, size = standardization(kind(columns()))
    root = np.sqrt(3.0)
    np.testing.assert_allclose(
        size, [1e-3 * root, root, 1e3 * root, 1.0, 1.0], rtol=0.1
    )
    np.testing.assert_allclose(center[[1, 4]], [2.0, 0.1], atol=0.1)


def test_features_that_are_alike_are_used_as_they_are():
    X = columns()
    for some in (X[:, [1]], X[:, [1, 3, 4]], X[:, [4]]):
        assert all(values.size == 0 for values in standardization(some))
    far = X[:, [1, 3]] + [2000.0, 0.0]  # as years
    assert standardization(far.astype(np.float32))[0][0] == pytest.approx(2002, abs=0.1)


def test_wine_is_told_by_its_raw_features():
    # Proline is measured in hundreds, hue in tenths.
    X, y = load_wine(return_X_y=True)
    train = np.arange(len(y)) % 5 > 0
    settings = dict(n_draws=10, burn_in=200, thin=10, n_chains=2, random_state=0)
    model = SGHMCClassifierMLP((10,), **settings).fit(X[train], y[train])
    assert model.score(X[~train], y[~train]) > 0.95
    assert model.X_scale_.shape == (13,)
    first = SGHMCClassifierMLP((10,), **settings).partial_fit(X[train], y[train])
    center = first.X_mean_
    first.partial_fit(X[~train], y[~train])  # a stream keeps the units of its start
    assert np.array_equal(first.X_mean_, center)
    plain = SGHMCClassifierMLP((10,), weight_precision=1.0, **settings)
    assert plain.fit(X[train], y[train]).X_scale_.size == 0
