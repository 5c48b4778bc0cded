"""The scale of a symmetric membership prior, and the shape of activities.

    log p(alpha | pi) = n (log Gamma(K alpha) - K log Gamma(alpha)) + alpha T - alpha

with T the sum of log pi_ak over all nodes and communities and a Gamma(1, 1) prior of
alpha. Activities are Gamma(s, rate s), with a Gamma(2, 1/5) prior of s, whose mean is
ten:

    log p(s | rho) = n (s log s - log Gamma(s)) + s sum (log rho - rho) + log s - s / 5
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.slices import draw_by_slices, log_density

WIDTH = 0.1  # of slices, at first
SHAPE_PRIOR = 2.0, 0.2  # shape and rate of the Gamma law of s


class MembershipScale(NamedTuple):
    """The law of log alpha / base, given memberships."""

    base: float
    n: int
    k: int
    total: float  # T


class ActivityShape(NamedTuple):
    """The law of log s, given activities."""

    n: int
    total: float  # sum of log rho - rho


@log_density.register(MembershipScale)
def _(law, x):
    alpha = law.base * math.exp(x)
    norm = math.lgamma(law.k * alpha) - law.k * math.lgamma(alpha)
    return law.n * norm + alpha * (law.total - 1.0) + x


@log_density.register(ActivityShape)
def _(law, x):
    shape = math.exp(x)
    norm = law.n * (shape * x - math.lgamma(shape))
    return norm + shape * (law.total - SHAPE_PRIOR[1]) + SHAPE_PRIOR[0] * x


@helper
def drawn_scale(law, old, rng):
    """Return a draw of the log scale, from the last one."""
    return draw_by_slices(law, old, WIDTH, rng)
