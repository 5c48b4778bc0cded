"""Counts of a batch given counts of earlier documents, by enumeration."""

import itertools

import numpy as np
from scipy.special import gammaln

from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.lda_minibatch import MinibatchLDA
from skbayes_sg.kernels.models.lda_stream import add_batch_counts

WORDS, INDPTR = np.array([0, 0, 1, 2, 1], np.int32), np.array([0, 3, 5])
ALPHA, BETA = np.array([0.4, 0.9]), 0.3
M = np.array([[2.0, 0.5], [0.0, 1.5], [0.3, 0.0]])  # (W, K)


def exact_counts():
    """Return E n_wk where each topic has a Dirichlet(beta + m) prior."""
    total, counts = 0.0, np.zeros((3, 2))
    for z in itertools.product(range(2), repeat=5):
        z, n = np.array(z), np.zeros((3, 2))
        np.add.at(n, (WORDS, z), 1.0)
        value = (gammaln(BETA + M + n)).sum() - gammaln((BETA + M + n).sum(0)).sum()
        for first, last in itertools.pairwise(INDPTR):
            value += gammaln(ALPHA + np.bincount(z[first:last], minlength=2)).sum()
        total += np.exp(value)
        counts += np.exp(value) * n
    return counts / total


def test_the_posterior_of_earlier_batches_is_the_prior_of_the_next():
    n_sweeps = 20_000
    model = for_kernels(
        MinibatchLDA(WORDS, INDPTR, ALPHA, BETA, n_words=3, n_sweeps=n_sweeps)
    )
    m, counts = M.copy(), np.zeros((3, 2))
    add_batch_counts(model, 1.0, np.random.default_rng(0), m, counts)
    # 10,000 sweeps: standard errors of counts of one or two are below 0.02.
    np.testing.assert_allclose(counts, exact_counts(), atol=0.05)
    np.testing.assert_allclose((m - M).sum(axis=1), [2.0, 2.0, 1.0])


def test_a_token_stands_for_several():
    model = for_kernels(MinibatchLDA(WORDS, INDPTR, ALPHA, BETA, 3, 10.0, 2))
    m, counts = M.copy(), np.zeros((3, 2))
    add_batch_counts(model, 0.3, np.random.default_rng(0), m, counts)
    np.testing.assert_allclose((m - M).sum(axis=1), [6.0, 6.0, 3.0])
    np.testing.assert_allclose(counts.sum(axis=1), [2.0, 2.0, 1.0])
