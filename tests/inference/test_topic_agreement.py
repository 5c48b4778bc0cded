"""Quantities that do not depend on labels, and how they tell chains apart."""

import numpy as np
import scipy.sparse as sp

from skbayes_sg.inference.topic_agreement import label_free, split_rhat
from skbayes_sg.inference.topics import TopicDraws


def some_draws(rng, n_chains=2, n_draws=6, k=3, w=12):
    counts = 0.1 + rng.poisson(5.0, (n_chains, n_draws, k, w))
    return TopicDraws(counts, np.full((n_chains, n_draws, k), 0.5))


def test_labels_do_not_matter(rng):
    draws = some_draws(rng)
    mixed = TopicDraws(draws.counts[:, :, [2, 0, 1]], draws.alpha)
    beta = np.full((2, 6), 0.1)
    other = label_free(mixed, beta, given=False)
    for name, value in label_free(draws, beta, given=False).items():
        # Words that are equally frequent may come in another order.
        pair = [np.sort(np.atleast_3d(v)) for v in (value, other[name])]
        np.testing.assert_allclose(*pair, rtol=1e-10, err_msg=name)


def test_co_occurrence_is_the_probability_of_two_words_in_one_topic():
    counts = np.array([[3.0, 1.0], [1.0, 5.0]])
    draws = TopicDraws(counts[None, None], np.ones((1, 1, 2)))
    found = label_free(draws, np.ones((1, 1)), given=False)["co-occurrence"][0, 0]
    phi, p = counts / counts.sum(axis=1, keepdims=True), np.array([0.4, 0.6])
    order = [1, 0]  # the second word is more frequent
    expected = (phi.T * p) @ phi
    np.testing.assert_allclose(
        found, expected[np.ix_(order, order)][[0, 0, 1], [0, 1, 1]]
    )


def test_held_out_documents_are_compared_draw_by_draw(rng):
    X = sp.csr_array(rng.poisson(1.0, (20, 12)))
    draws = some_draws(rng)
    values = label_free(draws, np.full((2, 6), 0.1), X=X)["held-out log p"]
    assert values.shape == (2, 6)
    assert np.all(values < 0)
    assert values.std() > 0


def test_r_hat_of_equal_and_of_shifted_chains(rng):
    values = rng.standard_normal((2, 20, 5))
    rhat, limit = split_rhat(values)
    assert rhat < limit
    values[1] += 2.0
    rhat, limit = split_rhat(values)
    assert rhat > limit
    assert split_rhat(np.ones((2, 8))) == (1.0, 1.0)
