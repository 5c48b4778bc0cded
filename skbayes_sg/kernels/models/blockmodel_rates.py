"""Link rates and the scale of alpha, drawn given the memberships of all nodes.

A link is one of community k with probability w_k beta_k / p_ab, and one between
communities otherwise. With s_k such links and W_k = sum of w_k over pairs without a
link, the law of beta_k is

    beta_k^(s_k) (1 - beta_k)^(W_k) prod d_ab,    and the same of delta with s_0, W_0,

a Beta law but for the events. Rates are drawn one after another by slices of the log
density of their logits, which looks at few events: those of pairs in community k.
"""

import math

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel import Blockmodel, set_rates
from skbayes_sg.kernels.models.blockmodel_chances import (
    LEAST,
    link_probability,
    softplus,
)
from skbayes_sg.kernels.models.blockmodel_counts import count_pairs
from skbayes_sg.kernels.models.blockmodel_events import draw_events
from skbayes_sg.kernels.models.blockmodel_prior import drawn_scale
from skbayes_sg.kernels.protocol.model import needs_refresh, refresh

NEGLIGIBLE = 1e-9  # share of a community in a pair, which d does not notice
ALMOST_ONE = 1.0 - 1e-15


@needs_refresh.register(Blockmodel)
def _(model, t):
    return (t + 1) % model.refresh_every == 0


@refresh.register(Blockmodel)
def _(model, target, position, rng):
    # Coordinates are the identity, so that the position is theta.
    work = target.work
    set_rates(model, work, position)
    _sum_memberships(work)
    draw_events(model, work, rng)
    _draw_rates(model, work, position, rng)
    if model.learns_alpha:
        position[-1] = drawn_scale(model, work, float(position[-1]), rng)


@helper
def _sum_memberships(work):
    """Sum anew, since rounding errors of changes add up."""
    work.total[:] = 0.0
    for a in range(len(work.pi)):
        for j in range(work.total.size):
            work.total[j] += work.pi[a, j]


@helper
def _draw_rates(model, work, theta, rng):
    k = model.alpha.size
    hits, misses = work.rows[0], work.rows[1]
    count_pairs(model, work, rng, hits, misses)
    for e in range(work.n_events[0]):
        x, y = work.pi[work.other[2 * e + 1]], work.pi[work.other[2 * e]]
        work.chance[e] = link_probability(x, y, work.rate)
        work.geometric[e] = link_probability(x, y, work.loss)
    for j in range(k + 1):
        prior = model.link_prior if j < k else model.background_prior
        if j < k or model.learns_background:
            a, b = hits[j] + prior[0], misses[j] + prior[1]
            theta[j] = _drawn_rate(work, j, float(theta[j]), a, b, rng)


@helper
def _drawn_rate(work, j, old, a, b, rng):
    """Return the logit of a rate given all others, by slices (Neal, 2003)."""
    n, width = _list_events(work, j), 4.0 / math.sqrt(a + 4.0)
    level = _log_law(work, j, n, old, a, b) + math.log(1.0 - rng.random())
    low = old - width * rng.random()
    high = low + width
    while _log_law(work, j, n, low, a, b) > level:
        low -= width
    while _log_law(work, j, n, high, a, b) > level:
        high += width
    new = low + (high - low) * rng.random()
    while _log_law(work, j, n, new, a, b) < level:
        low, high = (new, high) if new < old else (low, new)
        new = low + (high - low) * rng.random()
    shift = 1.0 / (1.0 + math.exp(-new)) - work.rate[j]
    drop = softplus(new) - work.loss[j]
    for i in range(n):
        work.chance[work.listed[i]] += work.weight[i] * shift
        work.geometric[work.listed[i]] += work.weight[i] * drop
    work.rate[j] += shift
    work.loss[j] += drop
    return new


@helper
def _list_events(work, j):
    """List the events that notice rate j, with their w_j; return how many they are."""
    k, n = work.alpha.size, 0
    for e in range(work.n_events[0]):
        x, y = work.pi[work.other[2 * e + 1]], work.pi[work.other[2 * e]]
        if j < k:
            w = float(x[j]) * float(y[j])
        else:
            w = 1.0
            for i in range(k):
                w -= float(x[i]) * float(y[i])
        if w > NEGLIGIBLE:
            work.listed[n], work.weight[n] = e, w
            n += 1
    return n


@helper
def _log_law(work, j, n, logit, a, b):
    """Return the log density of the logit of rate j, of which n events are listed."""
    shift = 1.0 / (1.0 + math.exp(-logit)) - work.rate[j]
    drop, value = softplus(logit) - work.loss[j], 0.0
    for i in range(n):
        e, w = work.listed[i], work.weight[i]
        p = min(work.chance[e] + w * shift, ALMOST_ONE)
        d = math.log1p(-p) + work.geometric[e] + w * drop
        value += math.log(max(d, LEAST))
    return value - b * logit - (a + b) * softplus(-logit)
