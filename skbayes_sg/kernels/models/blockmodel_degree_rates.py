"""Rates of links and the scale of alpha, given the masses of all nodes.

With s_k events of two ends in community k, and W_k the sum of theta_ak theta_bk over
all pairs,

    L_k ~ Gamma(prior + s_k, rate prior + W_k),

and the same of L_0 with s_0 and W_0, the events and sums of different communities.
Masses and rates move slowly if only given one another, because events in community k do
not change with theta_ak -> s theta_ak for all a and L_k -> L_k / s^2. So log s is drawn
too, given events: C_k of different communities have an end in k, and X_k is the sum of
theta_ak (rho_b - theta_bk) + theta_bk (rho_a - theta_ak) over pairs.

    log p(log s) = (sum_a alpha + C_k - 2 prior) log s - s (K alpha sum_a theta_ak
                   + L_0 X_k) - prior L_k / s^2
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_degrees import (
    AHEAD,
    RUNNING,
    STARTED,
    TINY,
    DegreeBlockmodel,
    prefetch_node,
    set_losses,
)
from skbayes_sg.kernels.models.blockmodel_prior import MassScale, drawn_scale
from skbayes_sg.kernels.numerics.positive import draw_gamma, draw_positive_poisson
from skbayes_sg.kernels.numerics.slices import draw_by_slices, log_density
from skbayes_sg.kernels.protocol.model import needs_refresh, refresh

SCALED = 2_000_000  # masses whose scale is drawn after a sweep
ATTEMPTS = 1000  # to draw two different communities, which rounding may not have


class GroupScale(NamedTuple):
    """The law of log s, the scale of all masses of a community."""

    power: float  # of s
    up: float  # coefficient of -s
    down: float  # coefficient of -1 / s^2


@log_density.register(GroupScale)
def _(law, x):
    return law.power * x - law.up * math.exp(x) - law.down * math.exp(-2.0 * x)


@needs_refresh.register(DegreeBlockmodel)
def _(model, t):
    return (t + 1) % model.refresh_every == 0


@refresh.register(DegreeBlockmodel)
def _(model, target, position, rng):
    # Coordinates are the identity, so that the position is theta.
    work = target.work
    if work.stage[0] != STARTED:
        set_losses(model, work, position)
    work.stage[0] = RUNNING
    draw_losses(model, work, rng)
    _scale_groups(model, work, rng)
    for j in range(work.loss.size):
        if j < work.alpha.size or model.learns_background:
            position[j] = math.log(work.loss[j])
    if model.learns_alpha:
        position[-1] = _drawn_alpha(model, work, float(position[-1]), rng)


@helper
def draw_losses(model, work, rng):
    """Draw the rates of all communities; leave C_k in the last of `rows`."""
    k = work.alpha.size
    hits, exposure, crossed = work.rows[0], work.rows[1], work.rows[3]
    hits[:] = 0.0
    crossed[:] = 0.0
    _sum_pairs(model, work, exposure)
    for a in range(len(work.mass)):
        for i in range(model.indptr[a], model.indptr[a + 1]):
            if model.indices[i] > a:
                break
            prefetch_node(model, work, i + AHEAD)
            _count_link(work, a, model.indices[i], hits, crossed, rng)
    for j in range(k + 1):
        prior = model.link_prior if j < k else model.background_prior
        if j < k or model.learns_background:
            shape, rate = prior[0] + hits[j], prior[1] + exposure[j]
            work.loss[j] = draw_gamma(shape, rng) / rate


@helper
def _sum_pairs(model, work, exposure):
    """Write sums over all known pairs, the last of different communities."""
    n, k = work.mass.shape
    exposure[:] = 0.0
    work.total[:] = 0.0
    everything = 0.0
    for a in range(n):
        x, own = work.mass[a], work.activity[a]
        everything += own
        exposure[k] -= 0.5 * own * own
        for j in range(k):
            work.total[j] += x[j]
            exposure[j] -= 0.5 * x[j] * x[j]
        for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
            y = work.mass[model.hidden[i]]
            exposure[k] -= 0.5 * own * work.activity[model.hidden[i]]
            for j in range(k):
                exposure[j] -= 0.5 * x[j] * y[j]
    exposure[k] += 0.5 * everything * everything
    for j in range(k):
        exposure[j] = max(exposure[j] + 0.5 * work.total[j] * work.total[j], 0.0)
        exposure[k] -= exposure[j]
    exposure[k] = max(exposure[k], 0.0)


@helper
def _count_link(work, a, b, hits, crossed, rng):
    """Draw the communities of the events of a link, and count them."""
    k, x, y = work.alpha.size, work.mass[a], work.mass[b]
    share = work.rows[2]
    same, together = 0.0, 0.0
    for j in range(k):
        w = x[j] * y[j]
        share[j] = w * work.loss[j]
        same += share[j]
        together += w
    apart = work.activity[a] * work.activity[b] - together
    apart = max(apart, 0.0) * work.loss[k] if k > 1 else 0.0
    rate = max(same + apart, TINY)
    for _ in range(int(draw_positive_poisson(rate, rng))):
        u = rng.random() * rate - apart
        if u < 0.0:
            hits[k] += 1.0
            _count_ends(work, a, b, crossed, rng)
        else:
            j = 0
            u -= share[0]
            while u >= 0.0 and j < k - 1:
                j += 1
                u -= share[j]
            hits[j] += 1.0


@helper
def _count_ends(work, a, b, crossed, rng):
    """Draw the two different communities of an event, and count them."""
    i, j = 0, 0
    for _ in range(ATTEMPTS):
        i, j = _community(work, a, rng), _community(work, b, rng)
        if i != j:
            break
    crossed[i] += 1.0
    crossed[j] += 1.0


@helper
def _community(work, a, rng):
    u, j = rng.random() * work.activity[a] - work.mass[a, 0], 0
    while u >= 0.0 and j < work.alpha.size - 1:
        j += 1
        u -= work.mass[a, j]
    return j


@helper
def _scale_groups(model, work, rng):
    """Draw the scale of the masses of each community against its rate.

    Of some of them in turn, from one at random, where there are many nodes: a column
    of masses is a slow walk through memory.
    """
    n, k = work.mass.shape
    c, everything, crossed = 0.0, 0.0, work.rows[3]
    for j in range(k):
        c += work.alpha[j]
        everything += work.total[j]
    first, n_scaled = int(rng.random() * k), min(k, max(1, SCALED // n))
    for i in range(n_scaled):
        j = (first + i) % k
        between = work.total[j] * (everything - work.total[j])
        for a in range(n):
            x = float(work.mass[a, j])
            between -= x * (work.activity[a] - x)
            for h in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
                b = model.hidden[h]
                between -= x * (work.activity[b] - work.mass[b, j])
        mass = n * work.alpha[j]
        law = GroupScale(
            mass + crossed[j] - 2.0 * model.link_prior[0],
            c * work.total[j] + work.loss[k] * max(between, 0.0),
            model.link_prior[1] * work.loss[j],
        )
        x = draw_by_slices(law, 0.0, 1.0 / math.sqrt(1.0 + mass + crossed[j]), rng)
        _scale(work, j, x)
        everything += work.total[j] * (1.0 - math.exp(-x))


@helper
def _scale(work, j, x):
    """Multiply all masses of community j by exp(x)."""
    factor, total = math.exp(x), 0.0
    for a in range(len(work.mass)):
        old = float(work.mass[a, j])
        work.mass[a, j] = max(old * factor, TINY)
        work.activity[a] += work.mass[a, j] - old
        work.log_sum[a] += x
        total += work.mass[a, j]
    work.total[j] = total
    work.loss[j] /= factor * factor


@helper
def _drawn_alpha(model, work, old, rng):
    """Return a draw of the log scale of alpha."""
    n, k = work.mass.shape
    logs, mass = 0.0, 0.0
    for a in range(n):
        logs += work.log_sum[a]
        mass += work.activity[a]
    return drawn_scale(MassScale(model.alpha[0], n, k, logs, mass), old, rng)
