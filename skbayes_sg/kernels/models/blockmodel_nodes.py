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
    Blockmodel,
    set_rates,
)
from skbayes_sg.kernels.models.blockmodel_chances import link_probability, mean_ratio
from skbayes_sg.kernels.models.blockmodel_counts import count_node, set_start_rates
from skbayes_sg.kernels.models.blockmodel_proposals import balanced, propose
from skbayes_sg.kernels.models.blockmodel_start import start_memberships


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
    c = balanced(shape, loss, c)
    by_logs = model.learns_alpha or mass < 0.5
    log_sum = propose(new, shape, loss, c, work.negligible, by_logs, rng)
    ratio = _log_weight(work, a, new, loss, c, mass)
    ratio -= _log_weight(work, a, x, loss, c, mass)
    if math.log(1.0 - rng.random()) < ratio:
        work.log_sum[a] = log_sum
        for j in range(k):
            work.total[j] -= x[j]
            x[j] = new[j]
            work.total[j] += x[j]


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
