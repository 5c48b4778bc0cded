"""The scale of a symmetric membership prior, drawn given the memberships.

    log p(alpha | pi) = n (log Gamma(K alpha) - K log Gamma(alpha)) + alpha T - alpha

with T the sum of log pi_ak over all nodes and communities and a Gamma(1, 1) prior of
alpha. Where nodes have activities, log theta_ak take the place of log pi_ak:

    n K (alpha log(K alpha) - log Gamma(alpha)) + alpha (T - K sum theta) - alpha
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.slices import draw_by_slices, log_density

WIDTH = 0.1  # of slices, at first


class MembershipScale(NamedTuple):
    """The law of log alpha / base, given memberships."""

    base: float
    n: int
    k: int
    total: float  # T


class MassScale(NamedTuple):
    """The law of log alpha / base, given masses theta."""

    base: float
    n: int
    k: int
    total: float  # T
    mass: float  # sum of theta


@log_density.register(MembershipScale)
def _(law, x):
    alpha = law.base * math.exp(x)
    norm = math.lgamma(law.k * alpha) - law.k * math.lgamma(alpha)
    return law.n * norm + alpha * (law.total - 1.0) + x


@log_density.register(MassScale)
def _(law, x):
    alpha = law.base * math.exp(x)
    norm = alpha * math.log(law.k * alpha) - math.lgamma(alpha)
    total = law.total - law.k * law.mass
    return law.n * law.k * norm + alpha * (total - 1.0) + x


@helper
def drawn_scale(law, old, rng):
    """Return a draw of the log scale, from the last one."""
    return draw_by_slices(law, old, WIDTH, rng)
