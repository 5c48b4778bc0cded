"""Laplace's law of variance 1, log p = -sqrt(2) |z| (Park & Casella, 2008).

It is a mixture of Gaussians whose variances are exponential; given z, the precision has
the inverse Gaussian law of mean sqrt(2) / |z| and shape 2.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.priors.protocol import draw_precision, log_density, slope

ROOT = math.sqrt(2.0)


class Laplace(NamedTuple):
    """Laplace's law of variance 1."""


@log_density.register(Laplace)
def _(law, z):
    return -ROOT * abs(z)


@slope.register(Laplace)
def _(law, z):
    return -math.copysign(ROOT, z)


@draw_precision.register(Laplace)
def _(law, z, rng):
    # Michael, Schucany & Haas (1976), in terms of w = 1 / mean, which may be zero.
    w = abs(z) / ROOT
    y = rng.standard_normal() ** 2
    x = 4.0 / (4.0 * w + y + math.sqrt(y * y + 8.0 * w * y))
    if rng.random() * (1.0 + x * w) <= 1.0:
        return x
    return 1.0 / (w * w * x)
