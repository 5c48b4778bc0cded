"""Conversion of scikit-learn's design matrices to the rows of the kernels."""

import numpy as np
from scipy.sparse import csr_array, issparse

from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.utils._validation import check_magnitude

SCALE = "scale its columns, with sklearn.preprocessing.StandardScaler for instance"
REMEDY = "build it again with scipy.sparse.csr_array(dense), or from (row, column)"
FAR = 3.0  # a mean this many standard deviations of its column from zero is far
ROWS_AT_ONCE = 2**14
LARGEST_INT32 = np.iinfo(np.int32).max


def design_rows(X):
    """Return validated `X` in the format of the kernels, without copying its values."""
    values = X.data if issparse(X) else X
    check_magnitude("X", values, values.dtype, SCALE)
    if not issparse(X):
        return np.asarray(X)
    X = _canonical(with_valid_indices(X))
    return CSRRows(
        X.data,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        X.shape[1],
    )


def _canonical(X):
    """Return a sparse matrix without duplicates."""
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def with_valid_indices(X):
    """Return `X` after checking that all indices are in range, if it is sparse.

    SciPy checks indices only when it builds a matrix, and compiled code never does: one
    index out of range would crash the process. Raises a ValueError instead. Indices are
    converted to 32 bits if these suffice.
    """
    if not issparse(X):
        return X
    if X.format == "coo":
        for axis, indices in enumerate(X.coords):
            _check_range(indices, X.shape[axis], axis)
    if X.format not in ("csr", "csc"):
        return X
    minor = 1 if X.format == "csr" else 0
    data, indices, indptr = X.data, X.indices, X.indptr
    n = X.shape[1 - minor]
    if any(part.ndim != 1 for part in (data, indices, indptr)) or (
        indptr.size != n + 1 or indptr[0] != 0 or (np.diff(indptr) < 0).any()
    ):
        raise ValueError(
            f"X has an indptr that does not rise from 0 in {n} steps, one for each "
            f"{('column', 'row')[minor]}; {REMEDY}"
        )
    if not indptr[-1] <= min(data.size, indices.size):
        raise ValueError(
            f"X has an indptr that ends at {indptr[-1]} while there are {data.size} "
            f"values and {indices.size} indices; {REMEDY}"
        )
    _check_range(indices[: indptr[-1]], X.shape[minor], minor)
    if data.size == indices.size == indptr[-1] and indices.dtype == np.int32:
        return X
    kind = np.int32 if max(indptr[-1], *X.shape) <= LARGEST_INT32 else np.int64
    parts = data[: indptr[-1]], indices[: indptr[-1]].astype(kind), indptr.astype(kind)
    return type(X)(parts, shape=X.shape)


def _check_range(indices, length, axis):
    if indices.size and not 0 <= indices.min() <= indices.max() < length:
        axis = ("row", "column")[axis]
        raise ValueError(
            f"X has indices of a {axis} from {indices.min()} to {indices.max()}, out "
            f"of range for {length} {axis}s; {REMEDY}"
        )


@np.errstate(over="ignore", invalid="ignore")
def far_centers(X, weights=None):
    """Return the means of columns that are far from zero, (n_features,), 0 elsewhere.

    Such columns make a posterior ill-conditioned, because they are nearly proportional
    to the intercept. The array is empty if there are none.
    """
    if not X.shape[0]:
        return np.empty(0)
    if issparse(X):
        return _far_centers_of_sparse(X, weights)
    first = X[0].astype(np.float64)  # subtracted to avoid cancellation in squares
    total, squares, n = np.zeros_like(first), np.zeros_like(first), 0.0
    for begin in range(0, len(X), ROWS_AT_ONCE):
        away = X[begin : begin + ROWS_AT_ONCE] - first
        w = np.ones(len(away)) if weights is None else weights[begin:][: len(away)]
        total += w @ away
        squares += w @ away**2
        n += w.sum()
    return _where_far(total / n, squares / n, first)


def _far_centers_of_sparse(X, weights):
    # A column with a tenth of zeros has its mean within three sds of zero.
    X = _canonical(X)
    n, p = X.shape
    full = np.bincount(X.indices, minlength=p) > 0.5 * n
    if not full.any():
        return np.empty(0)
    w = np.ones(n) if weights is None else weights
    row_weights = np.repeat(w, np.diff(X.indptr))
    first = np.zeros(p)
    first[X.indices] = X.data
    away = X.data - first[X.indices]

    def sums(values, of_zero):
        stored = np.bincount(X.indices, row_weights * values, minlength=p)
        seen = np.bincount(X.indices, row_weights, minlength=p)
        return (stored + (w.sum() - seen) * of_zero) / w.sum()

    mean, square = sums(away, -first), sums(away**2, first**2)
    return _where_far(np.where(full, mean, 0), np.where(full, square, 1), full * first)


def _where_far(mean, square, first):
    """Return means of far columns, from moments of their distance to `first`."""
    spread = np.sqrt(np.maximum(square - mean**2, 0.0))
    mean = mean + first
    is_far = np.abs(mean) > FAR * spread
    return np.where(is_far, mean, 0.0) if is_far.any() else np.empty(0)


def centered(X, center):
    """Return validated `X` less the means of far columns, in its own type.

    A sparse column that is far from zero has few zeros, so little is stored in
    addition.
    """
    if not center.size:
        return X
    if not issparse(X):
        return (X - center).astype(X.dtype, copy=False)
    far, n = np.flatnonzero(center), X.shape[0]
    means = np.tile(center[far], n), np.tile(far, n), np.arange(n + 1) * far.size
    return (csr_array(X) - csr_array(means, shape=X.shape)).astype(X.dtype)
