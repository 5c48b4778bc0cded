"""Labels of any hashable type, and the codes 0, 1, ... that stand for them."""

import warnings

import numpy as np


def label_columns(X):
    """Return the two columns of X as arrays of their own types."""
    if hasattr(X, "columns"):  # a data frame: its columns differ in type
        return [_natural(name, X[name]) for name in X.columns]
    if isinstance(X, np.ndarray):
        return [_natural(name, X[:, j]) for j, name in enumerate(("user", "item"))]
    rows = [tuple(row) for row in X]
    columns = zip(*rows, strict=True)
    return [
        _natural(name, _objects(column))
        for name, column in zip(("user", "item"), columns, strict=True)
    ]


def label_list(values):
    """Return labels given as one sequence, as an array."""
    if isinstance(values, np.ndarray) or hasattr(values, "to_numpy"):
        return _natural("label", values)
    return _natural("label", _objects(values))


def encode(column):
    """Return the distinct labels of a column, and the code of each entry."""
    if column.dtype != object:
        labels, codes = np.unique(column, return_inverse=True)
        return labels, codes.astype(np.int64).ravel()
    seen = {}
    codes = np.array([seen.setdefault(label, len(seen)) for label in column], np.int64)
    return _objects(seen), codes


def lookup(labels, column):
    """Return the codes of a column's labels, -1 for those not in `labels`."""
    if labels.dtype == object or column.dtype == object:
        known = {label: code for code, label in enumerate(labels.tolist())}
        codes = (known.get(label, -1) for label in column.tolist())
        return np.fromiter(codes, np.int64, len(column))
    if _kind(labels) != _kind(column):
        warnings.warn(
            f"labels of type {column.dtype} cannot be among those of the fit, which "
            f"are of type {labels.dtype}; all of them count as unknown",
            UserWarning,
            stacklevel=3,
        )
        return np.full(len(column), -1, np.int64)
    places = np.minimum(np.searchsorted(labels, column), len(labels) - 1)
    return np.where(labels[places] == column, places, -1)


def _objects(values):
    out = np.empty(len(values), object)
    for k, value in enumerate(values):
        out[k] = value
    return out


def _natural(name, values):
    """Return a column as numbers or strings where it holds one of these alone."""
    column = np.asarray(values)
    if column.dtype == object:
        kinds = {type(value) for value in column}
        if kinds == {str}:
            column = column.astype(str)
        elif kinds and kinds <= {int, np.int64, np.int32}:
            column = column.astype(np.int64)
    if column.ndim != 1:
        raise ValueError(f"the {name} labels must be one-dimensional")
    if _any_missing(column):
        raise ValueError(f"the {name} labels hold a missing value, None or NaN")
    return column


def _any_missing(column):
    if column.dtype.kind == "f":
        return bool(np.isnan(column).any())
    if column.dtype.kind in "mM":
        return bool(np.isnat(column).any())
    if column.dtype == object:
        # pandas.NA refuses to be compared with anything, itself included.
        return any(v is None or type(v).__name__ == "NAType" or v != v for v in column)
    return False


def _kind(column):
    return "number" if column.dtype.kind in "biuf" else column.dtype.kind
