"""Counts: log f = y eta - e^eta, y in {0, 1, 2, ...}."""

import math
from typing import NamedTuple

from skbayes_sg.kernels.likelihoods.protocol import (
    curvature,
    curvature_slope,
    log_density,
    score,
)


class Poisson(NamedTuple):
    """Poisson law with log link: one output."""


@score.register(Poisson)
def _(likelihood, eta, y, noise, out):
    for b in range(y.shape[1]):
        out[0, b] = y[0, b] - math.exp(eta[0, b])


@log_density.register(Poisson)
def _(likelihood, eta, y, noise, out):
    for b in range(y.shape[1]):
        out[b] = y[0, b] * eta[0, b] - math.exp(eta[0, b])


@curvature.register(Poisson)
def _(likelihood, eta, k, m, noise, out):
    for b in range(out.size):
        out[b] = math.exp(eta[0, b])


@curvature_slope.register(Poisson)
def _(likelihood, eta, k, m, n, noise, out):
    for b in range(out.size):
        out[b] = math.exp(eta[0, b])
