"""Linear regression with known noise.

log f = -tau/2 (y - eta)^2,    tau = 1 / noise variance
"""

from typing import NamedTuple

from skbayes_sg.kernels.models.glm import curvature, log_density, score


class Linear(NamedTuple):
    """The Gaussian family with identity link: one output."""

    noise_precision: float  # tau


@score.register(Linear)
def _(family, eta, y, out):
    for b in range(y.size):
        out[0, b] = family.noise_precision * (y[b] - eta[0, b])


@log_density.register(Linear)
def _(family, eta, y, out):
    for b in range(y.size):
        out[b] = -0.5 * family.noise_precision * (y[b] - eta[0, b]) ** 2


@curvature.register(Linear)
def _(family, eta, k, m, out):
    for b in range(out.size):
        out[b] = family.noise_precision
