"""Products and sums of short rows, of every length up to three registers."""

import numpy as np
import pytest

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.numerics.short_rows import add_row, dot_rows


@entry_point
def _products(x, y, out):
    for n in range(out.size):
        out[n] = dot_rows(x, 1, y, 2, n)


@entry_point
def _sums(factor, x, out):
    for n in range(out.shape[0]):
        add_row(factor, x, 1, n, out, n)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_rows_of_every_length(dtype):
    rng, width = np.random.default_rng(0), 3 * 64 // np.dtype(dtype).itemsize
    x, y = rng.normal(size=(2, 3, width)).astype(dtype)
    rtol = 20 * np.finfo(dtype).eps
    products = np.full(width, np.nan, dtype)
    _products(x, y, products)
    expected = [np.dot(x[1, :n].astype(float), y[2, :n]) for n in range(width)]
    np.testing.assert_allclose(products, expected, rtol, rtol)
    out = rng.normal(size=(width, width)).astype(dtype)
    below = np.tri(width, k=-1, dtype=dtype)
    expected = out + dtype(0.5) * below * x[1]
    _sums(dtype(0.5), x, out)
    np.testing.assert_allclose(out, expected, rtol, rtol)
