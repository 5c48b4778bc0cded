"""Memberships of a node, drawn given those of all others and the rates.

Every link of node a has a community z ~ pi_ak (delta + pi_bk (beta_k - delta)). So has
every event, with excesses e_k = L_k - beta_k in place of rates: d_ab is about sum_k w_k
e_k. Given counts n_k of both, b_k = alpha_k + n_k and B = sum_k b_k, the law of the
memberships is

    prod_k pi_k^(b_k - 1) exp(-l pi) prod_events d_ab / sum_k w_k e_k,

    l_k = (L_k - L_0) sum_b pi_bk,    b not linked to a

Independent Gamma(b_k, rate c + l_k), the stationary laws of exact CIR transitions, make
up memberships pi of density prod_k pi_k^(b_k - 1) (c + l pi)^-B. With the mean at the
mode of what is asked for, sum_k b_k / (c + l_k) = 1, both agree to second order. They
are accepted or rejected by the ratio of the two (Metropolis & Hastings), hence exact.
"""

import math

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel import (
    NEW,
    STARTED,
    TINY,
    Blockmodel,
    set_rates,
)
from skbayes_sg.kernels.models.blockmodel_chances import link_probability, mean_ratio
from skbayes_sg.kernels.models.blockmodel_counts import count_node, set_start_rates
from skbayes_sg.kernels.models.blockmodel_start import start_memberships
from skbayes_sg.kernels.numerics.positive import (
    draw_log_gamma,
    draw_log_small_gamma,
    draw_small_gamma,
)

ITERATIONS = 6  # of Newton's method, which need not converge


@draw_local.register(Blockmodel)
def _(model, work, theta, idx, rng):
    if work.stage[0] != STARTED:
        set_rates(model, work, theta)
    if work.stage[0] == NEW:
        _start(model, work, rng)
        work.stage[0] = STARTED
    for a in idx:
        draw_node(model, work, a, rng)


@helper
def _start(model, work, rng):
    """Write memberships to start from, and rates that suit them."""
    n, k = work.pi.shape
    start_memberships(model, work.pi, work.head, work.cumulative, rng)
    work.total[:] = 0.0
    for a in range(n):
        for j in range(k):
            work.total[j] += work.pi[a, j]
    set_start_rates(model, work, rng)


@helper
def draw_node(model, work, a, rng):
    """Draw the memberships of node a."""
    k, x = work.alpha.size, work.pi[a]
    shape, loss, new = work.rows[0, :k], work.rows[1, :k], work.rows[2, :k]
    count_node(model, work, a, rng, shape, loss)
    mass, c = 0.0, -math.inf
    for j in range(k):
        loss[j] *= work.loss[j] - work.loss[k]
        mass += shape[j]
        c = max(c, shape[j] - loss[j])
    c = _newton(shape, loss, c)
    if model.learns_alpha or mass < 0.5:
        log_sum = _propose_by_logs(new, shape, loss, c, rng)
    else:
        log_sum = _propose(work, new, shape, loss, c, rng)
    ratio = _log_weight(work, a, new, loss, c, mass)
    ratio -= _log_weight(work, a, x, loss, c, mass)
    if math.log(1.0 - rng.random()) < ratio:
        work.log_sum[a] = log_sum
        for j in range(k):
            work.total[j] -= x[j]
            x[j] = new[j]
            work.total[j] += x[j]


@helper
def _propose(work, new, shape, loss, c, rng):
    """Write memberships to `new`: normalized Gamma draws.

    At least one of them is not negligible where shapes add up to 0.5.
    """
    total = 0.0
    for j in range(new.size):
        if shape[j] < 0.5:  # no links and no events: the shape of the prior
            value = draw_small_gamma(shape[j], work.negligible[j], rng)
        else:
            value = rng.standard_gamma(shape[j])
        new[j] = value / (c + loss[j])
        total += new[j]
    for j in range(new.size):
        new[j] = max(new[j] / total, TINY)
    return 0.0


@helper
def _propose_by_logs(new, shape, loss, c, rng):
    """Write the same to `new`, also of tiny shapes; return the sum of all logs."""
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


@helper
def _newton(shape, loss, c):
    """Return c with sum_k shape_k / (c + loss_k) = 1, from a c with a larger sum.

    The sum is convex and falls, so that steps never pass the root.
    """
    for _ in range(ITERATIONS):
        value, slope = -1.0, 0.0
        for j in range(shape.size):
            inverse = 1.0 / (c + loss[j])
            value += shape[j] * inverse
            slope += shape[j] * inverse * inverse
        c += value / slope
        if value < 1e-3:
            break
    return c


@helper
def _log_weight(work, a, x, loss, c, mass):
    """Return the log of the density that is asked for, over that of proposals."""
    linear = 0.0
    for j in range(x.size):
        linear += x[j] * loss[j]
    value = mass * math.log(c + linear) - linear
    e = work.head[a]
    while e >= 0:
        y = work.pi[work.other[e]]
        d = mean_ratio(x, y, work.rate, work.loss)
        value += math.log(d / link_probability(x, y, work.excess))
        e = work.following[e]
    return value
