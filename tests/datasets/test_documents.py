"""Generated documents follow the model that they claim."""

import numpy as np

from skbayes_sg.datasets import make_documents


def test_counts_have_the_means_of_their_weights():
    data = make_documents(400, 20, 3, length=200, random_state=0)
    expected = data.weights @ data.topics
    lengths = np.asarray(data.X.sum(axis=1))
    assert abs(lengths.mean() - 200) < 4 * np.sqrt(200 / 400)
    mean = lengths[:, None] * expected
    z = (data.X.toarray() - mean) / np.sqrt(mean * (1 - expected) + 1e-3)
    assert abs(z[mean > 5].std() - 1.0) < 0.1
    np.testing.assert_allclose(data.topics.sum(axis=1), 1.0)


def test_weights_have_the_moments_of_their_prior():
    weights = make_documents(
        4000, 5, 4, length=1, doc_topic_prior=0.2, random_state=0
    ).weights
    sd = np.sqrt(0.25 * 0.75 / 1.8)  # of Dirichlet(0.2, 0.2, 0.2, 0.2)
    np.testing.assert_allclose(weights.std(axis=0), sd, rtol=0.06)
    np.testing.assert_allclose(weights.mean(axis=0), 0.25, atol=4 * sd / 4000**0.5)


def test_blocks_give_as_many_documents(monkeypatch):
    monkeypatch.setattr("skbayes_sg.datasets._documents._CHUNK", 500)
    data = make_documents(23, 7, 2, length=50, random_state=1)
    assert data.X.shape == (23, 7)
    assert data.X.sum() > 800
