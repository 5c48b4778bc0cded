"""Design matrices of scikit-learn as rows of the kernels."""

import numpy as np
from scipy.sparse import issparse

from skbayes_sg.kernels.rows import CSRRows


def as_rows(X):
    """Return validated `X` as the kernels take it, without a copy of its values."""
    _check_magnitude(X.data if issparse(X) else X)
    if not issparse(X):
        return np.asarray(X)
    if not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return CSRRows(
        X.data,
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
        X.shape[1],
    )


def _check_magnitude(values):
    """Raise a ValueError for values whose squares, summed over rows, may overflow."""
    if values.size == 0:
        return
    largest = max(float(values.max()), -float(values.min()))
    if largest > 1e-6 * np.sqrt(np.finfo(values.dtype).max):
        raise ValueError(
            f"X holds values up to {largest:.3g}, too large for {values.dtype}; scale "
            "its columns, with sklearn.preprocessing.StandardScaler for instance"
        )
