"""Rows of dense and sparse matrices give what numpy gives."""

import numba
import numpy as np
import pytest

from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.data.rows import (
    add_outer_rows,
    add_rows,
    add_squared_rows,
    dot_rows,
    shape_rows,
)
from tests.kernels.examples import csr, features

N, P = 12, 5
IDX = np.array([7, 0, 6, 11, 7], INDEX)  # one row twice, one row empty


@pytest.fixture(params=["dense", "sparse"])
def layout(request):
    return (lambda X: X) if request.param == "dense" else csr


@pytest.fixture(params=[np.float64, np.float32])
def X(request, rng):
    return features(rng, N, P).astype(request.param)


def close(actual, expected):
    assert actual.dtype == expected.dtype
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=20 * np.finfo(actual.dtype).eps
    )


def test_shape(layout, X):
    assert shape_rows(layout(X)) == (N, P)


def test_dot_rows(layout, X, rng):
    coef = rng.normal(size=P).astype(X.dtype)
    out = np.full(IDX.size, np.nan, X.dtype)
    dot_rows(layout(X), IDX, coef, out)
    close(out, X[IDX] @ coef)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (add_rows, lambda X, w: w @ X),
        (add_squared_rows, lambda X, w: w @ X**2),
        (add_outer_rows, lambda X, w: X.T @ (w[:, None] * X)),
    ],
)
def test_sums_of_rows_are_added(layout, X, rng, op, expected):
    weights = rng.normal(size=IDX.size).astype(X.dtype)
    expected = expected(X[IDX], weights)
    out = np.ones_like(expected)
    op(layout(X), IDX, weights, out)
    close(out, 1 + expected)


@numba.njit
def products(rows, idx, coef, dots, sums):
    dot_rows(rows, idx, coef, dots)
    add_rows(rows, idx, dots, sums)


def test_compiled_rows_equal_numpy(layout, rng):
    X = features(rng, 200, P)
    idx = rng.permutation(200)[:70].astype(INDEX)
    coef, dots, sums = rng.normal(size=P), np.empty(70), np.zeros(P)
    products(layout(X), idx, coef, dots, sums)
    np.testing.assert_allclose(dots, X[idx] @ coef, atol=1e-13)
    np.testing.assert_allclose(sums, X[idx].T @ (X[idx] @ coef), atol=1e-11)
