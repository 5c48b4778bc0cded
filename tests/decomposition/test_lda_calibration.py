"""Simulated corpora: ranks of the truth are uniform, and intervals hold it."""

import numpy as np
import pytest
from scipy.stats import chi2

from skbayes_sg import SGMCMCLatentDirichletAllocation
from skbayes_sg.datasets import make_documents
from skbayes_sg.inference.alignment import align

N_DRAWS = 19


def fitted(data, k, alpha, beta, **settings):
    model = SGMCMCLatentDirichletAllocation(
        k, doc_topic_prior=alpha, topic_word_prior=beta, **settings
    )
    return model.fit(data.X)


@pytest.mark.long
def test_ranks_of_the_truth_are_uniform():
    """Of sum phi^2, which no labels change, over 300 corpora of two topics."""
    k, w, alpha, beta, n = 2, 6, 0.5, 0.5, 300
    rng, ranks = np.random.default_rng(0), np.zeros(N_DRAWS + 1)
    for seed in range(n):
        data = make_documents(
            15, w, k, length=15, doc_topic_prior=alpha, topic_word_prior=beta,
            random_state=seed,
        )  # fmt: skip
        model = fitted(
            data, k, alpha, beta, n_chains=1, n_draws=N_DRAWS, burn_in=100, thin=30,
            random_state=seed,
        )  # fmt: skip
        counts = model.samples_[0, :, : k * w].reshape(-1, w).astype(np.float64)
        phi = np.stack([rng.dirichlet(b) for b in counts]).reshape(-1, k, w)
        drawn = (phi**2).sum(axis=(1, 2))
        ranks[(drawn < (data.topics**2).sum()).sum()] += 1
    statistic = ((ranks - n / ranks.size) ** 2 / (n / ranks.size)).sum()
    assert statistic < chi2.ppf(0.999, ranks.size - 1)


@pytest.mark.long
def test_intervals_of_words_and_documents_hold_the_truth():
    """Nine in ten, over four corpora; 400 documents of topics that are well told."""
    k, w, words, weights = 5, 60, [], []
    for seed in range(4):
        data = make_documents(400, w, k, length=80, random_state=seed)
        model = fitted(data, k, 0.1, 0.05, n_draws=20, random_state=seed)
        order = align([data.topics + 1e-9], model.components_).order[0]
        table = model.top_words(10, prob=0.9)
        truth = np.take_along_axis(data.topics[order], table.words, axis=1)
        words.append((table.low < truth) & (truth < table.high))
        mean, std = model.transform(data.X, return_std=True)
        z = (mean - data.weights[:, order]) / std
        weights.append(z[mean > 0.1])
    # 200 intervals: a standard error of 2 %.
    assert 0.82 < np.mean(words) < 0.98
    assert 0.9 < np.concatenate(weights).std() < 1.1


def predicted_counts(model, lengths, alpha, n_each, rng):
    """Return draws of the counts of all words in new documents of given lengths."""
    k, w = model.components_.shape
    draws = []
    for b in model.samples_[..., : k * w].reshape(-1, k, w).astype(np.float64):
        for _ in range(n_each):
            phi = np.stack([rng.dirichlet(own) for own in b])
            p = rng.dirichlet(np.full(k, alpha), lengths.size) @ phi
            draws.append(rng.multinomial(lengths, p).sum(axis=0))
    return np.array(draws)


@pytest.mark.long
def test_intervals_of_held_out_counts_hold_nine_in_ten():
    """Of words in 200 new documents, whose topics are learned from 60."""
    k, w, alpha, beta, held = 4, 50, 0.2, 0.1, []
    rng = np.random.default_rng(0)
    for seed in range(30):
        data = make_documents(
            260, w, k, length=40, doc_topic_prior=alpha, topic_word_prior=beta,
            random_state=seed,
        )  # fmt: skip
        X, new = data.X[:60], data.X[60:].toarray()
        model = SGMCMCLatentDirichletAllocation(
            k, doc_topic_prior=alpha, topic_word_prior=beta, n_draws=20,
            random_state=seed,
        ).fit(X)  # fmt: skip
        draws = predicted_counts(model, new.sum(axis=1), alpha, 5, rng)
        truth = new.sum(axis=0)
        below = (draws < truth).mean(axis=0)
        level = below + rng.random(w) * (draws == truth).mean(axis=0)
        held.append((level > 0.05) & (level < 0.95))
    # 1,500 counts, of which those of one corpus depend on one another: a standard error
    # of 0.8 %. With the mean topics in place of draws of them, 68 % are held.
    assert 0.88 < np.mean(held) < 0.92


@pytest.mark.long
def test_intervals_of_streams_hold_the_truth():
    """Of words, after 40 batches: about nine in ten, over six corpora."""
    k, held = 5, []
    for seed in range(6):
        data = make_documents(4000, 60, k, length=80, random_state=seed)
        model = SGMCMCLatentDirichletAllocation(
            k, doc_topic_prior=0.1, topic_word_prior=0.05, total_samples=4000,
            random_state=seed,
        )  # fmt: skip
        order = np.random.default_rng(0).permutation(4000)
        for batch in np.array_split(order, 40):
            model.partial_fit(data.X[np.sort(batch)])
        order = align([data.topics + 1e-9], model.components_).order[0]
        table = model.top_words(10, prob=0.9)
        truth = np.take_along_axis(data.topics[order], table.words, axis=1)
        held.append(((table.low < truth) & (truth < table.high)).mean())
    # 300 intervals: a standard error of 2 %.
    assert 0.84 < np.mean(held) < 0.96
