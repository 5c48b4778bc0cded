"""Design matrices of scikit-learn as rows of the kernels."""

import numpy as np
from scipy.sparse import issparse

from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.utils._validation import check_magnitude

SCALE = "scale its columns, with sklearn.preprocessing.StandardScaler for instance"


def design_rows(X):
    """Return validated `X` as the kernels take it, without a copy of its values."""
    values = X.data if issparse(X) else X
    check_magnitude("X", values, values.dtype, SCALE)
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
