"""Poisson regression with log link.

log f = y eta - e^eta,    y in {0, 1, 2, ...}
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.models.glm import curvature, log_density, score


class Poisson(NamedTuple):
    """The Poisson family with log link: one output."""


@score.register(Poisson)
def _(family, eta, y, out):
    for b in range(y.size):
        out[0, b] = y[b] - math.exp(eta[0, b])


@log_density.register(Poisson)
def _(family, eta, y, out):
    for b in range(y.size):
        out[b] = y[b] * eta[0, b] - math.exp(eta[0, b])


@curvature.register(Poisson)
def _(family, eta, k, m, out):
    for b in range(out.size):
        out[b] = math.exp(eta[0, b])
