"""Operations on the rows of a design matrix, dense or sparse.

A dense matrix is a C-contiguous array, a sparse matrix consists of its CSR arrays. All
arrays are read-only here, so that kernels are compiled only once for memory-mapped,
frozen and ordinary arrays.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data.prefetch import prefetch
from skbayes_sg.kernels.generic import helper, kernel_op

AHEAD = 8  # rows between a prefetch and its use


class CSRRows(NamedTuple):
    """A sparse matrix by rows."""

    data: np.ndarray  # (nnz,)
    indices: np.ndarray  # (nnz,) int32
    indptr: np.ndarray  # (n + 1,) int64
    n_features: int


@kernel_op
def shape_rows(rows):
    """Return the number of rows and of columns."""
    raise NotImplementedError


@kernel_op
def rows_at_index(rows):
    """Return the number of rows, and so of results, that an index refers to."""
    return 1


@kernel_op
def take_values(rows, idx, values, out):
    """Write the values of the rows in `idx` to `out`; `values` has one per row."""
    for b in range(idx.size):
        out[b] = values[idx[b]]


@kernel_op
def dot_rows(rows, idx, coef, out):
    """Write x_i . coef for the rows i in `idx` to `out`."""
    raise NotImplementedError


@kernel_op
def add_rows(rows, idx, weights, out):
    """Add the sum of weights_b x_idx[b] to `out`."""
    raise NotImplementedError


@kernel_op
def add_squared_rows(rows, idx, weights, out):
    """Add the sum of weights_b x_idx[b]^2, elementwise, to `out`."""
    raise NotImplementedError


@kernel_op
def copy_rows(rows, idx, out):
    """Write the rows in `idx` as a dense matrix to (b, p) `out`."""
    raise NotImplementedError


@kernel_op
def add_outer_rows(rows, idx, weights, out):
    """Add the sum of weights_b x_idx[b] x_idx[b]' to the first p rows and columns."""
    raise NotImplementedError


@shape_rows.register(np.ndarray)
def _(rows):
    return rows.shape


@dot_rows.register(np.ndarray)
def _(rows, idx, coef, out):
    p = rows.shape[1]
    for b in range(idx.size):
        prefetch_row(rows, idx, b + AHEAD)
        x = rows[idx[b]]
        total = coef.dtype.type(0.0)
        for j in range(p):
            total += x[j] * coef[j]
        out[b] = total


@add_rows.register(np.ndarray)
def _(rows, idx, weights, out):
    p = rows.shape[1]
    for b in range(idx.size):
        x = rows[idx[b]]
        w = weights[b]
        for j in range(p):
            out[j] += w * x[j]


@add_squared_rows.register(np.ndarray)
def _(rows, idx, weights, out):
    for b in range(idx.size):
        x = rows[idx[b]]
        w = weights[b]
        for j in range(x.size):
            out[j] += w * x[j] * x[j]


@add_outer_rows.register(np.ndarray)
def _(rows, idx, weights, out):
    p = rows.shape[1]
    x = np.empty((idx.size, p), out.dtype)
    wx = np.empty((idx.size, p), out.dtype)
    for b in range(idx.size):
        for j in range(p):
            x[b, j] = rows[idx[b], j]
            wx[b, j] = weights[b] * x[b, j]
    product = np.dot(x.T, wx)
    for i in range(p):
        for j in range(p):
            out[i, j] += product[i, j]


@copy_rows.register(np.ndarray)
def _(rows, idx, out):
    for b in range(idx.size):
        prefetch_row(rows, idx, b + 2)  # rows may be long: more could be evicted
        x = rows[idx[b]]
        for j in range(x.size):
            out[b, j] = x[j]


@shape_rows.register(CSRRows)
def _(rows):
    return rows.indptr.size - 1, rows.n_features


@dot_rows.register(CSRRows)
def _(rows, idx, coef, out):
    for b in range(idx.size):
        total = coef.dtype.type(0.0)
        for k in range(rows.indptr[idx[b]], rows.indptr[idx[b] + 1]):
            total += rows.data[k] * coef[rows.indices[k]]
        out[b] = total


@add_rows.register(CSRRows)
def _(rows, idx, weights, out):
    for b in range(idx.size):
        w = weights[b]
        for k in range(rows.indptr[idx[b]], rows.indptr[idx[b] + 1]):
            out[rows.indices[k]] += w * rows.data[k]


@add_squared_rows.register(CSRRows)
def _(rows, idx, weights, out):
    for b in range(idx.size):
        w = weights[b]
        for k in range(rows.indptr[idx[b]], rows.indptr[idx[b] + 1]):
            out[rows.indices[k]] += w * rows.data[k] * rows.data[k]


@add_outer_rows.register(CSRRows)
def _(rows, idx, weights, out):
    for b in range(idx.size):
        first, last = rows.indptr[idx[b]], rows.indptr[idx[b] + 1]
        for k in range(first, last):
            w = weights[b] * rows.data[k]
            for m in range(first, last):
                out[rows.indices[k], rows.indices[m]] += w * rows.data[m]


@copy_rows.register(CSRRows)
def _(rows, idx, out):
    for b in range(idx.size):
        for j in range(rows.n_features):
            out[b, j] = 0.0
        for k in range(rows.indptr[idx[b]], rows.indptr[idx[b] + 1]):
            out[b, rows.indices[k]] += rows.data[k]


@helper
def prefetch_row(rows, idx, b):
    """Prefetch row idx[b] from memory, if b is in range."""
    if b < idx.size:
        x = rows[idx[b]]
        for j in range(0, x.size, 64 // x.itemsize):
            prefetch(x, j)
