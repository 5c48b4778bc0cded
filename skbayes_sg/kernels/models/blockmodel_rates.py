"""Link rates and the scale of alpha, drawn given the memberships of all nodes.

A link is one of community k with probability w_k beta_k / p_ab, and one between
communities otherwise. With s_k such links and W_k = sum of w_k over pairs without a
link, the law of beta_k is

    beta_k^(s_k) (1 - beta_k)^(W_k) prod d_ab,    and the same of delta with s_0, W_0,

a Beta law but for the events. Rates are drawn one after another by slices of the log
density of their logits, which looks at few events: those of pairs in community k.

At the conditional mode of the rates, L_k = log(1 + s_k / W_k) <= s_k / W_k, and d_ab <=
sum_k w_k L_k: there are no more events than links, apart from those of the priors and
of chance. That is why their lists have room for the links and some more. A chain that
runs out of it all the same stops with an error: its rates become NaN.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel import (
    RUNNING,
    STARTED,
    Blockmodel,
    BlockmodelWork,
    set_rates,
)
from skbayes_sg.kernels.models.blockmodel_chances import (
    LEAST,
    link_probability,
    softplus,
)
from skbayes_sg.kernels.models.blockmodel_counts import count_pairs, set_start_rates
from skbayes_sg.kernels.models.blockmodel_events import draw_events
from skbayes_sg.kernels.models.blockmodel_prior import MembershipScale, drawn_scale
from skbayes_sg.kernels.numerics.slices import draw_by_slices, log_density
from skbayes_sg.kernels.protocol.model import needs_refresh, refresh

NEGLIGIBLE = 1e-9  # share of a community in a pair, which d does not notice
ALMOST_ONE = 1.0 - 1e-15


class LogitRate(NamedTuple):
    """The law of the logit of one rate, given all others."""

    work: BlockmodelWork
    j: int
    n_listed: int  # events that notice the rate
    a: float  # links, and a prior number of them
    b: float  # the same of pairs without one


@needs_refresh.register(Blockmodel)
def _(model, t):
    return (t + 1) % model.refresh_every == 0


@refresh.register(Blockmodel)
def _(model, target, position, rng):
    # Coordinates are the identity, so that the position is theta.
    work = target.work
    _sum_memberships(work)
    if work.stage[0] == STARTED:
        # Rates that do not suit the memberships would have too many events.
        set_start_rates(model, work, rng)
        for j in range(work.rate.size):
            position[j] = math.log(work.rate[j] / (1.0 - work.rate[j]))
        work.stage[0] = RUNNING
    else:
        set_rates(model, work, position)
    draw_events(model, work, rng)
    _draw_rates(model, work, position, rng)
    if model.learns_alpha:
        n, k = work.pi.shape
        logs = 0.0
        for a in range(n):
            logs += work.log_sum[a]
        law = MembershipScale(model.alpha[0], n, k, logs)
        position[-1] = drawn_scale(law, float(position[-1]), rng)
    if work.overflow[0] > 0:
        position[:] = math.nan


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
    """Return the logit of a rate given all others."""
    law = LogitRate(work, j, _list_events(work, j), a, b)
    new = draw_by_slices(law, old, 4.0 / math.sqrt(a + 4.0), rng)
    shift = 1.0 / (1.0 + math.exp(-new)) - work.rate[j]
    drop = softplus(new) - work.loss[j]
    for i in range(law.n_listed):
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


@log_density.register(LogitRate)
def _(law, x):
    work, j = law.work, law.j
    shift = 1.0 / (1.0 + math.exp(-x)) - work.rate[j]
    drop, value = softplus(x) - work.loss[j], 0.0
    for i in range(law.n_listed):
        e, w = work.listed[i], work.weight[i]
        p = min(work.chance[e] + w * shift, ALMOST_ONE)
        d = math.log1p(-p) + work.geometric[e] + w * drop
        value += math.log(max(d, LEAST))
    return value - law.b * x - (law.a + law.b) * softplus(-x)
