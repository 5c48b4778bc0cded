"""Latent Dirichlet allocation whose parameters are the topics, for minibatches.

    phi_kw = theta_kw / sum_v theta_kv,    theta_kw ~ Gamma(beta, 1)

A row is a document. Its local variables are not kept: the topics of its tokens are
drawn again by `n_sweeps` Gibbs sweeps given phi, and the counts of words in topics are
averaged over the second half of the sweeps (Patterson & Teh, 2013). theta is (K, W). A
recorded draw is theta, alpha and beta.

    d log p / d theta_kw = (n_kw + beta - 1) / theta_kw - n_k / sum_v theta_kv - 1,
    n = N / |S| E[counts of the minibatch S | phi]

Given the counts, theta_kw has the distribution Gamma(beta + n_kw, 1).
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.positive_blocks import (
    add_gain_and_loss,
    n_simplexes,
    positive_prior,
)
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    n_parameters,
    n_recorded,
    n_rows,
    record,
)

LEAST = 1e-30  # added to probabilities, so that some topic can be drawn


class MinibatchLDA(NamedTuple):
    """Tokens, ordered by document, and the priors."""

    words: np.ndarray  # (n_tokens,) int32: the word of each token
    indptr: np.ndarray  # (D + 1,) int64: where the tokens of each document begin
    alpha: np.ndarray  # (K,)
    beta: float
    n_words: int  # W
    weight: float = 1.0  # factor of each document's log-likelihood
    n_sweeps: int = 20  # over the tokens of a document


class MinibatchWork(NamedTuple):
    """Counts of the last minibatch, and buffers."""

    counts: np.ndarray  # (W, K)
    n_k: np.ndarray  # (K,) their sums
    mass: np.ndarray  # (K,) sum of theta over the words
    phi: np.ndarray  # (W, K)
    n_dk: np.ndarray  # (K,)
    share: np.ndarray  # (K,)
    z: np.ndarray  # (tokens of the longest document,) int32


@n_parameters.register(MinibatchLDA)
def _(model):
    return model.n_words * model.alpha.size


@n_rows.register(MinibatchLDA)
def _(model):
    return model.indptr.size - 1


@n_simplexes.register(MinibatchLDA)
def _(model):
    return model.alpha.size


@init_work.register(MinibatchLDA)
def _(model):
    k = model.alpha.size
    rows = [np.zeros(k) for _ in range(4)]
    longest = int(np.diff(model.indptr).max())
    return MinibatchWork(
        counts=np.zeros((model.n_words, k)),
        n_k=rows[0],
        mass=rows[1],
        phi=np.zeros((model.n_words, k)),
        n_dk=rows[2],
        share=rows[3],
        z=np.zeros(longest, np.int32),
    )


@draw_local.register(MinibatchLDA)
def _(model, work, theta, idx, rng):
    n_words = model.n_words
    work.counts[:] = 0.0
    work.n_k[:] = 0.0
    for k in range(model.alpha.size):
        topic = theta[k * n_words : (k + 1) * n_words]
        work.mass[k] = topic.sum()
        for w in range(n_words):
            work.phi[w, k] = topic[w] / work.mass[k] + LEAST
    for d in idx:
        _draw_document(model, work, d, rng)


@helper
def _draw_document(model, work, d, rng):
    """Draw the topics of document d's tokens, and add their counts."""
    alpha, n_dk, share, z = model.alpha, work.n_dk, work.share, work.z
    first, last = model.indptr[d], model.indptr[d + 1]
    kept = model.n_sweeps - model.n_sweeps // 2
    n_dk[:] = 0.0
    for sweep in range(model.n_sweeps):
        for i in range(first, last):
            row = work.phi[model.words[i]]
            if sweep > 0:
                n_dk[z[i - first]] -= 1.0
            total = 0.0
            for k in range(alpha.size):
                total += (alpha[k] + n_dk[k]) * row[k]
                share[k] = total
            u, k = rng.random() * total, 0
            while share[k] < u and k < alpha.size - 1:
                k += 1
            n_dk[k] += 1.0
            z[i - first] = k
            if sweep >= model.n_sweeps - kept:
                work.counts[model.words[i], k] += 1.0 / kept
                work.n_k[k] += 1.0 / kept


@positive_prior.register(MinibatchLDA)
def _(model, work, shape, rate):
    shape[:] = model.beta
    rate[:] = 1.0


@add_gain_and_loss.register(MinibatchLDA)
def _(model, work, theta, idx, scale, gain, loss):
    scale = scale * model.weight
    for k in range(model.alpha.size):
        for w in range(model.n_words):
            gain[k * model.n_words + w] += scale * work.counts[w, k]


@add_gradient.register(MinibatchLDA)
def _(model, work, theta, idx, scale, out):
    scale = scale * model.weight
    for k in range(model.alpha.size):
        for w in range(model.n_words):
            j = k * model.n_words + w
            own = work.counts[w, k] / theta[j]
            out[j] += scale * (own - work.n_k[k] / work.mass[k])


@add_prior_gradient.register(MinibatchLDA)
def _(model, work, theta, out):
    for j in range(theta.size):
        out[j] += (model.beta - 1.0) / theta[j] - 1.0


@n_recorded.register(MinibatchLDA)
def _(model):
    return model.alpha.size * (model.n_words + 1) + 1


@record.register(MinibatchLDA)
def _(model, work, theta, out):
    out[: theta.size] = theta
    out[theta.size : -1] = model.alpha
    out[-1] = model.beta
