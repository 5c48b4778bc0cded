"""Proposals of the memberships of a node: normalized Gamma draws.

Independent Gamma(b_k, rate c + l_k), the stationary laws of exact CIR transitions, make
up memberships pi of density prod_k pi_k^(b_k - 1) (c + l pi)^-B, B = sum_k b_k.
"""

import math

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.positive import (
    draw_log_gamma,
    draw_log_small_gamma,
    draw_small_gamma,
)

ITERATIONS = 6  # of Newton's method, which need not converge
TINY = 1e-25  # the least membership that is kept, in float32


@helper
def balanced(weight, loss, c):
    """Return c with sum_k weight_k / (c + loss_k) = 1, from a c with a larger sum.

    The sum is convex and falls, so that steps never pass the root.
    """
    for _ in range(ITERATIONS):
        value, slope = -1.0, 0.0
        for j in range(weight.size):
            inverse = 1.0 / (c + loss[j])
            value += weight[j] * inverse
            slope += weight[j] * inverse * inverse
        c += value / slope
        if value < 1e-3:
            break
    return c


@helper
def propose(new, shape, loss, c, negligible, by_logs, rng):
    """Write memberships to `new`; return the sum of their logs, if asked for.

    `by_logs` is True where all of them may be tiny, or their logs matter. At least one
    of them is not negligible where shapes add up to 0.5.
    """
    if by_logs:
        return _propose_by_logs(new, shape, loss, c, rng)
    total = 0.0
    for j in range(new.size):
        if shape[j] < 0.5:  # no links and no events: the shape of the prior
            value = draw_small_gamma(shape[j], negligible[j], rng)
        else:
            value = rng.standard_gamma(shape[j])
        new[j] = value / (c + loss[j])
        total += new[j]
    for j in range(new.size):
        new[j] = max(new[j] / total, TINY)
    return 0.0


@helper
def _propose_by_logs(new, shape, loss, c, rng):
    k, largest, log_sum = new.size, -math.inf, 0.0
    for j in range(k):
        if shape[j] < 0.5:
            new[j] = draw_log_small_gamma(shape[j], rng)
        else:
            new[j] = draw_log_gamma(shape[j], rng)
        new[j] -= math.log(c + loss[j])
        largest = max(largest, new[j])
        log_sum += new[j]
    total = 0.0
    for j in range(k):
        new[j] = math.exp(new[j] - largest)
        total += new[j]
    for j in range(k):
        new[j] = max(new[j] / total, TINY)
    return log_sum - k * (largest + math.log(total))
