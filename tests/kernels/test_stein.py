"""The block sums of the Stein kernel against the definition, pair by pair."""

import numba
import numpy as np
import pytest

from skbayes_sg.kernels.stein import Points, add_column, pair_sum, pair_sums


def make_points(x, s):
    x = x - x.mean(axis=0)
    return Points(x, s, x + s, (x * x).sum(axis=1), (x * s).sum(axis=1))


def naive(x, y, s, t, c, beta):
    """Return k0_1 ... k0_d of one pair, one dimension at a time."""
    q = c**2 + sum((x[j] - y[j]) ** 2 for j in range(len(x)))
    kernels = np.empty(len(x))
    for j in range(len(x)):
        dx = 2 * beta * q ** (beta - 1) * (x[j] - y[j])
        dxdy = -2 * beta * q ** (beta - 1)
        dxdy -= 4 * beta * (beta - 1) * q ** (beta - 2) * (x[j] - y[j]) ** 2
        kernels[j] = s[j] * t[j] * q**beta - s[j] * dx + t[j] * dx + dxdy
    return kernels


def naive_sums(x, s, c, beta):
    """Sum over the pairs i < j."""
    return sum(
        naive(x[i], x[j], s[i], s[j], c, beta)
        for i in range(len(x))
        for j in range(i + 1, len(x))
    )


def draws_and_scores(rng, layout):
    x = rng.standard_normal((83, 3))
    s = rng.standard_normal((83, 3))
    if layout == "far":
        x += 1e3
    elif layout == "wide":
        x, s = 1e4 * x, 1e4 * s
    elif layout == "narrow":
        x, s = 1e-3 * x, 1e-3 * s
    elif layout == "clusters":  # near pairs far from the common mean
        x[::2] += 1e5
    elif layout == "repeated":
        x, s = 1e4 * x[np.arange(83) // 3], 1e4 * s
    return x, s


def test_naive_kernel_is_the_definition(rng):
    c, beta, eps = 0.7, -0.4, 1e-4
    x, y, s, t = rng.standard_normal((4, 3))

    def k(x, y):
        return (c**2 + np.sum((x - y) ** 2)) ** beta

    for j, e in enumerate(eps * np.eye(3)):
        dx = (k(x + e, y) - k(x - e, y)) / (2 * eps)
        dy = (k(x, y + e) - k(x, y - e)) / (2 * eps)
        dxdy = k(x + e, y + e) - k(x + e, y - e) - k(x - e, y + e) + k(x - e, y - e)
        expected = s[j] * t[j] * k(x, y) + s[j] * dy + t[j] * dx + dxdy / (4 * eps**2)
        np.testing.assert_allclose(naive(x, y, s, t, c, beta)[j], expected, rtol=1e-6)


@pytest.mark.parametrize("tile_size", [16, 83, 100])
@pytest.mark.parametrize(("c", "beta"), [(1.0, -0.5), (0.3, -0.8)])
@pytest.mark.parametrize(
    "layout", ["plain", "far", "wide", "narrow", "clusters", "repeated"]
)
def test_blocks_equal_pairs(rng, layout, c, beta, tile_size):
    x, s = draws_and_scores(rng, layout)
    expected = naive_sums(x, s, c, beta)
    points = make_points(x, s)
    starts = range(0, len(x), tile_size)
    per_dimension = sum(pair_sums(points, a, tile_size, c**2, beta) for a in starts)
    joint = sum(pair_sum(points, a, tile_size, c**2, beta) for a in starts)
    np.testing.assert_allclose(per_dimension, expected, rtol=1e-10)
    np.testing.assert_allclose(joint, expected.sum(), rtol=1e-10)


@pytest.mark.parametrize("beta", [-0.5, -0.2])
def test_column_equals_pairs(rng, beta):
    x, s = draws_and_scores(rng, "plain")
    out = np.ones(len(x))
    add_column(x, s, 5, 1.0, beta, out)
    expected = [1 + naive(x[i], x[5], s[i], s[5], 1.0, beta).sum() for i in range(83)]
    np.testing.assert_allclose(out, expected, rtol=1e-12)


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
def test_one_compilation_serves_all(rng):
    for n, d in [(5, 1), (40, 3)]:
        x, s = rng.standard_normal((2, n, d))
        pair_sum(make_points(x, s), 0, 16, 1.0, -0.5)
        pair_sums(make_points(x, s), 0, 16, 1.0, -0.3)
    assert len(pair_sum.signatures) == len(pair_sums.signatures) == 1
