"""Exact transitions of a positive process, the Cox-Ingersoll-Ross diffusion.

    d theta = (b - c theta) / 2 dt + sqrt(theta) dW

Its stationary distribution is Gamma(b, rate c). With r = exp(-c h / 2), theta after
time h has a Gamma distribution with a random shape:

    N ~ Poisson(c theta r / (1 - r)),    theta' = (1 - r) / c  Gamma(b + N)

A step of any size thus stays positive and leaves Gamma(b, rate c) invariant.
"""

import math

from skbayes_sg.kernels.generic import helper

TINY = 1e-300  # the smallest value, since a process at zero would stay there
MANY = 1e8  # mean from which Poisson numbers are drawn as rounded Gaussian ones


@helper
def draw_log_gamma(shape, rng):
    """Return the log of a draw of Gamma(shape, rate 1), accurate for small shapes."""
    if shape >= 0.1:
        return math.log(max(rng.standard_gamma(shape), TINY))
    # log Gamma(a) = log Gamma(a + 1) + log(U) / a
    log_value = math.log(rng.standard_gamma(shape + 1.0))
    return log_value + math.log(1.0 - rng.random()) / shape


@helper
def draw_log_small_gamma(shape, rng):
    """Return the log of a draw of Gamma(shape, rate 1) with shape < 1, by rejection.

    Proposals U^(1 / shape) below one, exponential ones above (Ahrens & Dieter, 1974):
    for small shapes almost always one uniform number and one logarithm.
    """
    total = 1.0 + shape * math.exp(-1.0)
    while True:
        p = total * (1.0 - rng.random())
        if p <= 1.0:
            log_value = math.log(p) / shape
            # Below exp(-40) the density is the proposals' to all digits.
            if log_value < -40.0 or rng.random() < math.exp(-math.exp(log_value)):
                return log_value
        else:
            log_value = math.log(-math.log((total - p) / shape))
            if math.log(1.0 - rng.random()) < (shape - 1.0) * log_value:
                return log_value


@helper
def draw_small_gamma(shape, negligible, rng):
    """Return a draw of Gamma(shape, rate 1) with shape < 1, by the same rejection.

    Zero stands for draws below e if `negligible` is e^shape, e < exp(-40): for small
    shapes these are many, and take a uniform number alone.
    """
    total = 1.0 + shape * math.exp(-1.0)
    while True:
        p = total * (1.0 - rng.random())
        if p <= negligible:
            return 0.0
        if p <= 1.0:
            value = math.exp(math.log(p) / shape)
            if value < 1e-17 or rng.random() < math.exp(-value):
                return value
        else:
            value = -math.log((total - p) / shape)
            if 1.0 - rng.random() < value ** (shape - 1.0):
                return value


@helper
def draw_gamma(shape, rng):
    """Return a draw of Gamma(shape, rate 1), which is never zero."""
    if shape >= 0.1:
        return max(rng.standard_gamma(shape), TINY)
    log_value = draw_log_gamma(shape, rng)
    return math.exp(log_value) if log_value > -690.0 else TINY


@helper
def draw_poisson(mean, rng):
    """Return a draw of Poisson(mean) as a float."""
    if mean > MANY:
        return max(
            0.0, math.floor(mean + math.sqrt(mean) * rng.standard_normal() + 0.5)
        )
    return float(rng.poisson(mean)) if mean > 0.0 else 0.0


@helper
def draw_positive_poisson(mean, rng):
    """Return a draw of Poisson(mean) given that it is not zero, as a float."""
    if mean > 10.0:
        value = draw_poisson(mean, rng)
        while value == 0.0:
            value = draw_poisson(mean, rng)
        return value
    # Inversion, of probabilities times exp(mean).
    u, value, weight = rng.random() * math.expm1(mean), 1.0, mean
    while u > weight and value < 100.0:
        u -= weight
        value += 1.0
        weight *= mean / value
    return value


@helper
def cir_step(theta, shape, rate, h, rng):
    """Return the state after time h of a process that starts at `theta`.

    Its stationary distribution is Gamma(shape, rate).
    """
    decay = math.exp(-0.5 * rate * h)
    left = -math.expm1(-0.5 * rate * h)  # 1 - decay
    count = draw_poisson(rate * theta * decay / left, rng)
    return max(left / rate * draw_gamma(shape + count, rng), TINY)
