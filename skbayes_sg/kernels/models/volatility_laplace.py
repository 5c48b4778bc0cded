"""Laplace's approximation of the likelihood of stochastic volatility.

Given phi, sigma and tau, log p(x, y) is concave in the states x. With its mode and the
Hessian H = -d^2 log p(x, y) / dx^2 there, which is tridiagonal,

    log p(y) ~ log p(x, y) + n / 2 log(2 pi) - log|H| / 2

It is deterministic and costs a few passes, but is not exact: it tells where chains
start and in which units they move.
"""

import math

import numpy as np

from skbayes_sg.kernels.generic import entry_point, helper

ITERATIONS = 50  # of Newton's method
MAX_MOVE = 2.0  # of a state in one iteration
LOG_2PI = math.log(2.0 * math.pi)


@entry_point
def laplace_log_likelihood(y, begin, end, phi, sigma, tau, x, buffers):
    """Return the approximation for sequence begin ... end - 1 of y.

    (T,) `x` has the states to start from, and gets their mode; (2, T) `buffers` get the
    pivots of H first.
    """
    for _ in range(ITERATIONS):
        if _newton(y, begin, end, phi, sigma, tau, x, buffers) < 1e-8:
            break
    half = 0.0
    for t in range(begin, end):
        half += math.log(buffers[0, t])
    return _log_joint(y, begin, end, phi, sigma, tau, x) - 0.5 * half


@entry_point
def write_state_variances(begin, end, phi, sigma, pivot, out):
    """Write the variances of the states, given the (T,) pivots of H at the mode."""
    off = phi / (sigma * sigma)
    for t in range(end - 1, begin - 1, -1):
        out[t] = 1.0 / pivot[t]
        if t < end - 1:
            out[t] += (off / pivot[t]) ** 2 * out[t + 1]


@helper
def _newton(y, begin, end, phi, sigma, tau, x, buffers):
    """Move x to the mode of the quadratic at x; return the largest change.

    buffers[0] gets the pivots of H, whose product is its determinant.
    """
    precision, largest = 1.0 / (sigma * sigma), 0.0
    pivot, right = buffers[0], buffers[1]
    off = -phi * precision
    for t in range(begin, end):
        inside = begin < t < end - 1
        diagonal = precision * (1.0 + phi * phi) if inside else precision
        if end - begin == 1:
            diagonal = precision * (1.0 - phi * phi)
        slope = -diagonal * x[t]
        if t > begin:
            slope -= off * x[t - 1]
        if t < end - 1:
            slope -= off * x[t + 1]
        if not np.isnan(y[t]):
            size = 0.5 * (y[t] / tau) ** 2 * math.exp(-x[t])
            slope += size - 0.5
            diagonal += size
        pivot[t], right[t] = diagonal, slope
        if t > begin:
            factor = off / pivot[t - 1]
            pivot[t] -= factor * off
            right[t] -= factor * right[t - 1]
    change = 0.0
    for t in range(end - 1, begin - 1, -1):
        rest = right[t] - (off * change if t < end - 1 else 0.0)
        change = rest / pivot[t]
        move = min(max(change, -MAX_MOVE), MAX_MOVE)
        x[t] += move
        largest = max(largest, abs(move))
    return largest


@helper
def _log_joint(y, begin, end, phi, sigma, tau, x):
    """Return log p(x, y) + n / 2 log(2 pi)."""
    free = 1.0 - phi * phi
    value = 0.5 * math.log(free) - 0.5 * free * (x[begin] / sigma) ** 2
    for t in range(begin, end):
        value -= math.log(sigma)
        if t > begin:
            value -= 0.5 * ((x[t] - phi * x[t - 1]) / sigma) ** 2
        if not np.isnan(y[t]):
            value -= 0.5 * ((y[t] / tau) ** 2 * math.exp(-x[t]) + x[t] + LOG_2PI)
            value -= math.log(tau)
    return value
