"""Link rates and the scale of alpha, drawn given the memberships of all nodes.

A link is one of community k with probability w_k beta_k / p_ab, and one between
communities otherwise. With s_k such links and W_k = sum of w_k over pairs without a
link, the law of beta_k is

    beta_k^(s_k) (1 - beta_k)^(W_k) prod d_ab,    and the same of delta with s_0, W_0,

a Beta law but for the events. These act like further links, g_k = beta_k d/d beta_k sum
log d_ab of them: all rates are proposed together, from Beta laws with s_k + g_k, and
accepted or rejected (Metropolis & Hastings).
"""

import math

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel import (
    Blockmodel,
    link_probability,
    mean_ratio,
    set_rates,
)
from skbayes_sg.kernels.models.blockmodel_events import draw_events
from skbayes_sg.kernels.models.blockmodel_prior import drawn_scale
from skbayes_sg.kernels.numerics.positive import draw_log_gamma
from skbayes_sg.kernels.protocol.model import needs_refresh, refresh


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
    k, rows = model.alpha.size, work.rows
    hits, misses, gain = rows[0], rows[1], rows[2]
    _count_pairs(model, work, rng, hits, misses)
    for j in range(k + 1):
        prior = model.link_prior if j < k else model.background_prior
        hits[j] += prior[0]
        misses[j] += prior[1]
    old, back, logits = rows[3], rows[4], rows[5]
    before = _sum_events(work, gain, back)
    ratio = 0.0
    for j in range(k + 1):
        old[j], logits[j] = float(theta[j]), float(theta[j])
        if j < k or model.learns_background:
            x = draw_log_gamma(hits[j] + gain[j], rng)
            logits[j] = x - draw_log_gamma(misses[j] + back[j], rng)
            ratio += _log_beta(logits[j], hits[j], misses[j])
            ratio -= _log_beta(old[j], hits[j], misses[j])
            ratio -= _log_beta(logits[j], hits[j] + gain[j], misses[j] + back[j])
            ratio -= _log_norm(hits[j] + gain[j], misses[j] + back[j])
        theta[j] = logits[j]
    set_rates(model, work, theta)
    ratio += _sum_events(work, gain, back) - before
    for j in range(k + 1):
        if j < k or model.learns_background:
            ratio += _log_beta(old[j], hits[j] + gain[j], misses[j] + back[j])
            ratio += _log_norm(hits[j] + gain[j], misses[j] + back[j])
    if not math.log(1.0 - rng.random()) < ratio:
        for j in range(k + 1):
            theta[j] = old[j]
        set_rates(model, work, theta)


@helper
def _log_beta(logit, a, b):
    """Return log(beta^a (1 - beta)^b)."""
    return -b * logit - (a + b) * math.log1p(math.exp(-logit))


@helper
def _log_norm(a, b):
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)


@helper
def _count_pairs(model, work, rng, hits, misses):
    """Count links by community, and pairs without a link by the sums of their w."""
    n, k = work.pi.shape
    everything = work.rows[3]
    hits[:] = 0.0
    for j in range(k):
        everything[j] = 0.5 * work.total[j] * work.total[j]
    n_hidden = model.hidden.size // 2
    n_missing = 0.5 * n * (n - 1.0) - model.indices.size // 2 - n_hidden
    for a in range(n):
        x = work.pi[a]
        for j in range(k):
            everything[j] -= 0.5 * x[j] * x[j]
        for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
            y = work.pi[model.hidden[i]]
            for j in range(k):
                everything[j] -= 0.5 * x[j] * y[j]
        for i in range(model.indptr[a], model.indptr[a + 1]):
            b = model.indices[i]
            if b < a:
                y = work.pi[b]
                u = rng.random() * link_probability(x, y, work.rate)
                found = k
                for j in range(k):
                    everything[j] -= x[j] * y[j]
                    u -= x[j] * y[j] * work.rate[j]
                    if u < 0.0 and found == k:
                        found = j
                hits[found] += 1.0
    misses[k] = n_missing
    for j in range(k):
        misses[j] = max(everything[j], 0.0)
        misses[k] -= misses[j]
    misses[k] = max(misses[k], 0.0)


@helper
def _sum_events(work, gain, back):
    """Return sum log d of all events, and what they add to Beta laws of rates."""
    k, value = work.alpha.size, 0.0
    gain[:] = 0.0
    back[:] = 0.0
    for e in range(0, 2 * work.n_events[0], 2):
        x, y = work.pi[work.other[e + 1]], work.pi[work.other[e]]
        d = mean_ratio(x, y, work.rate, work.loss)
        inverse = 1.0 / (1.0 - link_probability(x, y, work.rate))
        value += math.log(d)
        rest = 1.0
        for j in range(k):
            w = float(x[j]) * float(y[j])
            rest -= w
            gain[j] += w * (1.0 / (1.0 - work.rate[j]) - inverse) / d
        gain[k] += rest * (1.0 / (1.0 - work.rate[k]) - inverse) / d
    for j in range(k + 1):
        slope = gain[j]
        gain[j] = max(work.rate[j] * slope, 0.0)
        back[j] = max(-(1.0 - work.rate[j]) * slope, 0.0)
    return value
