"""The scale of a symmetric membership prior, drawn given the memberships.

    log p(alpha | pi) = n (log Gamma(K alpha) - K log Gamma(alpha)) + alpha T - alpha

with T the sum of log pi_ak over all nodes and communities and a Gamma(1, 1) prior of
alpha, by slices on the log scale (Neal, 2003).
"""

import math

from skbayes_sg.kernels.generic import helper

WIDTH = 0.1  # of slices, at first


@helper
def drawn_scale(model, work, old, rng):
    """Return a draw of the log scale, from the last one."""
    total = 0.0
    for a in range(work.log_sum.size):
        total += work.log_sum[a]
    level = _log_law(model, work, total, old) + math.log(1.0 - rng.random())
    low = old - WIDTH * rng.random()
    high = low + WIDTH
    while _log_law(model, work, total, low) > level:
        low -= WIDTH
    while _log_law(model, work, total, high) > level:
        high += WIDTH
    new = low + (high - low) * rng.random()
    while _log_law(model, work, total, new) < level:
        low, high = (new, high) if new < old else (low, new)
        new = low + (high - low) * rng.random()
    return new


@helper
def _log_law(model, work, total, log_scale):
    n, k = work.pi.shape
    alpha = model.alpha[0] * math.exp(log_scale)
    norm = math.lgamma(k * alpha) - k * math.lgamma(alpha)
    return n * norm + alpha * (total - 1.0) + log_scale
