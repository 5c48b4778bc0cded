"""Memberships of a node, drawn given those of all others and the rates.

Every link of node a has a community z ~ pi_ak (delta + pi_bk (beta_k - delta)). Given
counts n_k of them, b_k = alpha_k + n_k and B = sum_k b_k, the law of the memberships is

    prod_k pi_k^(b_k - 1) exp(-l pi) prod d_ab,    l_k = (L_k - L_0) sum_b pi_bk

with sums over the nodes b that are not linked to a and products over the events of a.
Independent Gamma(b_k, rate c + l_k), the stationary laws of exact CIR transitions, make
up memberships pi of density prod_k pi_k^(b_k - 1) (c + l pi)^-B. With the mean at the
mode of what is asked for, sum_k b_k / (c + l_k) = 1, both agree to second order. They
are accepted or rejected by the ratio of the two (Metropolis & Hastings), hence exact.
"""

import math

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel import Blockmodel, mean_ratio, set_rates
from skbayes_sg.kernels.models.blockmodel_start import start_memberships
from skbayes_sg.kernels.numerics.positive import draw_log_gamma

TINY = 1e-30  # the least membership that is kept, in float32
ITERATIONS = 6  # of Newton's method, which need not converge


@draw_local.register(Blockmodel)
def _(model, work, theta, idx, rng):
    set_rates(model, work, theta)
    if work.started[0] == 0:
        start_memberships(model, work, rng)
        work.started[0] = 1
    for a in idx:
        _draw_node(model, work, a, rng)


@helper
def _draw_node(model, work, a, rng):
    """Draw the memberships of node a."""
    k, x = work.alpha.size, work.pi[a]
    shape, loss, new = work.rows[0, :k], work.rows[1, :k], work.rows[2, :k]
    _count_links(model, work, a, rng, shape, loss)
    for j in range(k):
        loss[j] *= work.loss[j] - work.loss[k]
    mass, c = 0.0, -math.inf
    for j in range(k):
        mass += shape[j]
        c = max(c, shape[j] - loss[j])
    c = _newton(shape, loss, c)
    largest = -math.inf
    for j in range(k):
        new[j] = draw_log_gamma(shape[j], rng) - math.log(c + loss[j])
        largest = max(largest, new[j])
    total, log_sum = 0.0, 0.0
    for j in range(k):
        log_sum += new[j] - largest
        new[j] = math.exp(new[j] - largest)
        total += new[j]
    for j in range(k):
        new[j] = max(new[j] / total, TINY)
    ratio = _log_weight(work, a, new, loss, c, mass)
    ratio -= _log_weight(work, a, x, loss, c, mass)
    if math.log(1.0 - rng.random()) < ratio:
        work.log_sum[a] = log_sum - k * math.log(total)
        for j in range(k):
            work.total[j] -= x[j]
            x[j] = new[j]
            work.total[j] += x[j]


@helper
def _count_links(model, work, a, rng, shape, loss):
    """Draw the communities of the links of a; write alpha + counts to `shape`.

    And the total memberships of all nodes that are not linked to a to `loss`.
    """
    k, x, share = work.alpha.size, work.pi[a], work.rows[3]
    background = work.rate[k]
    for j in range(k):
        shape[j] = work.alpha[j]
        loss[j] = work.total[j] - x[j]
    for i in range(model.indptr[a], model.indptr[a + 1]):
        y, total = work.pi[model.indices[i]], 0.0
        for j in range(k):
            loss[j] -= y[j]
            share[j] = x[j] * (background + y[j] * (work.rate[j] - background))
            total += share[j]
        u, j = rng.random() * total - share[0], 0
        while u >= 0.0 and j < k - 1:
            j += 1
            u -= share[j]
        shape[j] += 1.0
    for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
        y = work.pi[model.hidden[i]]
        for j in range(k):
            loss[j] -= y[j]


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
        value += math.log(mean_ratio(x, work.pi[work.other[e]], work.rate, work.loss))
        e = work.following[e]
    return value
