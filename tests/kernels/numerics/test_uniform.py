"""Uniform numbers: those of the published generator, compiled or not."""

import numba
import numpy as np

from skbayes_sg.kernels.generic import OPTIONS
from skbayes_sg.kernels.numerics.uniform import next_uniform, start_uniforms


@numba.njit(**OPTIONS)
def compiled(state):
    return next_uniform(state)


def test_numbers_are_those_of_splitmix64():
    # The first outputs for the seed 1234567, as published with the algorithm.
    words = 6457827717110365317, 3203168211198807973, 9817491932198370423
    for function in (compiled, next_uniform):
        state = np.array([1234567], np.uint64)
        for word in words:
            assert function(state) == (word >> 11) * 2.0**-53


def test_starts_differ_in_all_bits():
    rng, state = np.random.default_rng(0), np.zeros(1, np.uint64)
    starts = []
    for _ in range(1000):
        start_uniforms(state, rng)
        starts.append(int(state[0]))
    bits = np.array([[s >> b & 1 for b in range(64)] for s in starts])
    # 64 frequencies with standard errors of 0.016.
    assert np.abs(bits.mean(axis=0) - 0.5).max() < 0.07
