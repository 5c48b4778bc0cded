"""Documents given topics, against laws that are known in full."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.special import gammaln

from skbayes_sg.inference.topics import (
    TopicDraws,
    align_draws,
    completion_log_probability,
    document_moments,
    log_bound,
    log_probability_of_tokens,
    split_tokens,
    tokens_of,
    topic_moments,
)

PHI = np.array([[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]])  # (K, W)
ALPHA = np.array([0.5, 0.8])


def one_draw(phi=PHI, n=1):
    return TopicDraws(np.tile(phi, (1, n, 1, 1)), np.tile(ALPHA, (1, n, 1)))


def exact_document(words):
    """Return log p(w), E eta and E eta^2 by enumeration of the topics."""
    total, first, second = 0.0, 0.0, 0.0
    mass = ALPHA.sum()
    for z in itertools.product(range(2), repeat=len(words)):
        z = np.array(z, int)
        b = ALPHA + np.bincount(z, minlength=2)
        log_p = gammaln(b).sum() - gammaln(ALPHA).sum()
        log_p += gammaln(mass) - gammaln(mass + len(words))
        p = np.exp(log_p) * PHI[z, words].prod()
        total += p
        first = first + p * b / b.sum()
        second = second + p * b * (b + 1) / (b.sum() * (b.sum() + 1))
    return np.log(total), first / total, second / total


def test_weights_of_documents_are_those_of_enumeration():
    X = sp.csr_array(np.array([[2, 1, 1], [0, 0, 3], [0, 0, 0]]))
    mean, variance = document_moments(X, one_draw(n=400))
    for d, words in enumerate(([0, 0, 1, 2], [2, 2, 2], [])):
        _, first, second = exact_document(np.array(words, int))
        # 4,000 sweeps: four standard errors at an autocorrelation time of two.
        spread = np.sqrt(second - first**2)
        assert np.all(np.abs(mean[d] - first) < 4 * spread * np.sqrt(2 / 4000))
        np.testing.assert_allclose(np.sqrt(variance[d]), spread, rtol=0.05)


def test_a_document_does_not_depend_on_the_others_nor_on_threads():
    X = sp.csr_array(np.array([[2, 1, 1], [0, 0, 3], [5, 1, 0]]))
    mean, _ = document_moments(X, one_draw())
    np.testing.assert_array_equal(document_moments(X[[2]], one_draw())[0], mean[[2]])
    np.testing.assert_array_equal(document_moments(X, one_draw(), n_jobs=2)[0], mean)


def test_bound_is_below_log_p_and_near_it():
    X = sp.csr_array(np.array([[2, 1, 1], [0, 0, 3]]))
    exact = sum(exact_document(np.array(w))[0] for w in ([0, 0, 1, 2], [2, 2, 2]))
    bound = log_bound(X, np.ascontiguousarray(PHI.T), ALPHA)
    assert exact - 0.6 < bound < exact
    one = log_bound(X, np.ascontiguousarray(PHI[:1].T), ALPHA[:1])
    np.testing.assert_allclose(one, X.sum(axis=0) @ np.log(PHI[0]))


def test_log_probability_of_tokens_is_that_of_a_polya_urn():
    # Tokens 0, 0, 1 of one topic, 2 of the other: probabilities of each in turn.
    beta, counts = 0.3, np.array([[2.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    urn = (beta / 0.9) * ((1 + beta) / 1.9) * (beta / 2.9) * (beta / 0.9)
    found = log_probability_of_tokens(beta + counts, beta)
    np.testing.assert_allclose(found, np.log(urn))


def test_halves_share_the_tokens(rng):
    X = sp.csr_array(rng.poisson(0.7, (30, 8)))
    known, asked = split_tokens(X)
    np.testing.assert_array_equal((known + asked).toarray(), X.toarray())
    sizes = np.asarray(X.sum(axis=1))
    np.testing.assert_array_equal(np.asarray(asked.sum(axis=1)), sizes // 2)


def test_tokens_are_the_counts(rng):
    X = sp.csr_array(rng.poisson(0.7, (30, 8)))
    words, indptr = tokens_of(X)
    for d in range(30):
        own = words[indptr[d] : indptr[d + 1]]
        np.testing.assert_array_equal(
            np.bincount(own, minlength=8), X[[d]].toarray()[0]
        )


def test_completion_averages_probabilities_before_the_logarithm():
    """One topic: the probability of a word is known, and its mean over two draws."""
    X = sp.csr_array(np.array([[4, 0], [0, 4]]))
    phi = np.array([[[0.5, 0.5]], [[0.1, 0.9]]])
    draws = TopicDraws(phi[None], np.ones((1, 2, 1)))
    value, n = completion_log_probability(X, draws)
    assert n == 4
    np.testing.assert_allclose(value, 2 * np.log(0.3) + 2 * np.log(0.7))


@pytest.mark.parametrize("n_chains", [1, 3])
def test_draws_are_aligned_in_place(rng, n_chains):
    k, w = 3, 20
    counts = 50 * rng.dirichlet(np.full(w, 0.1), size=k)
    alpha = np.array([0.1, 0.2, 0.3])
    orders = [rng.permutation(k) for _ in range(n_chains)]
    draws = np.stack(
        [
            np.tile([*counts[order].ravel(), *alpha[order], 0.01], (2, 1))
            for order in orders
        ]
    )
    _, affinity = align_draws(draws, k, w)
    np.testing.assert_array_equal(draws, np.tile(draws[0, 0], (n_chains, 2, 1)))
    np.testing.assert_allclose(affinity, np.ones((n_chains, k)))
    np.testing.assert_allclose(draws[0, 0, -4:-1], alpha[orders[0]])


def test_moments_of_topics_are_those_of_a_mixture_of_dirichlet_laws(rng):
    b = rng.gamma(2.0, size=(1, 2, 2 * 3))
    draws = np.concatenate([b, np.ones((1, 2, 3))], axis=2)
    counts, std, prior = topic_moments(draws, 2, 3)
    samples = [rng.dirichlet(b[0, s, :3], size=200_000) for s in range(2)]
    np.testing.assert_allclose(std[0], np.concatenate(samples).std(axis=0), rtol=0.01)
    np.testing.assert_allclose(counts, b[0].mean(axis=0).reshape(2, 3))
    np.testing.assert_array_equal(prior, 1.0)
