"""Link rates and the scale of alpha, drawn given the memberships of all nodes.

A link is one of community k with probability w_k beta_k / p_ab, and one between
communities otherwise. With s_k such links and W_k = sum of w_k over pairs without a
link, the law of beta_k is

    beta_k^(s_k) (1 - beta_k)^(W_k) prod d_ab,    and the same of delta with s_0, W_0,

a Beta law but for the events. These act like further links, g_k = beta_k d/d beta_k sum
log d_ab of them: a rate is proposed from the Beta law with s_k + g_k, and accepted or
rejected (Metropolis & Hastings), one after another.
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
from skbayes_sg.kernels.numerics.positive import draw_log_gamma
from skbayes_sg.kernels.protocol.model import needs_refresh, refresh

NEGLIGIBLE = 1e-9  # share of a community in a pair, which d does not notice


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
    """Return the logit of a rate given all others, whose law without events is Beta."""
    value, slope = _sum_events(work, j, 0.0, 0.0)
    gain, back = _pseudo_counts(work.rate[j], slope)
    new = draw_log_gamma(a + gain, rng) - draw_log_gamma(b + back, rng)
    rate, loss = 1.0 / (1.0 + math.exp(-new)), softplus(new)
    shift, drop = rate - work.rate[j], loss - work.loss[j]
    new_value, new_slope = _sum_events(work, j, shift, drop)
    new_gain, new_back = _pseudo_counts(rate, new_slope)
    ratio = new_value - value + _log_beta(new, a, b) - _log_beta(old, a, b)
    ratio += _log_beta(old, a + new_gain, b + new_back)
    ratio += _log_norm(a + new_gain, b + new_back)
    ratio -= _log_beta(new, a + gain, b + back) + _log_norm(a + gain, b + back)
    if not math.log(1.0 - rng.random()) < ratio:
        return old
    for e in range(work.n_events[0]):
        w = _weight(work, e, j)
        work.chance[e] += w * shift
        work.geometric[e] += w * drop
    work.rate[j], work.loss[j] = rate, loss
    return new


@helper
def _sum_events(work, j, shift, drop):
    """Return sum log d of the events, with changed rate and loss, and its slope."""
    inverse, value, slope = 1.0 / (1.0 - work.rate[j] - shift), 0.0, 0.0
    for e in range(work.n_events[0]):
        w = _weight(work, e, j)
        if w > NEGLIGIBLE:
            p = work.chance[e] + w * shift
            d = max(math.log1p(-p) + work.geometric[e] + w * drop, LEAST)
            value += math.log(d)
            slope += w * (inverse - 1.0 / (1.0 - p)) / d
    return value, slope


@helper
def _weight(work, e, j):
    """Return w_j of an event's pair, w_0 for j = K."""
    x, y = work.pi[work.other[2 * e + 1]], work.pi[work.other[2 * e]]
    if j < x.size:
        return float(x[j]) * float(y[j])
    w = 1.0
    for i in range(x.size):
        w -= float(x[i]) * float(y[i])
    return w


@helper
def _pseudo_counts(rate, slope):
    """Return what to add to the Beta law of a rate for a slope of the log density."""
    return max(rate * slope, 0.0), max(-(1.0 - rate) * slope, 0.0)


@helper
def _log_beta(logit, a, b):
    """Return log(beta^a (1 - beta)^b)."""
    return -b * logit - (a + b) * softplus(-logit)


@helper
def _log_norm(a, b):
    return math.lgamma(a + b) - math.lgamma(a) - math.lgamma(b)
