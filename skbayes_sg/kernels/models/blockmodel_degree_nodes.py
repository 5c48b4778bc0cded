"""Masses of a node with an activity, drawn given those of all others and the rates.

Every link of node a has m ~ Poisson(lambda_ab), m > 0, events. Each belongs to
community k of node a with probability theta_ak (L_0 (rho_b - theta_bk) + L_k theta_bk)
/ lambda_ab. With counts n_k of them, n in all, b_k = alpha_k + n_k, B = sum_k b_k, and
sums over all other nodes b,

    rho_a ~ Gamma(s + n, rate s + l pi),  l_k = sum_b L_0 rho_b + (L_k - L_0) theta_bk,
    p(pi) = prod_k pi_k^(b_k - 1) (s + l pi)^-(s + n)

without rho_a. Proposals of pi have (c + l pi)^-B in place of the last factor; the c of
both densities' common mode is the root of sum_k b_k (s + l_k) / (c + l_k) = s + n. They
are accepted or rejected by the ratio of the two (Metropolis & Hastings), hence exact;
if s = sum_k alpha_k, always accepted.
"""

import math

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_degree_rates import draw_losses
from skbayes_sg.kernels.models.blockmodel_degrees import (
    AHEAD,
    NEW,
    STARTED,
    DegreeBlockmodel,
    prefetch_node,
    set_losses,
)
from skbayes_sg.kernels.models.blockmodel_proposals import TINY, balanced, propose
from skbayes_sg.kernels.models.blockmodel_start import start_memberships
from skbayes_sg.kernels.numerics.positive import draw_gamma, draw_positive_poisson


@draw_local.register(DegreeBlockmodel)
def _(model, work, theta, idx, rng):
    if work.stage[0] != STARTED:
        set_losses(model, work, theta)
    if work.stage[0] == NEW:
        _start(model, work, rng)
        work.stage[0] = STARTED
    for a in idx:
        draw_masses(model, work, a, rng)


@helper
def _start(model, work, rng):
    """Write masses to start from, and losses that suit them.

    Activities are in proportion to the numbers of links.
    """
    n, k = work.mass.shape
    start_memberships(model, work.mass, work.taken, work.activity, rng)
    work.total[:] = 0.0
    for a in range(n):
        degree = model.indptr[a + 1] - model.indptr[a]
        work.activity[a] = (degree + 1.0) * n / (model.indices.size + n)
        for j in range(k):
            work.mass[a, j] *= work.activity[a]
            work.total[j] += work.mass[a, j]
    draw_losses(model, work, rng)


@helper
def draw_masses(model, work, a, rng):
    """Draw the masses of node a."""
    k, x = work.alpha.size, work.mass[a]
    shape, loss, new = work.rows[0, :k], work.rows[1, :k], work.rows[2, :k]
    n_events = _count_node(model, work, a, rng, shape, loss)
    s, weight, total, c = work.shape[0], work.rows[3, :k], n_events, -math.inf
    for j in range(k):
        weight[j] = shape[j] * (s + loss[j]) / (s + n_events)
        c = max(c, weight[j] - loss[j])
        total += work.alpha[j]
    c = balanced(weight, loss, c)
    by_logs = model.learns_alpha or total < 0.5
    log_sum = propose(new, shape, loss, c, work.negligible, by_logs, rng)
    old_loss, new_loss, old = 0.0, 0.0, work.activity[a]
    for j in range(k):
        old_loss += x[j] * loss[j] / old
        new_loss += new[j] * loss[j]
    ratio = (s + n_events) * math.log((s + old_loss) / (s + new_loss))
    ratio -= total * math.log((c + old_loss) / (c + new_loss))
    if math.log(1.0 - rng.random()) < ratio:
        activity = draw_gamma(s + n_events, rng) / (s + new_loss)
        work.log_sum[a] = log_sum + k * math.log(activity)
    else:
        activity = draw_gamma(s + n_events, rng) / (s + old_loss)
        work.log_sum[a] += k * math.log(activity / old)
        for j in range(k):
            new[j] = x[j] / old
    work.activity[a] = 0.0
    for j in range(k):
        work.total[j] -= x[j]
        x[j] = max(new[j] * activity, TINY)
        work.total[j] += x[j]
        work.activity[a] += x[j]


@helper
def _count_node(model, work, a, rng, shape, loss):
    """Write alpha + counts of events to `shape`, and l; return how many events."""
    k, x, background = work.alpha.size, work.mass[a], work.loss[work.alpha.size]
    base, slope, n_events = work.narrow[0, :k], work.narrow[1, :k], 0.0
    for j in range(k):
        shape[j] = work.alpha[j]
        base[j] = x[j] * background
        slope[j] = x[j] * (work.loss[j] - background)
        loss[j] = work.total[j] - x[j]
    for i in range(model.indptr[a], model.indptr[a + 1]):
        prefetch_node(model, work, i + AHEAD)
        b = model.indices[i]
        n_events += _count_events(work, base, slope, a, b, shape, rng)
    for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
        y = work.mass[model.hidden[i]]
        for j in range(k):
            loss[j] -= y[j]
    everything = 0.0
    for j in range(k):
        loss[j] = max(loss[j], 0.0)
        everything += loss[j]
    for j in range(k):
        loss[j] = background * everything + (work.loss[j] - background) * loss[j]
    return n_events


@helper
def _count_events(work, base, slope, a, b, shape, rng):
    """Draw the communities of the events of a link, and count them; return how many."""
    k, y, r = work.alpha.size, work.mass[b], work.activity[b]
    same = slope[0] * y[0]  # in single precision
    for j in range(1, k):
        same += slope[j] * y[j]
    rate = max(float(same) + work.loss[k] * work.activity[a] * r, TINY)
    n_events = draw_positive_poisson(rate, rng)
    for _ in range(int(n_events)):
        u, j = rng.random() * rate - (base[0] * r + slope[0] * y[0]), 0
        while u >= 0.0 and j < k - 1:
            j += 1
            u -= base[j] * r + slope[j] * y[j]
        shape[j] += 1.0
    return n_events
