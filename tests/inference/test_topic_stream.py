"""How certain the topics of a stream are."""

import numpy as np

from skbayes_sg.inference.topic_stream import (
    EXCESS,
    batch_share,
    documents_of,
    weight_products,
)


def test_products_of_weights_are_those_of_all_documents():
    n, before, n_kept = 20, 50, 3
    weights = [np.append(np.full(before, 1 / before), np.zeros(5 * n))]
    products = np.full((1, 1), 1 / before)
    for t in range(5):
        share = batch_share(n, before + t * n)
        own = np.zeros(before + 5 * n)
        own[before + t * n : before + (t + 1) * n] = 1 / n
        weights.append((1 - share) * weights[-1] + share * own)
        products = weight_products(products, n, share, min(n_kept, t // 2 + 1))
    kept = np.array(weights[-n_kept:])
    np.testing.assert_allclose(products, kept @ kept.T)


def test_a_mixture_of_draws_is_as_wide_as_their_mean_is_uncertain(rng):
    """Normal data, whose weighted means are the draws."""
    weights = rng.dirichlet(np.full(400, 2.0), size=2)
    weights[1] = 0.8 * weights[0] + 0.2 * weights[1]  # neighbors have much in common
    means = rng.standard_normal((20_000, 400)) @ weights.T
    within = 1 / documents_of(weights @ weights.T)
    between, error = means.var(axis=1).mean(), means.mean(axis=1).var()
    # 20,000 repetitions: a standard error of 1 %.
    np.testing.assert_allclose(within + between, EXCESS * error, rtol=0.04)


def test_draws_that_differ_more_than_their_mean_is_uncertain_need_no_width():
    assert documents_of(np.eye(3)) == np.inf
