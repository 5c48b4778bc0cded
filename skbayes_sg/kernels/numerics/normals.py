"""Vectors of standard normal numbers.

A float32 vector is made from counter-based random words (Philox 4x32 with seven rounds,
Salmon et al., 2011), with a new key from the chain's generator, by the Box-Muller
transform. Both loops vectorize, whereas the ziggurat method of numpy's generator makes
one number at a time. With words of 32 bits, numbers are at most 6.6 in absolute value.
"""

import math

import numpy as np
from numba.extending import overload

from skbayes_sg.kernels.generic import OPTIONS, helper

ROUNDS = 7
FACTORS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
KEY_STEPS = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)
f4, i4 = np.float32, np.int32


def fill_normals(rng, out):
    """Fill (d,) `out` with standard normals."""
    (_fill_float32 if out.dtype == f4 else _fill_one_by_one)(rng, out)


@overload(fill_normals, jit_options=OPTIONS)
def _(rng, out):
    return _fill_float32 if out.dtype.bitwidth == 32 else _fill_one_by_one


@helper
def _fill_one_by_one(rng, out):
    for j in range(out.size):
        out[j] = rng.standard_normal()


@helper
def _fill_float32(rng, out):
    quarter = out.size // 4
    if quarter > 0:
        _fill_words(rng, out[: 4 * quarter].view(np.uint32))
        _box_muller(out[: 4 * quarter].view(i4))
    _fill_one_by_one(rng, out[4 * quarter :])


@helper
def _fill_words(rng, out):
    """Fill `out` with random words, four for each value of the counter."""
    n = out.size // 4
    first, second, third, fourth = out[:n], out[n:], out[2 * n :], out[3 * n :]
    key, salt = (_word(rng), _word(rng)), (_word(rng), _word(rng))
    for j in range(n):
        a, b, c, d = np.uint64(j), salt[0], salt[1], np.uint64(0)
        p, q = key
        for _ in range(ROUNDS):
            x, y = FACTORS[0] * a, FACTORS[1] * c
            a, b, c, d = (y >> HALF) ^ b ^ p, y & LOW, (x >> HALF) ^ d ^ q, x & LOW
            p, q = (p + KEY_STEPS[0]) & LOW, (q + KEY_STEPS[1]) & LOW
        first[j], second[j] = np.uint32(a), np.uint32(b)
        third[j], fourth[j] = np.uint32(c), np.uint32(d)


@helper
def _word(rng):
    return np.uint64(rng.random() * 2.0**32)


@helper
def _box_muller(words):
    """Replace random words by the bits of float32 normals, in pairs."""
    n = words.size // 2
    first, second = words[:n], words[n:]
    for j in range(n):
        a, b = first[j], second[j]
        high, low = (a >> i4(16)) & i4(0xFFFF), a & i4(0xFFFF)
        u = (f4(high) * f4(2.0**16) + f4(low) + f4(1.0)) * f4(2.0**-32)  # in (0, 1]
        r = np.sqrt(f4(-2.0) * _log(u))
        # An angle of at most pi / 4, and three further bits for its octant.
        t = f4(b >> i4(8)) * f4(math.pi * 2.0**-25)
        sine, cosine = _sine(t), _cosine(t)
        swap = f4((b >> i4(2)) & i4(1)) * (sine - cosine)
        x = r * f4(i4(1) - (b & i4(2))) * (cosine + swap)
        y = r * f4(i4(1) - ((b & i4(1)) << i4(1))) * (sine - swap)
        first[j], second[j] = f4(x).view(i4), f4(y).view(i4)


@helper
def _sine(t):
    z, p = t * t, f4(1 / 362880)
    p = f4(-1 / 5040) + z * p
    p = f4(1 / 120) + z * p
    p = f4(-1 / 6) + z * p
    return t * (f4(1.0) + z * p)


@helper
def _cosine(t):
    z, p = t * t, f4(1 / 40320)
    p = f4(-1 / 720) + z * p
    p = f4(1 / 24) + z * p
    p = f4(-1 / 2) + z * p
    return f4(1.0) + z * p


@helper
def _log(u):
    """Return log(u), by a polynomial of the mantissa scaled to [sqrt(1/2), sqrt(2)).

    Its coefficients are those of the Chebyshev interpolation of log(1 + x) / x, whose
    error is 1e-8.
    """
    bits = f4(u).view(i4)
    exponent = (bits - i4(0x3F3504F3)) >> i4(23)
    x = i4(bits - (exponent << i4(23))).view(f4) - f4(1.0)
    p = f4(-0.1437733) + x * f4(0.08743946)
    p = f4(0.14949095) + x * p
    p = f4(-0.16560696) + x * p
    p = f4(0.19956978) + x * p
    p = f4(-0.25002155) + x * p
    p = f4(0.33334184) + x * p
    p = f4(-0.49999988) + x * p
    p = f4(1.0) + x * p
    return f4(exponent) * f4(math.log(2.0)) + x * p
