"""A start with more topics than wanted, which are merged until K are left.

A chain that starts with K topics often ends with two true topics in one and another in
two, which draws of single tokens cannot repair. With more topics, true ones may be in
several parts but are seldom together. The two topics a and b whose union is the most
probable are merged, again and again:

    log p(w | z, a and b together) - log p(w | z)
        = sum_w [g(n_aw + n_bw) + g(0) - g(n_aw) - g(n_bw)],  g(n) = log Gamma(beta + n)
        - h(n_a + n_b) - h(0) + h(n_a) + h(n_b),          h(n) = log Gamma(W beta + n)

Only words that occur in both topics matter to the first sum. This may be done several
times, each time after all topics were split.
"""

import math

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.lda import UNKNOWN
from skbayes_sg.kernels.models.lda_topics import add_token


@helper
def merge_topics(model, work):
    """Merge topics until ``model.n_topics`` are left."""
    size, n_words = work.n_k.size, model.offsets.size - 1
    name, shared = np.arange(size), np.zeros((size, size))
    for k in range(size):
        _add_shared(model, work, k, shared)
    for _ in range(size - model.n_topics):
        a, b = _best_pair(work, shared, name, n_words * work.prior[-1])
        _join(model, work, a, b)
        name[name == b] = a
        _add_shared(model, work, a, shared)
    left = np.unique(name)
    # The larger the prior of a topic, the more tokens it should have.
    left = left[np.argsort(-work.n_k[left], kind="mergesort")]
    place = np.argsort(-work.prior[: left.size], kind="mergesort")
    sizes = work.n_k[left]
    new = np.zeros(size, np.int16)
    work.n_k[:] = 0.0
    for j in range(left.size):
        new[left[j]] = place[j]
        work.n_k[place[j]] = sizes[j]
    for i in range(work.z.size):
        if work.z[i] != UNKNOWN:
            work.z[i] = new[name[work.z[i]]]
    for w in range(n_words):
        for j in range(model.offsets[w], model.offsets[w] + work.n_listed[w]):
            work.topics[j] = new[work.topics[j]]
    work.n_used[0] = left.size
    work.n_merged[0] += 1


@helper
def split_topics(model, work, rng):
    """Give half of the tokens of each topic to a new one, as far as there are any."""
    mass = (model.offsets.size - 1) * work.prior[-1]
    work.n_used[0] = work.n_k.size
    work.n_k[:] = 0.0
    work.n_listed[:] = 0
    work.topics[:] = work.n_k.size
    work.counts[:] = 0
    for i in range(work.z.size):
        k, w = work.z[i], model.words[i]
        if k == UNKNOWN:
            continue
        if k < model.n_extra and rng.random() < 0.5:
            k += model.n_topics
        work.z[i] = k
        add_token(work, model.offsets[w], w, k, mass)


@helper
def _add_shared(model, work, a, shared):
    """Compute the first sum of topic a with all others, (size, size)."""
    beta, topics, counts = work.prior[-1], work.topics, work.counts
    shared[a] = 0.0
    for w in range(model.offsets.size - 1):
        first = model.offsets[w]
        i = _find(work, first, work.n_listed[w], a)
        if i == UNKNOWN:
            continue
        alone = math.lgamma(beta) - math.lgamma(beta + counts[i])
        for j in range(first, first + work.n_listed[w]):
            both = math.lgamma(beta + counts[i] + counts[j])
            shared[a, topics[j]] += both + alone - math.lgamma(beta + counts[j])
    shared[:, a] = shared[a]


@helper
def _find(work, first, n, k):
    """Return where topic k is in a word's list of n topics, UNKNOWN if nowhere."""
    for j in range(first, first + n):
        if work.topics[j] == k:
            return j
    return UNKNOWN


@helper
def _best_pair(work, shared, name, mass):
    """Return the two topics whose union is the most probable."""
    best, pair, n_k = -math.inf, (0, 1), work.n_k
    for a in range(name.size):
        for b in range(a):
            if name[a] == a and name[b] == b:
                value = math.lgamma(mass + n_k[a]) + math.lgamma(mass + n_k[b])
                value -= math.lgamma(mass + n_k[a] + n_k[b]) + math.lgamma(mass)
                value += shared[a, b]
                if value > best:
                    best, pair = value, (b, a)
    return pair


@helper
def _join(model, work, a, b):
    """Count the tokens of topic b to topic a."""
    topics, counts = work.topics, work.counts
    for w in range(model.offsets.size - 1):
        first = model.offsets[w]
        j = _find(work, first, work.n_listed[w], b)
        if j == UNKNOWN:
            continue
        i = _find(work, first, work.n_listed[w], a)
        if i == UNKNOWN:
            topics[j] = a
            continue
        counts[i] += counts[j]
        work.n_listed[w] -= 1
        last = first + work.n_listed[w]
        topics[j], counts[j] = topics[last], counts[last]
        topics[last], counts[last] = work.n_k.size, 0
    work.n_k[a] += work.n_k[b]
    work.n_k[b] = 0.0
