"""Chains that start with more topics than wanted."""

import numpy as np
import pytest

from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.lda import LDA, UNKNOWN, list_offsets, set_prior
from skbayes_sg.kernels.models.lda_start import merge_topics, split_topics
from skbayes_sg.kernels.models.lda_topics import add_token
from skbayes_sg.kernels.protocol.model import init_work

W = 6
PART_OF = np.array([0, 0, 1, 1, 0])  # the true topic of each of five


def state(alpha, rng):
    """Return a model of two topics, its state with five, and words and topics.

    Words 0 to 2 and 3 to 5 are of one true topic each.
    """
    z = rng.integers(5, size=400).astype(np.int16)
    words = (3 * PART_OF[z] + rng.integers(3, size=400)).astype(np.int32)
    model = for_kernels(
        LDA(
            words=words,
            indptr=np.array([0, 250, 400]),
            offsets=list_offsets(words, W, 5),
            alpha=alpha,
            beta=0.1,
            n_topics=2,
            learns_alpha=False,
            learns_beta=False,
            n_extra=3,
            merge_after=1,
        )
    )
    work = init_work(model)
    set_prior(work, np.log(np.append(alpha, 0.1)))
    for i in range(380):  # the last tokens were not visited
        work.z[i] = z[i]
        add_token(work, model.offsets[words[i]], words[i], z[i], W * 0.1)
    return model, work, words, z


@pytest.mark.parametrize("alpha", [(0.1, 0.2), (0.2, 0.1)])
def test_parts_of_a_topic_are_put_together(rng, alpha):
    model, work, words, z = state(np.array(alpha), rng)
    merge_topics(model, work)
    assert work.n_used[0] == 2
    # Topic 0 of the truth has three of five parts, and gets the larger prior.
    larger = int(np.argmax(alpha))
    expected = np.where(PART_OF[z] == 0, larger, 1 - larger)
    np.testing.assert_array_equal(work.z[:380], expected[:380])
    np.testing.assert_array_equal(work.z[380:], UNKNOWN)
    sizes = np.bincount(expected[:380], minlength=5)
    np.testing.assert_array_equal(work.n_k, sizes)
    for w in range(W):
        first = model.offsets[w]
        listed = slice(first, first + work.n_listed[w])
        counts = np.zeros(5)
        counts[work.topics[listed]] = work.counts[listed]
        own = expected[:380][words[:380] == w]
        np.testing.assert_array_equal(counts, np.bincount(own, minlength=5))
        rest = slice(listed.stop, model.offsets[w + 1])
        assert np.all(work.topics[rest] == 5) and np.all(work.counts[rest] == 0)


def test_split_topics_keep_their_tokens(rng):
    model, work, words, _ = state(np.array([0.1, 0.2]), rng)
    merge_topics(model, work)
    before = work.z.copy()
    split_topics(model, work, rng)
    assert work.n_used[0] == 5
    np.testing.assert_array_equal(work.z[:380] % 2, before[:380])  # topic k or k + 2
    np.testing.assert_array_equal(work.n_k, np.bincount(work.z[:380], minlength=5))
    # Halves of the 380 tokens: four standard errors.
    assert np.abs((work.z[:380] >= 2).mean() - 0.5) < 4 * 0.5 / np.sqrt(380)
    for w in range(W):
        listed = slice(model.offsets[w], model.offsets[w] + work.n_listed[w])
        counts = np.zeros(5)
        counts[work.topics[listed]] = work.counts[listed]
        own = work.z[:380][words[:380] == w]
        np.testing.assert_array_equal(counts, np.bincount(own, minlength=5))
