"""Uniform random numbers for inner loops, by splitmix64 (Steele, Lea & Flood, 2014).

Compiled code calls numpy's generator through a pointer, which takes a few times as long
as these few operations. The state, an array of one number, has a new start from the
chain's generator as often as its user wants.
"""

import numpy as np
from numba.extending import overload

from skbayes_sg.kernels.generic import OPTIONS, helper

STEP, FIRST, SECOND = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB
WORD = 2**64


@helper
def start_uniforms(state, rng):
    """Set the state, (1,) uint64, to 64 random bits."""
    high = np.uint64(rng.random() * 2.0**32) << np.uint64(32)
    state[0] = high | np.uint64(rng.random() * 2.0**32)


def next_uniform(state):
    """Return a uniform number below one, a multiple of 2^-53, and move the state on."""
    x = (int(state[0]) + STEP) % WORD
    state[0] = x
    x = (x ^ (x >> 30)) * FIRST % WORD
    x = (x ^ (x >> 27)) * SECOND % WORD
    return ((x ^ (x >> 31)) >> 11) * 2.0**-53


@overload(next_uniform, jit_options=OPTIONS)
def _(state):
    step, first, second = np.uint64(STEP), np.uint64(FIRST), np.uint64(SECOND)

    def compiled(state):
        x = state[0] + step
        state[0] = x
        x = (x ^ (x >> np.uint64(30))) * first
        x = (x ^ (x >> np.uint64(27))) * second
        x = x ^ (x >> np.uint64(31))
        return np.float64(x >> np.uint64(11)) * 2.0**-53

    return compiled
