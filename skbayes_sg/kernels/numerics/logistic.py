"""The logistic function and its integral, for arguments of any size."""

import math

from skbayes_sg.kernels.generic import helper


@helper
def sigmoid(v):
    """Return 1 / (1 + exp(-v))."""
    if v >= 0.0:
        return 1.0 / (1.0 + math.exp(-v))
    return math.exp(v) / (1.0 + math.exp(v))


@helper
def log1p_exp(v):
    """Return log(1 + exp(v)), which is minus the log of sigmoid(-v)."""
    return max(v, 0.0) + math.log1p(math.exp(-abs(v)))
