"""Topics of the tokens of one batch of a stream, given the counts of earlier batches.

    p(z_i = k) ~ (alpha_k + n_dk) (beta + m_kw + c n_kw) / (W beta + m_k + c n_k)

n are counts of the batch's other tokens, m those of all earlier batches, and c is the
number of tokens for which each token of the batch stands: with c = 1 the posterior of
the topics after the earlier batches, Dirichlet(beta + m_k), is the prior of this one.
Counts of the batch are averaged over the later half of `n_sweeps` sweeps.
"""

import numpy as np

from skbayes_sg.kernels.generic import entry_point, helper


@entry_point
def add_batch_counts(model, share, rng, m, counts):
    """Draw the topics of a batch's tokens, and add their counts.

    Parameters
    ----------
    model : MinibatchLDA
        The batch, and the priors.
    share : float
        Of the batch in all counts; tokens stand for ``share * model.weight`` each.
    rng : Generator
        Of the random numbers.
    m : (W, K)
        Counts of earlier batches; those of this one come on top while it is sampled.
    counts : (W, K)
        Average counts of the batch are added, each token as one.
    """
    n_topics, n_sweeps = model.alpha.size, model.n_sweeps
    mass, c = model.n_words * model.beta, share * model.weight
    m_k = np.zeros(n_topics)
    for w in range(model.n_words):
        for k in range(n_topics):
            m_k[k] += m[w, k]
    inverse, n_dk, total = 1.0 / (mass + m_k), np.zeros(n_topics), np.zeros(n_topics)
    z = np.full(model.words.size, -1, np.int32)
    for sweep in range(n_sweeps):
        gain = 1.0 / (n_sweeps - n_sweeps // 2) if sweep >= n_sweeps // 2 else 0.0
        for d in range(model.indptr.size - 1):
            first, last = model.indptr[d], model.indptr[d + 1]
            n_dk[:] = 0.0
            if sweep > 0:
                for i in range(first, last):
                    n_dk[z[i]] += 1.0
            for i in range(first, last):
                w = model.words[i]
                if z[i] >= 0:
                    _move(m, m_k, n_dk, inverse, mass, w, z[i], -c, -1.0)
                z[i] = _drawn(model.alpha, model.beta, m[w], n_dk, inverse, total, rng)
                _move(m, m_k, n_dk, inverse, mass, w, z[i], c, 1.0)
                counts[w, z[i]] += gain


@helper
def _move(m, m_k, n_dk, inverse, mass, w, k, c, one):
    """Count a token of word w to topic k, or no longer."""
    n_dk[k] += one
    m[w, k] += c
    m_k[k] += c
    inverse[k] = 1.0 / (mass + m_k[k])


@helper
def _drawn(alpha, beta, m_w, n_dk, inverse, total, rng):
    """Return a draw of the topic of one token."""
    so_far = 0.0
    for k in range(alpha.size):
        so_far += (alpha[k] + n_dk[k]) * (beta + m_w[k]) * inverse[k]
        total[k] = so_far
    u, k = rng.random() * so_far, 0
    while total[k] < u and k < alpha.size - 1:
        k += 1
    return k
