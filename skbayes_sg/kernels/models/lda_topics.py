"""Gibbs draws of the topics of a document's tokens, one by one given all others.

The weights of a token's topics are split (Yao, Mimno & McCallum, 2009; Yu et al., 2015)

    (alpha_k + n_dk) (beta + n_kw) / (W beta + n_k) = n_kw q_k + beta q_k

with q_k = (alpha_k + n_dk) / (W beta + n_k). The first part is nonzero only for topics
with other tokens of the same word. Few draws fall into the second, whose total changes
by two terms per token. The cost of a token is thus proportional to the number of topics
of its word, not to the number of all topics.
"""

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.lda import LDA, UNKNOWN, count_document, set_prior


@draw_local.register(LDA)
def _(model, work, theta, idx, rng):
    set_prior(work, theta)
    for d in idx:
        _draw_document(model, work, d, rng)


@helper
def _draw_document(model, work, d, rng):
    """Draw the topics of all tokens of document d in order."""
    z, n_k, n_dk, inverse = work.z, work.n_k, work.n_dk, work.inverse
    prior, q, topics, counts = work.prior, work.weight, work.topics, work.counts
    n_topics, beta = model.n_topics, prior[-1]
    mass = (model.offsets.size - 1) * beta
    count_document(model, work, d)
    background = 0.0  # sum of q
    for k in range(n_topics):
        q[k] = (prior[k] + n_dk[k]) * inverse[k]
        background += q[k]
    for i in range(model.indptr[d], model.indptr[d + 1]):
        w, old = model.words[i], z[i]
        first = model.offsets[w]
        last = first + work.n_listed[w]
        if old != UNKNOWN:
            n_dk[old] -= 1.0
            n_k[old] -= 1.0
            inverse[old] = 1.0 / (mass + n_k[old])
            background -= q[old]
            q[old] = (prior[old] + n_dk[old]) * inverse[old]
            background += q[old]
            j = first
            while topics[j] != old:
                j += 1
            counts[j] -= 1
            if counts[j] == 0:
                last -= 1
                topics[j], counts[j] = topics[last], counts[last]
        total = 0.0
        for j in range(first, last):
            total += counts[j] * q[topics[j]]
        u = rng.random() * (total + beta * background)
        if u < total:
            j = first
            u -= counts[j] * q[topics[j]]
            while u > 0.0 and j < last - 1:
                j += 1
                u -= counts[j] * q[topics[j]]
            new = topics[j]
        else:
            new = _place(q, (u - total) / beta)
            j = first
            while j < last and topics[j] != new:
                j += 1
            if j == last:
                topics[j], counts[j] = new, 0
                last += 1
        counts[j] += 1
        work.n_listed[w] = last - first
        z[i] = new
        n_dk[new] += 1.0
        n_k[new] += 1.0
        inverse[new] = 1.0 / (mass + n_k[new])
        background -= q[new]
        q[new] = (prior[new] + n_dk[new]) * inverse[new]
        background += q[new]


@helper
def _place(weights, u):
    """Return the first index at which the cumulative sum of weights exceeds u.

    If there is none, because of rounding errors, return the last index.
    """
    k = 0
    u -= weights[0]
    while u > 0.0 and k < weights.size - 1:
        k += 1
        u -= weights[k]
    return k
