"""Columns: the data of a model of the user's own, by name."""

import numpy as np
from scipy.sparse import issparse
from sklearn.utils.validation import _check_sample_weight

KINDS = {"f": np.float64, "i": np.int64, "u": np.int64, "b": np.int64}


def check_columns(names, columns, method="fit"):
    """Return the columns of these names as arrays of equal length.

    Numbers become float64, integers and truth values int64. Others are an error.
    """
    missing = [name for name in names if columns.get(name) is None]
    if missing:
        raise ValueError(
            f"{method}() lacks the column {missing[0]!r} of the model; pass it by "
            f"name, as {method}({', '.join(f'{name}={name}' for name in names)})"
        )
    arrays = {name: _checked(name, columns[name]) for name in names}
    lengths = {name: len(values) for name, values in arrays.items()}
    if len(set(lengths.values())) > 1:
        shown = ", ".join(f"{name} has {n}" for name, n in lengths.items())
        raise ValueError(
            f"all columns need the same number of rows, but {shown}; an array that is "
            "not by row belongs into the functions of the model"
        )
    return arrays


def check_weights(sample_weight, column):
    """Return the weights of the rows of a column, (n,)."""
    return _check_sample_weight(
        sample_weight, column, dtype=np.float64, ensure_non_negative=True
    )


def _checked(name, values):
    if issparse(values):
        raise TypeError(
            f"{name} is a sparse matrix, which models of your own do not take; pass "
            f"{name}.toarray()"
        )
    values = np.asarray(values)
    if values.dtype.kind not in KINDS:
        raise TypeError(
            f"{name} has dtype {values.dtype}, but columns hold numbers; code labels "
            f"as integers, by np.unique({name}, return_inverse=True)[1]"
        )
    if values.ndim == 0 or len(values) == 0:
        raise ValueError(
            f"{name} has shape {values.shape}; a column has one entry per row and at "
            "least one row"
        )
    values = values.astype(KINDS[values.dtype.kind], copy=False)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise ValueError(
            f"{name} contains NaN or infinity; drop or impute those rows first"
        )
    return values
