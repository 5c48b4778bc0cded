"""Topic weights of documents given the topics, by Gibbs draws of the topics of tokens.

    p(z_i = k) ~ (alpha_k + n_dk) phi_kw = n_dk phi_kw + alpha_k phi_kw

The first part is nonzero only for topics in the document, and the sum of the second
depends on the word only. Given z the weights of a document are Dirichlet(alpha + n_d),
whose exact moments are summed instead of draws. Every document uses the same random
numbers, so that its result depends neither on other documents nor on its position.
"""

import numpy as np

from skbayes_sg.kernels.generic import entry_point, helper
from skbayes_sg.kernels.numerics.uniform import next_uniform


@entry_point
def add_document_moments(
    words, indptr, phi, alpha, seed, n_burn_in, n_sweeps, z, mean, square
):
    """Draw the topics of tokens, and add moments of each document's weights.

    Parameters
    ----------
    words : (n_tokens,) int32
        The word of each token.
    indptr : (D + 1,) int64
        Where the tokens of each document begin.
    phi : (W, K)
        Probabilities of the words in each topic.
    alpha : (K,)
        Prior of the weights.
    seed : uint64
        Seed of the random numbers.
    n_burn_in, n_sweeps : int
        Sweeps over a document before and while moments are summed.
    z : (n_tokens,) int32
        Topics of the tokens, initially -1; updated in place.
    mean, square : (D, K)
        E eta and E eta^2 of each of the `n_sweeps` sweeps are added to them.
    """
    n_words, n_topics = phi.shape
    base, mass = np.zeros(n_words), 0.0
    for w in range(n_words):
        for k in range(n_topics):
            base[w] += alpha[k] * phi[w, k]
    for k in range(n_topics):
        mass += alpha[k]
    n_dk, listed = np.zeros(n_topics), np.zeros(n_topics, np.int32)
    random = np.zeros(1, np.uint64)
    for d in range(indptr.size - 1):
        first, last = indptr[d], indptr[d + 1]
        random[0] = seed
        n_dk[:] = 0.0
        for i in range(first, last):
            if z[i] >= 0:
                n_dk[z[i]] += 1.0
        n_listed = 0
        for k in range(n_topics):
            if n_dk[k] > 0.0:
                listed[n_listed] = k
                n_listed += 1
        total = mass + last - first
        for sweep in range(n_burn_in + n_sweeps):
            n_listed = _sweep(
                words, phi, alpha, base, z, n_dk, listed, n_listed, first, last, random
            )
            if sweep >= n_burn_in:
                for k in range(n_topics):
                    b = alpha[k] + n_dk[k]
                    mean[d, k] += b / total
                    square[d, k] += b * (b + 1.0) / (total * (total + 1.0))


@helper
def _sweep(words, phi, alpha, base, z, n_dk, listed, n_listed, first, last, random):
    """Draw the topics of one document's tokens; return how many topics it has."""
    for i in range(first, last):
        row, old = phi[words[i]], z[i]
        if old >= 0:
            n_dk[old] -= 1.0
            if n_dk[old] == 0.0:
                j = 0
                while listed[j] != old:
                    j += 1
                n_listed -= 1
                listed[j] = listed[n_listed]
        total = 0.0
        for j in range(n_listed):
            total += n_dk[listed[j]] * row[listed[j]]
        u = next_uniform(random) * (total + base[words[i]])
        if u < total:
            j = 0
            k = listed[0]
            u -= n_dk[k] * row[k]
            while u > 0.0 and j < n_listed - 1:
                j += 1
                k = listed[j]
                u -= n_dk[k] * row[k]
        else:
            k = np.int32(0)
            u -= total + alpha[0] * row[0]
            while u > 0.0 and k < alpha.size - 1:
                k += 1
                u -= alpha[k] * row[k]
            if n_dk[k] == 0.0:
                listed[n_listed] = k
                n_listed += 1
        n_dk[k] += 1.0
        z[i] = k
    return n_listed
