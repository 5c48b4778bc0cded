"""Links by their communities, and what other pairs have in common."""

import math

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_chances import LEAST, link_probability


@helper
def count_pairs(model, work, rng, hits, misses):
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
def set_start_rates(model, work, rng):
    """Write rates that suit the memberships, without any events."""
    k, hits, misses = work.alpha.size, work.rows[0], work.rows[1]
    count_pairs(model, work, rng, hits, misses)
    for j in range(k + 1):
        prior = model.link_prior if j < k else model.background_prior
        if j < k or model.learns_background:
            a, b = hits[j] + prior[0], misses[j] + prior[1]
            work.rate[j] = a / (a + b)
            work.loss[j] = math.log((a + b) / b)
            work.excess[j] = max(work.loss[j] - work.rate[j], LEAST)


@helper
def count_node(model, work, a, rng, shape, loss):
    """Draw communities of links and events; write alpha + their counts to `shape`.

    And the total memberships of all nodes that are not linked to a to `loss`.
    """
    k, x = work.alpha.size, work.pi[a]
    base, slope, share = work.rows[3], work.rows[4], work.rows[5]
    for j in range(k):
        shape[j] = work.alpha[j]
        loss[j] = work.total[j] - x[j]
    _set_shares(x, work.rate, base, slope)
    for i in range(model.indptr[a], model.indptr[a + 1]):
        y = work.pi[model.indices[i]]
        for j in range(k):
            loss[j] -= y[j]
        shape[_community(y, base, slope, share, rng)] += 1.0
    for i in range(model.hidden_indptr[a], model.hidden_indptr[a + 1]):
        y = work.pi[model.hidden[i]]
        for j in range(k):
            loss[j] -= y[j]
    _set_shares(x, work.excess, base, slope)
    e = work.head[a]
    while e >= 0:
        y = work.pi[work.other[e]]
        shape[_community(y, base, slope, share, rng)] += 1.0
        e = work.following[e]


@helper
def _set_shares(x, rate, base, slope):
    """Write what depends on one node of x_k (rate_0 + y_k (rate_k - rate_0))."""
    for j in range(x.size):
        base[j] = x[j] * rate[x.size]
        slope[j] = x[j] * (rate[j] - rate[x.size])


@helper
def _community(y, base, slope, share, rng):
    """Draw the community of a link or event with another node."""
    total = 0.0
    for j in range(y.size):
        share[j] = base[j] + slope[j] * y[j]
        total += share[j]
    u, j = rng.random() * total - share[0], 0
    while u >= 0.0 and j < y.size - 1:
        j += 1
        u -= share[j]
    return j
