"""Validation of documents, given as counts of words, and of priors of topic models."""

import numbers

import numpy as np
import scipy.sparse as sp
from sklearn.utils.validation import check_non_negative, validate_data

from skbayes_sg.kernels.models.lda import LANES, n_extra_topics
from skbayes_sg.utils._design import with_valid_indices
from skbayes_sg.utils._validation import check_number

BLOCK = 2**20  # counts that are looked at together
WORK = 8  # arrays of the size of the topics, to average over draws
MAX_COUNT = 2**31 - 1  # of a word in all documents
MAX_TOKENS = 2**34  # of which each takes six bytes or more
LEAST_PRIOR, LARGEST_PRIOR = 1e-30, 1e30  # draws are in single precision
KINDS = (np.float64, np.float32, np.int64, np.int32)


def check_counts(estimator, X, reset):
    """Return documents as CSR counts without stored zeros, after validation.

    Parameters
    ----------
    estimator : estimator
        Estimator whose number and names of features are set or compared.
    X : {array-like, sparse matrix} of shape (n_documents, n_words)
        Counts of words in documents.
    reset : bool
        Whether this is the data to fit.
    """
    name = type(estimator).__name__
    is_list = isinstance(X, str | list | tuple) or getattr(X, "ndim", 2) == 1
    if is_list and len(X) > 0 and all(isinstance(x, str) for x in X):
        raise ValueError(
            f"X holds texts in place of counts of words; {name} needs the result of "
            "CountVectorizer().fit_transform(texts), best in a pipeline"
        )
    X = validate_data(
        estimator,
        with_valid_indices(X),
        accept_sparse="csr",
        dtype=list(KINDS),
        reset=reset,
    )
    check_non_negative(X, f"{name} (counts of words)")
    X = sp.csr_array(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    if X.data.dtype.kind == "f":
        for first in range(0, X.nnz, BLOCK):
            part = X.data[first : first + BLOCK]
            broken = part[part != np.floor(part)]
            if broken.size:
                raise ValueError(
                    f"X holds {broken[0]:.6g}, which is not a whole number; {name} "
                    "needs counts of words, for instance from CountVectorizer, not "
                    "tf-idf weights"
                )
    if X.nnz and X.data.min() == 0:
        X = X.copy()
        X.eliminate_zeros()
    _check_sizes(X)
    return X


def _check_sizes(X):
    total = X.data.sum(dtype=np.float64)
    if total > MAX_TOKENS:
        raise ValueError(
            f"X holds {total:.3g} tokens, more than {MAX_TOKENS:.3g}, whose topics "
            "would not fit into memory; fit a sample of the documents"
        )
    if total > MAX_COUNT:  # else no word can have more
        largest = np.bincount(X.indices, X.data, X.shape[1]).max()
        if largest > MAX_COUNT:
            raise ValueError(
                f"a word of X occurs {largest:.3g} times, more than {MAX_COUNT}; "
                "remove stop words, or fit a sample of the documents"
            )


def check_prior(name, value, n_components):
    """Raise an error unless a prior is positive, "learn" or None.

    It may be an array of length `n_components`, unless that is None.
    """
    if value is None or (isinstance(value, str) and value == "learn"):
        return
    if isinstance(value, str):
        raise ValueError(f'{name}={value!r} is not allowed; use "learn" or a number')
    values = np.asarray(value)
    if n_components is None or isinstance(value, numbers.Real):
        check_number(name, value, above=0)
    elif values.shape != (n_components,) or values.dtype.kind not in "fiu":
        raise ValueError(
            f"{name}={value!r} is not allowed; it must be one number, or one for each "
            f"of the n_components={n_components} topics"
        )
    if not ((values >= LEAST_PRIOR) & (values <= LARGEST_PRIOR)).all():
        raise ValueError(
            f"{name}={value!r} must be positive and finite, between {LEAST_PRIOR} and "
            f"{LARGEST_PRIOR}"
        )


def topic_bytes(X, n_topics, n_chains, n_kept):
    """Estimate the bytes that chains of topics need in addition to the documents.

    Each chain keeps `n_kept` arrays of the size of the topics, in single precision.
    Documents are copied unless they are CSR with indices of 32 bits.
    """
    X = X if sp.issparse(X) else np.asarray(X)
    n_tokens, cells = int(X.sum()), n_topics * X.shape[1]
    at_start = cells + n_extra_topics(n_topics) * X.shape[1]
    listed = min(at_start, n_tokens) + (LANES - 1) * X.shape[1]
    per_chain = 2 * n_tokens + 6 * listed + 4 * n_kept * cells
    shared = 4 * n_tokens + 8 * sum(X.shape) + 8 * WORK * cells + _copied_bytes(X)
    return shared + n_chains * per_chain


def _copied_bytes(X):
    """Return the bytes of the copy of documents that validation makes."""
    if not sp.issparse(X):
        return 12 * int(np.count_nonzero(X))
    values = 0 if X.dtype in KINDS else 8
    if X.format != "csr":
        return (values or X.dtype.itemsize) * X.nnz + 4 * X.nnz
    return values * X.nnz + (0 if X.indices.dtype == np.int32 else 4 * X.nnz)
