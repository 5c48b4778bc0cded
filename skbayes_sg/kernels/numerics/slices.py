"""Draws from one-dimensional laws by slices (Neal, 2003).

A law is a NamedTuple with a `log_density`, up to a constant.
"""

import math

from skbayes_sg.kernels.generic import helper, kernel_op


@kernel_op
def log_density(law, x):
    """Return the log density of a law at x, up to a constant."""
    raise NotImplementedError


@helper
def draw_by_slices(law, old, width, rng):
    """Return the next state of a chain at `old` that leaves the law invariant.

    Slices are found in steps of `width`, about a standard deviation for speed. The last
    call of `log_density` is at the new state, unless the density is not finite.
    """
    level = log_density(law, old) + math.log(1.0 - rng.random())
    if not abs(level) < math.inf:  # of a chain that has diverged: slices have no ends
        return old
    low = old - width * rng.random()
    high = low + width
    while log_density(law, low) > level:
        low -= width
    while log_density(law, high) > level:
        high += width
    new = low + (high - low) * rng.random()
    while not log_density(law, new) >= level:
        low, high = (new, high) if new < old else (low, new)
        new = low + (high - low) * rng.random()
    return new
