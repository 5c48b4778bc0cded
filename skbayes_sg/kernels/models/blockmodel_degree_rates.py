"""Rates of links, the scale of alpha and the shape s, given the masses of all nodes.

With s_k events of two ends in community k, and W_k the sum of theta_ak theta_bk over
all pairs,

    L_k ~ Gamma(prior + s_k, rate prior + W_k),

and the same of L_0 with s_0 and W_0, the events and sums of different communities.
Masses and rates move slowly if only given one another, because events in community k do
not change with theta_ak -> e^x theta_ak for all a and L_k -> L_k / e^2x. So x is drawn
too, given events: C_k of different communities have an end in k, and X_k is the sum of
theta_ak (rho_b - theta_bk) + theta_bk (rho_a - theta_ak) over pairs.

    log p(x) = (sum_a alpha + C_k - 2 prior) x - L_0 X_k e^x - prior L_k / e^2x
               + sum_a (s - sum alpha) log rho_a(x) - s rho_a(x)
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_degrees import (
    AHEAD,
    RUNNING,
    STARTED,
    DegreeBlockmodel,
    DegreeWork,
    prefetch_node,
    set_losses,
)
from skbayes_sg.kernels.models.blockmodel_prior import (
    ActivityShape,
    MembershipScale,
    drawn_scale,
)
from skbayes_sg.kernels.models.blockmodel_proposals import TINY
from skbayes_sg.kernels.numerics.positive import draw_gamma, draw_positive_poisson
from skbayes_sg.kernels.numerics.slices import draw_by_slices, log_density
from skbayes_sg.kernels.protocol.model import needs_refresh, refresh

SCALED = 2_000_000  # masses whose scale is drawn after a sweep
NEGLIGIBLE = 1e-6  # share, whose square does not matter
ALMOST_ONE = 1.0 - 1e-15
ATTEMPTS = 1000  # to draw two different communities, which rounding may not have


class GroupScale(NamedTuple):
    """The law of x, where all masses of a community are multiplied by e^x."""

    work: DegreeWork  # with shares of the community in activities
    n_shares: int  # that are not negligible
    surplus: float  # s - sum alpha
    power: float  # coefficient of x
    up: float  # of -e^x
    down: float  # of -e^-2x


@log_density.register(GroupScale)
def _(law, x):
    growth, logs = math.expm1(x), 0.0
    for i in range(law.n_shares):
        logs += math.log1p(max(law.work.share[i] * growth, -ALMOST_ONE))
    value = law.power * x + law.surplus * logs
    return value - law.up * math.exp(x) - law.down * math.exp(-2.0 * x)


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
    _draw_priors(model, work, position, rng)


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
    everything, crossed, surplus = 0.0, work.rows[3], work.shape[0]
    for j in range(k):
        surplus -= work.alpha[j]
        everything += work.total[j]
    first, n_scaled = int(rng.random() * k), min(k, max(1, SCALED // n))
    for i in range(n_scaled):
        j = (first + i) % k
        between, n_shares, negligible = work.total[j], 0, 0.0
        between *= everything - work.total[j]
        for a in range(n):
            x = float(work.mass[a, j])
            share = x / work.activity[a]
            if share > NEGLIGIBLE:
                work.share[n_shares] = share
                n_shares += 1
            else:
                negligible += share
            between -= x * (work.activity[a] - x)
            for h in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
                b = model.hidden[h]
                between -= x * (work.activity[b] - work.mass[b, j])
        up = work.shape[0] * work.total[j] + work.loss[k] * max(between, 0.0)
        law = GroupScale(
            work,
            n_shares,
            surplus,
            n * work.alpha[j] + crossed[j] - 2.0 * model.link_prior[0],
            up - surplus * negligible,
            model.link_prior[1] * work.loss[j],
        )
        x = draw_by_slices(law, 0.0, 1.0 / math.sqrt(1.0 + up), rng)
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
def _draw_priors(model, work, theta, rng):
    """Draw the log scale of alpha, if learned, and log s."""
    n, k = work.mass.shape
    logs, sums, total = 0.0, 0.0, 0.0
    for a in range(n):
        log_activity = math.log(work.activity[a])
        logs += work.log_sum[a] - k * log_activity
        sums += log_activity
        total += work.activity[a]
    if model.learns_alpha:
        law = MembershipScale(model.alpha[0], n, k, logs)
        theta[k + 1] = drawn_scale(law, float(theta[k + 1]), rng)
    law_of_shape = ActivityShape(n, sums - total)
    theta[k + 2] = drawn_scale(law_of_shape, float(theta[k + 2]), rng)
