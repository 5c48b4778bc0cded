"""Functions that vectorize, unlike numba's, which are function calls.

    e^x = 2^n e^r,    n = x / log 2, rounded,    |r| <= log(2) / 2

where e^r is computed by its Taylor series. The relative error is about the precision of
the type, times |x| if that is larger than 1. Arguments are clipped to +-700, or to +-80
in float32.

    log(1 + t) = m log 2 + 2 atanh(s),    s = (u - 1) / (u + 1),    u = (1 + t) / 2^m

for t in [0, 1], where m is 1 if t > sqrt(2) - 1 and otherwise 0, so that |s| < 0.172,
and atanh is computed by its Taylor series.
"""

import math

import numpy as np
from numba.extending import overload

from skbayes_sg.kernels.generic import OPTIONS, helper

f4, f8, i4, i8 = np.float32, np.float64, np.int32, np.int64
COEFFICIENTS = [1.0 / math.factorial(i) for i in range(13)]
SERIES32, SERIES64 = tuple(map(f4, COEFFICIENTS[:8])), tuple(COEFFICIENTS)
LOG2 = math.log(2.0)
ATANH = tuple(1.0 / (2 * i + 1) for i in range(11))  # of s^(2 i + 1)


def exp(x):
    """Return e^x in the precision of the number `x`."""
    if np.isnan(x):
        return x
    return (_exp32 if x.dtype == f4 else _exp64)(x)


@overload(exp, jit_options=OPTIONS)
def _(x):
    return _exp32 if x.bitwidth == 32 else _exp64


def _exp32(x):
    x = min(max(x, f4(-80.0)), f4(80.0))
    n = np.floor(x * f4(1.0 / LOG2) + f4(0.5))
    r = x - n * f4(LOG2)
    p = SERIES32[7]
    for i in range(6, -1, -1):
        p = SERIES32[i] + r * p
    return p * i4((i4(n) + i4(127)) << i4(23)).view(f4)


def _exp64(x):
    x = min(max(x, -700.0), 700.0)
    n = np.floor(x * (1.0 / LOG2) + 0.5)
    r = x - n * LOG2
    p = SERIES64[12]
    for i in range(11, -1, -1):
        p = SERIES64[i] + r * p
    return p * i8((i8(i4(n)) + i8(1023)) << i8(52)).view(f8)


@helper
def log1p_of_share(t):
    """Return log(1 + t) for t in [0, 1], to about the precision of the number `t`."""
    halved = t > math.sqrt(2.0) - 1.0
    s = (t - 1.0) / (t + 3.0) if halved else t / (t + 2.0)
    square, p = s * s, ATANH[10]
    for i in range(9, -1, -1):
        p = ATANH[i] + square * p
    return 2.0 * s * p + (LOG2 if halved else 0.0)


@helper
def tame_exp(x):
    """Return e^x with x clipped to +-80, so that it is finite in single precision.

    It is for parameters of likelihoods, for which a search for the mode may try any
    values.
    """
    return math.exp(min(max(x, -80.0), 80.0))
