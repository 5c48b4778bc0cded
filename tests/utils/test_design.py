"""Sparse input whose indices lie: a ValueError, before compiled code sees them."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.utils import check_array

from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.utils._design import (
    centered,
    design_rows,
    far_centers,
    with_valid_indices,
)

Y = np.tile([0, 1], 10)


def matrix(kind="csr_array"):
    X = sparse.random(20, 6, density=0.5, random_state=0, format="csr")
    return getattr(sparse, kind)(X)


def edited(part, place, value):
    def edit(X):
        getattr(X, part)[place] = value
        return X

    return edit


def replaced(part, change):
    def edit(X):
        setattr(X, part, change(getattr(X, part)))
        return X

    return edit


FAULTS = {
    **{
        f"index {value} at {place}": edited("indices", place, value)
        for value in (6, 7, 10**6, 2**31 - 1, -1, -7, -(10**6), -(2**31))
        for place in (0, 25, -1)
    },
    **{
        f"indptr {value} at {place}": edited("indptr", place, value)
        for value in (-1, -(10**6), 61, 10**6, 2**31 - 1)
        for place in (0, 10, -1)
    },
    "short indptr": replaced("indptr", lambda indptr: indptr[:-1]),
    "long indptr": replaced("indptr", lambda indptr: np.r_[indptr, indptr[-1]]),
    "few values": replaced("data", lambda data: data[:-3]),
    "few indices": replaced("indices", lambda indices: indices[:-3]),
    "wide index": replaced("indices", lambda i: np.r_[i[:-1], [2**32]]),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_malformed_csr(fault):
    X = FAULTS[fault](matrix())
    words = r"^X has (indices of a column from|an indptr that) .*; build it again"
    for read in (design_rows, with_valid_indices):
        with pytest.raises(ValueError, match=words):
            read(X)
    model = SGLDLogisticRegression()
    with pytest.raises(ValueError, match="^X has|indices|indptr|negative"):
        model.fit(X, Y)
    assert not [name for name in vars(model) if name.endswith("_")]


@pytest.mark.parametrize("fault", FAULTS)
def test_malformed_csr_is_found_before_scikit_learn_converts_it(fault):
    """A change of type sorts the indices, in compiled code."""
    X = FAULTS[fault](matrix())
    X.data = X.data.astype(np.int64)
    with pytest.raises(ValueError, match="^X has .*; build it again"):
        SGLDLogisticRegression().fit(X, Y)


def test_other_formats_are_checked_before_they_are_converted():
    model = SGLDLogisticRegression()
    for kind, part, value in (
        ("csc_array", "indices", 10**6),
        ("csc_array", "indptr", -5),
        ("csc_matrix", "indices", -2),
        ("coo_array", "row", 10**6),
        ("coo_matrix", "col", -1),
    ):
        X = edited(part, 3, value)(matrix(kind))
        with pytest.raises(ValueError, match="^X has .*; build it again"):
            model.fit(X, Y)
    for kind in ("lil_array", "dok_array", "dia_array", "bsr_array"):
        X = matrix(kind)
        assert with_valid_indices(X) is X


def wide(X):
    X.indices, X.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    return X


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array"])
def test_long_indices_become_short_where_they_fit(kind):
    X = with_valid_indices(wide(matrix(kind)))
    assert type(X).__name__ == kind and X.indices.dtype == X.indptr.dtype == np.int32
    assert np.array_equal(X.toarray(), matrix().toarray())
    options = {"accept_sparse": "csr", "accept_large_sparse": False}
    validated = check_array(with_valid_indices(wide(X)), **options)
    assert validated.indices.dtype == np.int32
    huge = sparse.csr_array(([1.0], ([0], [2**31 + 5])), shape=(1, 2**31 + 9))
    assert with_valid_indices(huge).indices.dtype == np.int64


def test_whole_matrices_are_not_copied():
    X = matrix()
    assert with_valid_indices(X) is X
    rows = design_rows(X)
    assert np.shares_memory(rows.data, X.data)
    assert np.shares_memory(rows.indices, X.indices)
    spare = matrix()
    spare.data = np.r_[spare.data, 9.0]  # SciPy allows for room at the end
    spare.indices = np.r_[spare.indices, [0]].astype(np.int32)
    assert design_rows(spare).data.size == X.data.size


@pytest.mark.parametrize("weighted", [False, True])
def test_far_columns_of_sparse_matrices(weighted):
    """As of dense ones; where none is far, nothing is stored in addition."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4)) * (rng.random((200, 4)) < 0.3)
    X[:, 1] = 1e10 + rng.integers(0, 20, 200)
    X[:5, 1] = 0.0
    X[:, 2] = -50.0
    X[:, 3] = 7.0 + 0.1 * rng.normal(size=200)
    weights = rng.uniform(0.5, 2.0, 200) if weighted else None
    rows = sparse.csr_array(X)
    center = far_centers(rows, weights)
    np.testing.assert_allclose(center, far_centers(X, weights), rtol=1e-14)
    assert (center[1:] != 0).all() and center[0] == 0
    moved = centered(rows, center)
    np.testing.assert_array_equal(moved.toarray(), centered(X, center))
    assert moved.nnz <= rows.nnz + 5
    assert far_centers(rows[:, [0]]).size == 0
