"""Vectors of normals: their law, their independence, compiled or not."""

import numba
import numpy as np
import pytest
import scipy.stats

from skbayes_sg.kernels.generic import OPTIONS
from skbayes_sg.kernels.numerics.normals import fill_normals


@numba.njit(**OPTIONS)
def fill(rng, out):
    fill_normals(rng, out)


def vectors(n_vectors, size, dtype=np.float32, seed=0):
    rng, out = np.random.default_rng(seed), np.empty((n_vectors, size), dtype)
    for row in out:
        fill(rng, row)
    return out


@pytest.fixture(scope="module")
def normals():
    return vectors(200, 10_000).astype(np.float64)


def test_moments(normals):
    # Standard errors of the mean, variance, skewness and kurtosis of n normals.
    x, n = normals.ravel(), normals.size
    assert abs(x.mean()) < 4 / np.sqrt(n)
    assert abs(x.var() - 1) < 4 * np.sqrt(2 / n)
    assert abs((x**3).mean()) < 4 * np.sqrt(15 / n)
    assert abs((x**4).mean() - 3) < 4 * np.sqrt(96 / n)


def test_law(normals):
    assert scipy.stats.kstest(normals.ravel(), "norm").pvalue > 1e-3


@pytest.mark.parametrize("limit", [3.0, 4.0])
def test_tails(normals, limit):
    for count in [(normals > limit).sum(), (normals < -limit).sum()]:
        expected = normals.size * scipy.stats.norm.sf(limit)
        assert abs(count - expected) < 4 * np.sqrt(expected)


@pytest.mark.parametrize("lag", [1, 2, 2500, 5000, 7500])
def test_coordinates_are_independent(normals, lag):
    # The four quarters of a vector share a counter, its halves a radius.
    left, right = normals[:, :-lag], normals[:, lag:]
    for a, b in [(left, right), (left**2 - 1, right**2 - 1), (left, right**2 - 1)]:
        assert abs((a * b).mean()) < 4 * a.std() * b.std() / np.sqrt(a.size)


def test_vectors_are_independent(normals):
    product = (normals[:-1] * normals[1:]).mean()
    assert abs(product) < 4 / np.sqrt(normals[1:].size)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("size", [0, 1, 3, 4, 7, 103])
def test_compiled_equals_python(size, dtype):
    compiled, python = np.zeros((2, size), dtype)
    fill(np.random.default_rng(1), compiled)
    fill_normals(np.random.default_rng(1), python)
    np.testing.assert_allclose(compiled, python, rtol=1e-5, atol=1e-6)


def test_float64_takes_what_the_generator_gives():
    (x,) = vectors(1, 50, np.float64, seed=5)
    np.testing.assert_array_equal(x, np.random.default_rng(5).standard_normal(50))
