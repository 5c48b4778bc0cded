"""Design matrices of scikit-learn as rows of the kernels."""

import numpy as np
from scipy.sparse import issparse

from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.utils._validation import check_magnitude

SCALE = "scale its columns, with sklearn.preprocessing.StandardScaler for instance"
FAR = 3.0  # standard deviations of a column's mean from zero
ROWS_AT_ONCE = 2**14


def design_rows(X):
    """Return validated `X` as the kernels take it, without a copy of its values."""
    values = X.data if issparse(X) else X
    check_magnitude("X", values, values.dtype, SCALE)
    if not issparse(X):
        return np.asarray(X)
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(
            f"X has {X.shape[1]} columns, more than 32-bit indices can tell apart; "
            "use fewer features"
        )
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return CSRRows(
        X.data,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        X.shape[1],
    )


def far_centers(X, weights=None):
    """Return the means of columns that are far from zero, (n_features,), 0 elsewhere.

    Such columns make a posterior ill-conditioned, since they are all but proportional
    to the intercept. The array is empty where there are none, and of sparse matrices,
    which would not stay sparse.
    """
    if issparse(X) or not len(X):
        return np.empty(0)
    first = X[0].astype(np.float64)  # from which squares lose no digits
    total, squares, n = np.zeros_like(first), np.zeros_like(first), 0.0
    for begin in range(0, len(X), ROWS_AT_ONCE):
        away = X[begin : begin + ROWS_AT_ONCE] - first
        w = np.ones(len(away)) if weights is None else weights[begin:][: len(away)]
        total += w @ away
        squares += w @ away**2
        n += w.sum()
    mean = total / n
    spread = np.sqrt(np.maximum(squares / n - mean**2, 0.0))
    mean += first
    is_far = np.abs(mean) > FAR * spread
    return np.where(is_far, mean, 0.0) if is_far.any() else np.empty(0)
