"""Functions around the Gamma function, for likelihoods of counts and of heavy tails.

Both use Stirling's series for arguments from 10 on, where its error is about 1e-13, and
recurrences or the library function for smaller ones.
"""

import math

from skbayes_sg.kernels.generic import helper

LARGE = 10.0


@helper
def digamma(x):
    """Return d log Gamma(x) / dx of x > 0."""
    value = 0.0
    while x < LARGE:
        value -= 1.0 / x
        x += 1.0
    z = 1.0 / (x * x)
    series = z * (1 / 12 - z * (1 / 120 - z * (1 / 252 - z * (1 / 240 - z / 132))))
    return value + math.log(x) - 0.5 / x - series


@helper
def log_rising(x, y):
    """Return log Gamma(x + y) - log Gamma(x) - y log x, accurate where x is large."""
    if x < LARGE:
        return math.lgamma(x + y) - math.lgamma(x) - y * math.log(x)
    rise = (x + y - 0.5) * math.log1p(y / x) - y
    return rise + _correction(x + y) - _correction(x)


@helper
def _correction(x):
    """Return log Gamma(x) minus Stirling's formula."""
    z = 1.0 / (x * x)
    return (1 / 12 - z * (1 / 360 - z * (1 / 1260 - z * (1 / 1680 - z / 1188)))) / x
