"""Two classes: log f = y eta - log(1 + e^eta), y in {0, 1}."""

from typing import NamedTuple

from skbayes_sg.kernels.likelihoods.protocol import (
    curvature,
    curvature_slope,
    log_density,
    score,
)
from skbayes_sg.kernels.numerics.exponential import exp, log1p_of_share


class Bernoulli(NamedTuple):
    """Bernoulli law with logit link: one output."""


@score.register(Bernoulli)
def _(likelihood, eta, y, noise, out):
    one = eta.dtype.type(1.0)
    for b in range(y.shape[1]):
        out[0, b] = y[0, b] - one / (one + exp(-eta[0, b]))


@log_density.register(Bernoulli)
def _(likelihood, eta, y, noise, out):
    for b in range(y.shape[1]):
        z = eta[0, b]
        out[b] = y[0, b] * z - max(z, 0.0) - log1p_of_share(exp(-abs(z)))


@curvature.register(Bernoulli)
def _(likelihood, eta, k, m, noise, out):
    for b in range(out.size):
        p = 1.0 / (1.0 + exp(-eta[0, b]))
        out[b] = p * (1.0 - p)


@curvature_slope.register(Bernoulli)
def _(likelihood, eta, k, m, n, noise, out):
    for b in range(out.size):
        p = 1.0 / (1.0 + exp(-eta[0, b]))
        out[b] = p * (1.0 - p) * (1.0 - 2.0 * p)
