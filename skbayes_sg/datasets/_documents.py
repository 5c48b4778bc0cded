"""Simulated documents with known topics."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import Bunch, check_random_state, check_scalar

_CHUNK = 1 << 21  # tokens per temporary array, to limit the use of memory


def make_documents(
    n_documents: int = 1000,
    n_words: int = 500,
    n_topics: int = 10,
    *,
    length: int = 100,
    doc_topic_prior: float = 0.1,
    topic_word_prior: float = 0.05,
    random_state: Any = None,
) -> Bunch:
    """Simulate documents by latent Dirichlet allocation.

    Parameters
    ----------
    n_documents, n_words, n_topics : int
        Sizes, by default 1000, 500 and 10.
    length : int, default=100
        Mean of the Poisson distributed number of tokens of a document.
    doc_topic_prior, topic_word_prior : float, default=0.1 and 0.05
        Dirichlet priors of the topics of a document and of the words of a topic.
    random_state : int, RandomState instance or None, default=None
        Seed.

    Returns
    -------
    data : Bunch
        ``X``, counts of words, a CSR array of shape (n_documents, n_words), and the
        true parameters: ``topics``, (n_topics, n_words), and ``weights``,
        (n_documents, n_topics).

    Examples
    --------
    >>> from skbayes_sg.datasets import make_documents
    >>> data = make_documents(50, 30, 3, random_state=0)
    >>> data.X.shape, data.topics.shape, data.weights.shape
    ((50, 30), (3, 30), (50, 3))
    """
    sizes = {"n_documents": n_documents, "n_words": n_words, "n_topics": n_topics}
    for name, value in {**sizes, "length": length}.items():
        check_scalar(value, name, (int, np.integer), min_val=1)
    rng = check_random_state(random_state)
    topics = _dirichlet(rng, topic_word_prior, n_topics, n_words)
    weights = _dirichlet(rng, doc_topic_prior, n_documents, n_topics)
    cumulative, parts = np.cumsum(topics, axis=1), []
    step = max(1, _CHUNK // length)
    for first in range(0, n_documents, step):
        own = weights[first : first + step]
        lengths = rng.poisson(length, len(own))
        document = np.repeat(np.arange(len(own)), lengths)
        bounds = np.cumsum(own, axis=1)
        z = np.zeros(document.size, np.int64)
        u = rng.uniform(size=document.size)
        for k in range(n_topics - 1):
            z += u > bounds[document, k]
        words = np.empty(document.size, np.int32)
        for k in range(n_topics):
            here = z == k
            words[here] = np.searchsorted(cumulative[k], rng.uniform(size=here.sum()))
        np.minimum(words, n_words - 1, out=words)  # a rounded sum may be below one
        ones = np.ones(words.size, np.int32)
        shape = len(own), n_words
        parts.append(sp.csr_array(sp.coo_array((ones, (document, words)), shape)))
    X = sp.vstack(parts, format="csr") if len(parts) > 1 else parts[0]
    return Bunch(X=X, topics=topics, weights=weights)


def _dirichlet(rng, prior, n, dim):
    """Return n draws of a Dirichlet distribution, computed without underflow."""
    check_scalar(prior, "prior", (int, float), min_val=0, include_boundaries="neither")
    logs = np.log(rng.standard_gamma(prior + 1.0, (n, dim)))
    logs += np.log(1.0 - rng.uniform(size=(n, dim))) / prior
    values = np.exp(logs - logs.max(axis=1, keepdims=True))
    return values / values.sum(axis=1, keepdims=True)
