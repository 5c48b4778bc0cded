"""Gaussian law: its precision is 1, so only the scale of a mixture is random."""

from typing import NamedTuple

from skbayes_sg.kernels.priors.protocol import draw_precision, log_density, slope


class Normal(NamedTuple):
    """Standard normal law."""


@log_density.register(Normal)
def _(law, z):
    return -0.5 * z * z


@slope.register(Normal)
def _(law, z):
    return -z


@draw_precision.register(Normal)
def _(law, z, rng):
    return 1.0
