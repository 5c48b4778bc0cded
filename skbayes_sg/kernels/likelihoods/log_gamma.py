"""Positive parameters of a likelihood, exp(u) ~ Gamma(shape, rate), by the map `Exp`.

With the Jacobian of the map, the log density of u is shape u - rate exp(u).
"""

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.maps.exp import pulled_through_exp
from skbayes_sg.kernels.numerics.exponential import tame_exp


@helper
def log_gamma_density(u, shape, rate):
    """Return the log density of u, up to a constant."""
    return shape * u - rate * tame_exp(u)


@helper
def log_gamma_slope(u, shape, rate):
    """Return the derivative of the log density of u."""
    x = tame_exp(u)
    return pulled_through_exp(x, (shape - 1.0) / x - rate, 1.0)


@helper
def log_gamma_curvature(u, rate):
    """Return minus the second derivative of the log density of u."""
    return rate * tame_exp(u)
