"""Exponential function and logarithm of the kernels against numpy's."""

import numba
import numpy as np
import pytest

from skbayes_sg.kernels.generic import OPTIONS
from skbayes_sg.kernels.numerics.exponential import exp, log1p_of_share


def values(x, out):
    for i in range(x.size):
        out[i] = exp(x[i])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype, limit", [(np.float64, 700.0), (np.float32, 80.0)])
def test_exponential(dtype, limit, compiled):
    function = numba.njit(values, **OPTIONS) if compiled else values
    tiny = np.geomspace(1e-12, 1, 50)
    x = np.concatenate([np.linspace(-limit, limit, 20_001), tiny, -tiny, [0.0]])
    x, out = x.astype(dtype), np.empty(x.size, dtype)
    function(x, out)
    error = np.abs(out / np.exp(x.astype(np.float64)) - 1)
    assert (error <= 2 * np.finfo(dtype).eps * np.maximum(1, np.abs(x))).all()

    ends = np.array([np.inf, -np.inf, np.nan, 0], dtype)
    out = np.empty(4, dtype)
    function(ends, out)
    np.testing.assert_allclose(out[:2], np.exp([limit, -limit]), 1e-4)
    assert np.isnan(out[2]) and out[3] == 1


def logarithms(t, out):
    for i in range(t.size):
        out[i] = log1p_of_share(t[i])


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_logarithm(dtype, compiled):
    function = numba.njit(logarithms, **OPTIONS) if compiled else logarithms
    t = np.concatenate([np.linspace(0, 1, 20_001), np.geomspace(1e-37, 1, 50)])
    t, out = t.astype(dtype), np.empty(t.size)
    function(t, out)
    exact = np.log1p(t.astype(np.float64))
    np.testing.assert_allclose(out, exact, 4 * np.finfo(dtype).eps, 0)

    ends = np.array([np.nan, 0], dtype)
    out = np.empty(2)
    function(ends, out)
    assert np.isnan(out[0]) and out[1] == 0
