"""Loops over short vectors.

Assignments of whole arrays take seconds to compile, because their error message about
unequal shapes makes numba compile its support for strings.
"""

from skbayes_sg.kernels.generic import helper


@helper
def copy_to(x, out):
    """Write (d,) `x` to `out`."""
    for j in range(out.size):
        out[j] = x[j]


@helper
def add_number(x, out):
    """Add the number `x` to each item of (d,) `out`."""
    for j in range(out.size):
        out[j] += x


@helper
def total(x):
    """Return the sum of (d,) `x`."""
    value = x.dtype.type(0.0)
    for j in range(x.size):
        value += x[j]
    return value
