"""Features of very different sizes, which a network sees standardized.

The size of a feature with deviations d from its mean is

    s = (E d^4 / E d^2)^(1/2) ,

how far it is from its mean where it counts: sqrt(3) standard deviations if it is
Gaussian, and about 1 for an indicator, however rare. Where the largest size is many
times the others, or a feature lies many sizes away from zero, a prior that is the same
for all features means nothing, and training sees only the largest.
"""

import numpy as np

from skbayes_sg.inference.exploration.mlp_units import dense_rows, take_rows
from skbayes_sg.kernels.data.rows import shape_rows
from skbayes_sg.kernels.models.mlp import AS_THEY_ARE

FAR = 10.0  # times another size is very different, and sizes from zero are far away
QUARTILE = 0.25  # of sizes, with which the largest is compared
MAX_ROWS = 10_000  # that are looked at
CHUNK_SIZE = 1_000_000  # numbers that are looked at together
PRECISION = 1e-12  # relative variance of a constant column, by rounding


def standardization(rows):
    """Return centers and sizes of the features, (p,) each; empty if they are alike."""
    n = 0
    first, second, fourth = np.zeros((3, shape_rows(rows)[1]))
    for x in _chunks(rows):
        n += len(x)
        first += x.sum(axis=0)
    center = first / n
    for x in _chunks(rows):
        squares = (x - center) ** 2
        second += squares.sum(axis=0) / n
        fourth += np.sum(squares**2, axis=0) / n
    varies = second > PRECISION * (center**2 + second)
    if not varies.any():
        return AS_THEY_ARE, AS_THEY_ARE
    size = np.ones_like(center)
    size[varies] = np.sqrt(fourth[varies] / second[varies])
    differ = size[varies].max() > FAR * np.quantile(size[varies], QUARTILE)
    is_far = (np.abs(center[varies]) > FAR * size[varies]).any()
    return (center, size) if differ or is_far else (AS_THEY_ARE, AS_THEY_ARE)


def _chunks(rows):
    """Yield evenly spread rows, a few at a time, as (n, p) float64 arrays."""
    n, p = shape_rows(rows)
    idx = np.unique(np.linspace(0, n - 1, min(n, MAX_ROWS)).astype(int))
    length = max(1, CHUNK_SIZE // p)
    for start in range(0, len(idx), length):
        yield dense_rows(take_rows(rows, idx[start : start + length])).astype(float)
