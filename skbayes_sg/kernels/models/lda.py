"""Latent Dirichlet allocation (Blei, Ng & Jordan, 2003), its topics integrated out.

    eta_d ~ Dirichlet(alpha),   phi_k ~ Dirichlet(beta),
    z_i ~ eta_d,                w_i ~ phi_k for z_i = k,     tokens i of document d

A row is a document. The topic z_i of each token is a local variable that is kept
between iterations. Given all others its distribution is (Griffiths & Steyvers, 2004)

    p(z_i = k) ~ (alpha_k + n_dk) (beta + n_kw) / (W beta + n_k),

where n are the counts of all other tokens. theta only consists of the logarithms of the
priors, which are fixed unless they are learned:

    theta = log alpha_1, ..., log alpha_K, log beta

A recorded draw is the posterior of the topics given z, phi_k ~ Dirichlet(beta + n_k1,
...):

    recorded = beta + n, (K, W);  alpha, (K,);  beta
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.protocol.model import (
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    parameter_dtype,
    record,
    theta_of,
)

UNKNOWN = -1  # the topic of a token before its document is first visited
BLOCK = 2**18  # tokens that are looked at together
MOST_TOPICS = 200  # of a chain that starts with more than wanted
MARGIN = 16  # numbers of eight bytes: two cache lines
LANES = 4  # entries of a word's list that are looked at together


class LDA(NamedTuple):
    """Tokens, ordered by document, and the priors."""

    words: np.ndarray  # (n_tokens,) int32: the word of each token
    indptr: np.ndarray  # (D + 1,) int64: where the tokens of each document begin
    offsets: np.ndarray  # (W + 1,) int64: where the topics of each word begin
    alpha: np.ndarray  # (K,) if it is not learned
    beta: float  # if it is not learned
    n_topics: int
    learns_alpha: bool
    learns_beta: bool
    refresh_every: int = 1  # iterations between draws of learned priors
    n_extra: int = 0  # topics that a chain has in addition until they are merged
    merge_after: int = 0  # iterations
    n_rounds: int = 1  # in which topics are merged; after all but the last, split again


class LDAWork(NamedTuple):
    """Topics of all tokens, and their counts.

    Each word has an unordered list of the topics to which any of its tokens belong. The
    room for it is a multiple of LANES. The unused part has counts of zero of a topic K,
    which is no topic of a token, and whose weight is zero. Here K is the number of
    topics with those that are merged later.
    """

    z: np.ndarray  # (n_tokens,) int16
    n_listed: np.ndarray  # (W,) int32: topics that have tokens of each word
    topics: np.ndarray  # (offsets[-1],) int16: the listed topics
    counts: np.ndarray  # (offsets[-1],) int32: their numbers of tokens of the word
    n_k: np.ndarray  # (K,) tokens of each topic
    n_dk: np.ndarray  # (K,) tokens of each topic in one document
    prior: np.ndarray  # (K + 1,) alpha and beta
    inverse: np.ndarray  # (K,) 1 / (W beta + n_k)
    weight: np.ndarray  # (K + 1,) (alpha_k + n_dk) / (W beta + n_k) of one document
    sums: np.ndarray  # (K + LANES,) cumulative weights of the topics of one word
    random: np.ndarray  # (1,) uint64: state of the uniform numbers of one document
    n_used: np.ndarray  # (1,) topics that tokens may have
    n_merged: np.ndarray  # (1,) how often topics were merged


def n_extra_topics(n_topics):
    """Return how many topics a chain should have in addition at its start.

    Merging takes time that grows with the square of their number.
    """
    return max(0, min(n_topics, MOST_TOPICS - n_topics)) if n_topics > 1 else 0


def list_offsets(words, n_words, n_topics):
    """Return where the list of topics of each word begins, at its largest length."""
    sizes = np.zeros(n_words, np.int64)
    for first in range(0, words.size, BLOCK):  # bincount copies what it counts
        sizes += np.bincount(words[first : first + BLOCK], minlength=n_words)
    sizes = -(-np.minimum(sizes, n_topics) // LANES) * LANES
    return np.concatenate([[0], np.cumsum(sizes)])


@n_parameters.register(LDA)
def _(model):
    return model.n_topics + 1


@n_rows.register(LDA)
def _(model):
    return model.indptr.size - 1


@n_recorded.register(LDA)
def _(model):
    return model.n_topics * model.offsets.size + 1


@init_work.register(LDA)
def _(model):
    k = model.n_topics + model.n_extra
    return LDAWork(
        z=np.full(model.words.size, UNKNOWN, np.int16),
        n_listed=np.zeros(model.offsets.size - 1, np.int32),
        topics=np.full(model.offsets[-1], k, np.int16),
        counts=np.zeros(model.offsets[-1], np.int32),
        n_k=_zeros_apart(k),
        n_dk=_zeros_apart(k),
        prior=_zeros_apart(k + 1),
        inverse=_zeros_apart(k),
        weight=_zeros_apart(k + 1),
        sums=_zeros_apart(k + LANES),
        random=_zeros_apart(1, np.uint64),
        n_used=np.array([k], np.int64),
        n_merged=np.zeros(1, np.int64),
    )


def _zeros_apart(size, dtype=np.float64):
    """Return zeros with a margin, so that they share no cache line with other arrays.

    Each token writes to them, for which chains in other threads would have to wait.
    """
    return np.zeros(size + 2 * MARGIN, dtype)[MARGIN:-MARGIN]


@helper
def set_prior(work, theta):
    """Write alpha and beta of theta, and what depends on them, to `work`."""
    n_words, n_topics, mass = work.n_listed.size, theta.size - 1, 0.0
    for k in range(n_topics):
        work.prior[k] = math.exp(theta[k])
        mass += work.prior[k]
    work.prior[n_topics:-1] = mass / n_topics
    work.prior[-1] = math.exp(theta[-1])
    for k in range(work.n_used[0]):
        work.inverse[k] = 1.0 / (n_words * work.prior[-1] + work.n_k[k])


@helper
def count_document(model, work, d):
    """Count document d's tokens by topic; return how many have a topic."""
    n_dk, known = work.n_dk, 0
    for k in range(n_dk.size):
        n_dk[k] = 0.0
    for i in range(model.indptr[d], model.indptr[d + 1]):
        if work.z[i] != UNKNOWN:
            n_dk[work.z[i]] += 1.0
            known += 1
    return known


@log_likelihood.register(LDA)
def _(model, work, theta, idx):
    # The log-likelihood of the tokens at the means of eta and phi given z.
    set_prior(work, theta)
    beta, total = work.prior[-1], 0.0
    for d in idx:
        mass = float(count_document(model, work, d))
        background = 0.0
        for k in range(work.n_used[0]):
            work.weight[k] = (work.prior[k] + work.n_dk[k]) * work.inverse[k]
            background += work.weight[k]
            mass += work.prior[k]
        for i in range(model.indptr[d], model.indptr[d + 1]):
            w = model.words[i]
            value = beta * background
            for j in range(model.offsets[w], model.offsets[w] + work.n_listed[w]):
                value += work.counts[j] * work.weight[work.topics[j]]
            total += math.log(value / mass)
    return total


@log_prior.register(LDA)
def _(model, work, theta):
    # Gamma(1, 1) priors of alpha and beta if these are learned, on the log scale.
    value, last = 0.0, theta.size - 1
    for j in range(theta.size):
        if (model.learns_beta and j == last) or (model.learns_alpha and j < last):
            value += theta[j] - math.exp(theta[j])
    return value


@record.register(LDA)
def _(model, work, theta, out):
    set_prior(work, theta)
    n_words, size = model.offsets.size - 1, model.n_topics * (model.offsets.size - 1)
    out[:size] = work.prior[-1]
    for w in range(n_words):
        for j in range(model.offsets[w], model.offsets[w] + work.n_listed[w]):
            out[work.topics[j] * n_words + w] += work.counts[j]
    out[size:-1] = work.prior[: model.n_topics]
    out[-1] = work.prior[-1]


@theta_of.register(LDA)
def _(model, draw):
    return np.log(draw[-model.n_topics - 1 :]).astype(np.float32)


@parameter_dtype.register(LDA)
def _(model):
    return np.dtype(np.float32)
