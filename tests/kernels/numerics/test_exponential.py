"""The exponential function of the kernels against numpy's."""

import numba
import numpy as np
import pytest

from skbayes_sg.kernels.generic import OPTIONS
from skbayes_sg.kernels.numerics.exponential import exp


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
