"""Consecutive rows of a design matrix, as matrices of numpy or scipy."""

import numpy as np
import scipy.sparse

from skbayes_sg.kernels.data.blocks import RowBlocks
from skbayes_sg.kernels.data.rows import CSRRows, rows_at_index, shape_rows
from skbayes_sg.kernels.generic import python_op

NUMBERS = 2**17  # in a part of the rows: one megabyte, which fits into the cache
MAX_ROWS = 2**14


@python_op
def matrix_of(rows, first, last):
    """Return the rows of the indices from `first` to `last`, (n, p)."""
    return rows[first:last]


@matrix_of.register(RowBlocks)
def _(rows, first, last):
    return rows.data[first:last].transpose(0, 2, 1).reshape(-1, rows.data.shape[1])


@matrix_of.register(CSRRows)
def _(rows, first, last):
    begin, end = rows.indptr[first], rows.indptr[last]
    # If their dtypes differ, scipy copies both.
    offsets = (rows.indptr[first : last + 1] - begin).astype(rows.indices.dtype)
    parts = rows.data[begin:end], rows.indices[begin:end], offsets
    return scipy.sparse.csr_array(parts, shape=(last - first, rows.n_features))


@python_op
def thinned_rows(rows, every):
    """Return a copy of each `every`-th row."""
    return np.ascontiguousarray(rows[::every])


@thinned_rows.register(CSRRows)
def _(rows, every):
    matrix = matrix_of(rows, 0, shape_rows(rows)[0])[::every]
    indices, indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64)
    return rows._replace(data=matrix.data, indices=indices, indptr=indptr)


def each_part(rows):
    """Yield all rows in parts: the slice of their indices, and their matrix."""
    (n, p), each = shape_rows(rows), rows_at_index(rows)
    if isinstance(rows, CSRRows):
        p = rows.data.size // max(n, 1)
    step = min(max(NUMBERS // (max(p, 1) * each), 1), MAX_ROWS)
    for first in range(0, n, step):
        last = min(first + step, n)
        yield slice(first * each, last * each), matrix_of(rows, first, last)


def dense(matrix):
    """Return a matrix as an array."""
    return matrix.toarray() if scipy.sparse.issparse(matrix) else matrix


def squared(matrix):
    """Return the squares of a matrix's items."""
    return matrix * matrix


def weighted_gram(matrix, weights):
    """Return X' diag(weights) X, (p, p)."""
    if scipy.sparse.issparse(matrix):
        weighted = matrix.astype(weights.dtype)
        weighted.data *= np.repeat(weights, np.diff(matrix.indptr))
        return (matrix.T @ weighted).toarray()
    matrix = matrix.astype(weights.dtype, copy=False)
    return matrix.T @ (matrix * weights[:, None])
