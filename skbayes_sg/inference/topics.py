"""Topics of documents, and predictions of words, from posterior draws of topics."""

from collections.abc import Iterator
from typing import NamedTuple

import joblib
import numpy as np
import scipy.sparse as sp
from scipy.special import gammaln, psi

from skbayes_sg.inference.alignment import align
from skbayes_sg.kernels.models.lda_documents import add_document_moments

BURN_IN = 20  # sweeps over a document with the first draw of a chain
SWEEPS = 10  # with every draw, each continuing from the assignments of the last
COMPLETION_SWEEPS = 40  # with every draw, to predict the second halves of documents
PAIRS_AT_ONCE = 2**22  # pairs of a word in a document and a topic, held in memory
PAIRS_PER_BLOCK = 2**16  # pairs of a word in a document, expanded to tokens at once


class TopicDraws(NamedTuple):
    """Draws of topics, whose labels mean the same in all of them."""

    counts: np.ndarray  # (n_chains, n_draws, K, W) pseudo-counts
    alpha: np.ndarray  # (n_chains, n_draws, K)

    @classmethod
    def of(cls, draws, n_topics: int, n_words: int) -> "TopicDraws":
        """Return recorded draws, (n_chains, n_draws, dim), in their parts."""
        size, shape = n_topics * n_words, draws.shape[:2]
        counts = draws[..., :size].reshape(*shape, n_topics, n_words)
        return cls(counts, draws[..., size : size + n_topics])

    def chains(self) -> Iterator:
        """Yield the draws of each chain: phi, (W, K), and alpha, one after another."""
        for counts, alphas in zip(self.counts, self.alpha, strict=True):
            yield (
                (word_probabilities(n), np.asarray(a, np.float64))
                for n, a in zip(counts, alphas, strict=True)
            )


def word_probabilities(counts):
    """Return phi, (W, K), of pseudo-counts (K, W): their mean given the counts."""
    phi = np.asarray(counts, np.float64).T
    return np.ascontiguousarray(phi / phi.sum(axis=0))


def align_draws(draws, n_topics, n_words):
    """Give the topics of recorded draws, (n_chains, n_draws, dim), the same labels.

    The draws are changed in place.

    Returns
    -------
    orders : ndarray of shape (n_chains, n_draws, n_topics)
        The topic of each draw that now has this label.
    affinity : ndarray of shape (n_chains, n_topics)
        Affinity with the mean over all draws, averaged over the draws of a chain.
    """
    shape = draws.shape[:2]
    counts = TopicDraws.of(draws, n_topics, n_words).counts
    found = align(counts.reshape(-1, n_topics, n_words))
    orders = found.order.reshape(*shape, n_topics)
    permute(draws, orders, n_topics, n_words)
    return orders, found.affinity.reshape(*shape, n_topics).mean(axis=1)


def permute(draws, orders, n_topics, n_words):
    """Reorder the topics of each recorded draw in place."""
    size = n_topics * n_words
    for at in np.ndindex(draws.shape[:2]):
        draw, order = draws[at], orders[at]
        if not np.array_equal(order, np.arange(n_topics)):
            draw[:size] = draw[:size].reshape(n_topics, n_words)[order].ravel()
            draw[size : size + n_topics] = draw[size : size + n_topics][order]


def topic_moments(draws, n_topics, n_words, variances=None, given=True, worth=1.0):
    """Return posterior moments of the topics from recorded draws.

    Given the pseudo-counts b of a draw, the words of a topic have a Dirichlet(b)
    distribution with mean m = b / sum b and variance m (1 - m) / (1 + sum b).

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, dim)
        Recorded draws, or the mean of each chain's draws.
    n_topics, n_words : int
        K and W.
    variances : ndarray of the shape of `draws`, default=None
        Variances of the draws, if `draws` holds their means.
    given : bool, default=True
        Whether draws are pseudo-counts rather than draws of the topics themselves.
    worth : float, default=1.0
        How many tokens a pseudo-count is worth, for the variance.

    Returns
    -------
    counts, std : ndarray of shape (n_topics, n_words)
        Mean of b, and standard deviation of the probability of each word.
    prior : ndarray of shape (n_topics + 1,)
        Mean of alpha and beta.
    """
    size, n = n_topics * n_words, draws.shape[0] * draws.shape[1]
    counts, mean, square = (np.zeros((n_topics, n_words)) for _ in range(3))
    for c, s in np.ndindex(draws.shape[:2]):
        b = draws[c, s, :size].reshape(n_topics, n_words)
        total = b.sum(axis=1, dtype=np.float64, keepdims=True)
        m, v = b / total, 1.0 / (1.0 + worth * total) if given else 0.0
        counts += b
        mean += m
        square += m * (m * (1.0 - v) + v)  # m^2 and the variance
        if variances is not None:
            square += variances[c, s, :size].reshape(b.shape) / total**2
    for moment in (counts, mean, square):
        moment /= n
    prior = draws[..., size:].reshape(n, -1).mean(axis=0, dtype=np.float64)
    return counts, np.sqrt(np.maximum(square - mean**2, 0.0)), prior


def tokens_of(X):
    """Return the word of each token and where documents begin, of CSR counts.

    Blocks of pairs keep what is needed on the way small beside the result.
    """
    n_tokens = int(X.data.sum(dtype=np.float64))
    words, indptr = np.empty(n_tokens, np.int32), np.zeros(X.shape[0] + 1, np.int64)
    for low in range(0, X.nnz, PAIRS_PER_BLOCK):
        high, n = min(low + PAIRS_PER_BLOCK, X.nnz), indptr[-1]
        counts = X.data[low:high].astype(np.int64)
        ends = n + np.concatenate([[0], np.cumsum(counts)])
        words[n : ends[-1]] = np.repeat(X.indices[low:high], counts)
        here = slice(*np.searchsorted(X.indptr, [low, high + 1]))
        indptr[here] = ends[X.indptr[here] - low]
        indptr[-1] = ends[-1]
    return words, indptr


def document_moments(X, draws, n_jobs=None):
    """Return mean and variance of each document's weights of topics, (D, K) each."""
    total, square, n = 0.0, 0.0, 0
    for mean, second in _moments_by_draw(X, draws, SWEEPS, n_jobs):
        total, square, n = total + mean, square + second, n + 1
    mean = total / n
    return mean, np.maximum(square / n - mean**2, 0.0)


def _moments_by_draw(X, draws, n_sweeps, n_jobs=None):
    """Yield E eta and E eta^2 of all documents given each draw, (D, K) each."""
    words, indptr = tokens_of(X)
    parts = _parts(indptr, joblib.effective_n_jobs(n_jobs))
    for chain in draws.chains():
        z = np.full(words.size, -1, np.int32)
        for s, (phi, alpha) in enumerate(chain):
            out = np.zeros((2, len(indptr) - 1, alpha.size))
            n_burn_in = BURN_IN if s == 0 else 0

            def run(d, e, out=out, z=z, phi=phi, alpha=alpha, n=n_burn_in, s=s):
                here = slice(indptr[d], indptr[e])
                ends = indptr[d : e + 1] - indptr[d]
                sizes = np.uint64(s), n, n_sweeps
                moments = z[here], out[0, d:e], out[1, d:e]
                add_document_moments(words[here], ends, phi, alpha, *sizes, *moments)

            joblib.Parallel(n_jobs=len(parts), prefer="threads")(
                joblib.delayed(run)(d, e) for d, e in parts
            )
            yield out / n_sweeps


def _parts(indptr, n):
    """Return ranges of documents with about as many tokens each, at most n of them."""
    places = np.searchsorted(indptr, np.linspace(0, indptr[-1], n + 1)[1:-1])
    ends = np.unique([0, *places, len(indptr) - 1])
    return list(zip(ends[:-1], ends[1:], strict=True))


def split_tokens(X, seed=0):
    """Return two CSR matrices, each with a random half of every document's tokens."""
    rng = np.random.default_rng(seed)
    words, indptr = tokens_of(X)
    documents = np.repeat(np.arange(X.shape[0]), np.diff(indptr))
    order = np.lexsort((rng.random(words.size), documents))
    place = np.empty(words.size, np.int64)
    place[order] = np.arange(words.size)
    # If the number of tokens is odd, the known half gets one more.
    known = place - indptr[documents] < (np.diff(indptr)[documents] + 1) // 2
    halves = []
    for half in (known, ~known):
        ones = np.ones(half.sum())
        pairs = documents[half], words[half]
        halves.append(sp.csr_array(sp.coo_array((ones, pairs), X.shape)))
    return halves


def completion_log_probability(X, draws, seed=0, n_jobs=None):
    """Return log p of the tokens in one half of each document given the other half.

    Probabilities are averaged over the draws before the logarithm.

    Returns
    -------
    log_probability, n_tokens : float and int
        The sum over all tokens of the second halves, and their number.
    """
    known, asked = split_tokens(X, seed)
    pairs = asked.tocoo()
    rows, columns = pairs.coords
    total, n = np.zeros(rows.size), 0
    moments = _moments_by_draw(known, draws, COMPLETION_SWEEPS, n_jobs)
    for phi, _ in (draw for chain in draws.chains() for draw in chain):
        eta, _ = next(moments)
        size = max(1, PAIRS_AT_ONCE // phi.shape[1])
        for first in range(0, rows.size, size):
            here = slice(first, first + size)
            total[here] += np.einsum("pk,pk->p", eta[rows[here]], phi[columns[here]])
        n += 1
    return float(pairs.data @ np.log(total / n)), int(pairs.data.sum())


def log_bound(X, phi, alpha, n_iter=100, tolerance=1e-4):
    """Return a lower bound of log p of all documents given topics phi, (W, K).

    This is the variational bound with a Dirichlet(gamma) distribution of each
    document's topic weights.
    """
    total = 0.0
    size = max(1, PAIRS_AT_ONCE // (phi.shape[1] * max(1, X.nnz // X.shape[0])))
    for first in range(0, X.shape[0], size):
        total += _log_bound(X[first : first + size], phi, alpha, n_iter, tolerance)
    return total


def _log_bound(X, phi, alpha, n_iter, tolerance):
    counts = X.data.astype(np.float64)
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    sums = sp.csr_array((np.ones(rows.size), (rows, np.arange(rows.size))))
    sums.resize((X.shape[0], rows.size))
    words = phi[X.indices]
    gamma = np.full((X.shape[0], alpha.size), alpha) + 1.0
    for _ in range(n_iter):
        weights = np.exp(psi(gamma) - psi(gamma.sum(axis=1, keepdims=True)))
        norm = np.einsum("pk,pk->p", weights[rows], words)
        last = gamma
        gamma = alpha + weights * (sums @ (words * (counts / norm)[:, None]))
        if np.abs(gamma - last).mean() < tolerance:
            break
    expected = psi(gamma) - psi(gamma.sum(axis=1, keepdims=True))
    norm = np.einsum("pk,pk->p", np.exp(expected)[rows], words)
    value = counts @ np.log(norm) + ((alpha - gamma) * expected).sum()
    value += (gammaln(gamma) - gammaln(alpha)).sum()
    mass = gammaln(alpha.sum()) - gammaln(gamma.sum(axis=1))
    return float(value + mass.sum())


def log_probability_of_tokens(counts, beta):
    """Return log p(w | z) of pseudo-counts beta + n, (K, W).

    The topics are integrated out; their order does not matter.
    """
    counts = np.asarray(counts, np.float64)
    value = gammaln(counts).sum() - gammaln(counts.sum(axis=1)).sum()
    n_topics, n_words = counts.shape
    return value + n_topics * (gammaln(n_words * beta) - n_words * gammaln(beta))
