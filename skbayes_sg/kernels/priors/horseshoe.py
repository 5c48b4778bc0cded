"""The horseshoe (Carvalho, Polson & Scott, 2010): z | l ~ N(0, l^2), l half-Cauchy.

With x = z^2 / 2 and E1 the exponential integral,

    p(z) ~ e^x E1(x),    p(precision | z) ~ exp(-x precision) / (1 + precision)

The density is infinite at zero, where most coefficients are; its tails are Cauchy's.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.priors.protocol import draw_precision, log_density, slope

EULER = 0.57721566490153286
LEAST = 1e-24  # of x: precisions stay finite at z = 0


class Horseshoe(NamedTuple):
    """Law of coefficients of which most are all but zero."""


@log_density.register(Horseshoe)
def _(law, z):
    return math.log(scaled_integral(max(0.5 * z * z, LEAST)))


@slope.register(Horseshoe)
def _(law, z):
    x = max(0.5 * z * z, LEAST)
    return z * (1.0 - 1.0 / (x * scaled_integral(x)))


@draw_precision.register(Horseshoe)
def _(law, z, rng):
    if not abs(z) < math.inf:  # of a chain that has diverged: nothing would be accepted
        return 0.0
    x = max(0.5 * z * z, LEAST)
    if x >= 1.0:
        while True:
            precision = rng.standard_exponential() / x
            if rng.random() * (1.0 + precision) <= 1.0:
                return precision
    # The log of 1 + precision has the density exp(-x e^t), t > 0: level up to
    # t = log(1 / x), and beyond below exp(-1 - (t - log(1 / x))).
    level = -math.log(x)
    flat, tail = level * math.exp(-x), math.exp(-1.0)
    while True:
        if rng.random() * (flat + tail) < flat:
            t = level * rng.random()
            bound = -x
        else:
            beyond = rng.standard_exponential()
            t, bound = level + beyond, -1.0 - beyond
        if math.log(rng.random()) <= -x * math.exp(t) - bound:
            return math.expm1(t)


@helper
def scaled_integral(x):
    """Return e^x E1(x) of x > 0: a series below 1, a continued fraction above."""
    if x <= 1.0:
        total, term = -EULER - math.log(x), 1.0
        for k in range(1, 25):
            term *= -x / k
            total -= term / k
        return math.exp(x) * total
    # Lentz's method
    b = x + 1.0
    c, d = 1e300, 1.0 / b
    value = d
    for k in range(1, 200):
        a = -k * k
        b += 2.0
        d = 1.0 / (a * d + b)
        c = b + a / c
        value *= c * d
        if abs(c * d - 1.0) < 1e-14:
            break
    return value
