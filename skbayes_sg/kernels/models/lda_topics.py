"""Gibbs draws of the topics of a document's tokens, one by one given all others.

The weights of a token's topics are split (Yao, Mimno & McCallum, 2009; Yu et al., 2015)

    (alpha_k + n_dk) (beta + n_kw) / (W beta + n_k) = n_kw q_k + beta q_k

with q_k = (alpha_k + n_dk) / (W beta + n_k). The first part is nonzero only for topics
with other tokens of the same word. Few draws fall into the second, whose total changes
by two terms per token. The cost of a token is thus proportional to the number of topics
of its word, not to the number of all topics.

A token is not taken out of the counts before its new topic is known, because most keep
theirs: only q of its topic is computed without it, and its word's count is one less.
"""

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.data.prefetch import prefetch
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.lda import (
    LANES,
    LDA,
    UNKNOWN,
    count_document,
    set_prior,
)
from skbayes_sg.kernels.numerics.uniform import next_uniform, start_uniforms

AHEAD = 4  # tokens between a prefetch of a word's list and its use


@draw_local.register(LDA)
def _(model, work, theta, idx, rng):
    set_prior(work, theta)
    for d in idx:
        start_uniforms(work.random, rng)
        _draw_document(model, work, d)


@helper
def _draw_document(model, work, d):
    """Draw the topics of all tokens of document d in order."""
    words, offsets, z = model.words, model.offsets, work.z
    n_k, n_dk, prior, q = work.n_k, work.n_dk, work.prior, work.weight
    beta, mass = prior[-1], (offsets.size - 1) * prior[-1]
    n_used = work.n_used[0]
    count_document(model, work, d)
    background = 0.0  # sum of q
    for k in range(n_used):
        q[k] = (prior[k] + n_dk[k]) * work.inverse[k]
        background += q[k]
    for i in range(model.indptr[d], model.indptr[d + 1]):
        w, old = words[i], z[i]
        if i + AHEAD < words.size:
            prefetch(work.topics, offsets[words[i + AHEAD]])
            prefetch(work.counts, offsets[words[i + AHEAD]])
        kept, rest = 0.0, background  # q of the old topic with the token; sum without
        if old != UNKNOWN:
            kept = q[old]
            q[old] = (prior[old] + n_dk[old] - 1.0) / (mass + n_k[old] - 1.0)
            rest += q[old] - kept
        first, last = offsets[w], offsets[w] + work.n_listed[w]
        total = _sum_list(work, first, last, old)
        u = next_uniform(work.random) * (total + beta * rest)
        if u < total:
            new = work.topics[_place_in_list(work, first, last, u)]
        else:
            new = _place(q, n_used, (u - total) / beta)
        if new == old:
            q[old] = kept
            continue
        if old != UNKNOWN:
            _remove(work, first, w, old, mass)
        background = rest - q[new]
        add_token(work, first, w, new, mass)
        z[i] = new
        q[new] = (prior[new] + n_dk[new]) * work.inverse[new]
        background += q[new]


@helper
def _sum_list(work, first, last, old):
    """Write cumulative weights of a word's topics, without a token of topic `old`.

    Returns their total. Rounding up to LANES spares branches, which are hard to
    predict for short lists.
    """
    topics, counts, q, sums = work.topics, work.counts, work.weight, work.sums
    total, b = 0.0, 0
    for j in range(first, last, LANES):
        k0, k1, k2, k3 = topics[j], topics[j + 1], topics[j + 2], topics[j + 3]
        p0 = (counts[j] - (k0 == old)) * q[k0]
        p1 = (counts[j + 1] - (k1 == old)) * q[k1]
        p2 = (counts[j + 2] - (k2 == old)) * q[k2]
        p3 = (counts[j + 3] - (k3 == old)) * q[k3]
        p1, p3 = p0 + p1, p2 + p3
        sums[b], sums[b + 1] = total + p0, total + p1
        sums[b + 2] = total + (p1 + p2)
        total += p1 + p3
        sums[b + 3] = total
        b += LANES
    return total


@helper
def _place_in_list(work, first, last, u):
    """Return the first place of a list whose cumulative weight is at least u."""
    sums, n = work.sums, 0
    for b in range(0, last - first, LANES):
        n += (sums[b] < u) + (sums[b + 1] < u) + (sums[b + 2] < u) + (sums[b + 3] < u)
    return min(first + n, last - 1)


@helper
def _remove(work, first, w, k, mass):
    """Take a token of word w, whose list begins at `first`, out of topic k."""
    topics, counts = work.topics, work.counts
    j = first
    while topics[j] != k:
        j += 1
    counts[j] -= 1
    if counts[j] == 0:
        work.n_listed[w] -= 1
        last = first + work.n_listed[w]
        topics[j], counts[j] = topics[last], counts[last]
        topics[last], counts[last] = work.n_k.size, 0
    work.n_dk[k] -= 1.0
    work.n_k[k] -= 1.0
    work.inverse[k] = 1.0 / (mass + work.n_k[k])


@helper
def add_token(work, first, w, k, mass):
    """Put a token of word w, whose list begins at `first`, into topic k."""
    topics, counts = work.topics, work.counts
    j, last = first, first + work.n_listed[w]
    while j < last and topics[j] != k:
        j += 1
    if j == last:
        topics[j] = k
        work.n_listed[w] += 1
    counts[j] += 1
    work.n_dk[k] += 1.0
    work.n_k[k] += 1.0
    work.inverse[k] = 1.0 / (mass + work.n_k[k])


@helper
def _place(weights, n, u):
    """Return the first of n indices at which the sum of weights is at least u.

    If there is none, because of rounding errors, return the last index.
    """
    k = 0
    u -= weights[0]
    while u > 0.0 and k < n - 1:
        k += 1
        u -= weights[k]
    return k
