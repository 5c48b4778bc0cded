"""Encoding of labels of any hashable type as the codes 0, 1, ..."""

import warnings

import numpy as np
import scipy.sparse as sp

DENSE = 4  # times the number of labels, up to which integers are counted, not sorted


def label_columns(X):
    """Return the columns of X, user, item and others, as arrays of their own types."""
    if hasattr(X, "columns"):  # a data frame: its columns differ in type
        columns = [X[name] for name in X.columns]
    elif hasattr(X, "__array__"):
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(
                f"Expected 2D array, got an array of shape {X.shape}. Reshape your "
                "data: a row (user, item) for each rating"
            )
        columns = list(X.T)
    else:
        if any(isinstance(row, str | bytes) or not np.iterable(row) for row in X):
            raise ValueError(
                "Expected 2D array, got a list of single labels. Reshape your data: a "
                "row (user, item) for each rating, [(user, item)] for a single one"
            )
        rows = [tuple(row) for row in X]
        if len({len(row) for row in rows}) > 1:
            raise ValueError("X has rows of different lengths; each is (user, item)")
        columns = [_objects(column) for column in zip(*rows, strict=True)]
    if not len(X):
        raise ValueError("Found 0 sample(s) in X while a minimum of 1 is required.")
    names = ("user", "item", *["context"] * (len(columns) - 2))
    read = [_natural(*pair) for pair in zip(names, columns, strict=False)]
    if len(columns) < 2:
        shape = len(X), len(columns)
        raise ValueError(
            f"Found array with {len(columns)} feature(s) (shape={shape}) while a "
            "minimum of 2 is required: the user and the item of each rating"
        )
    return read


def label_list(values):
    """Return labels given as one sequence, as an array."""
    if isinstance(values, np.ndarray) or hasattr(values, "to_numpy"):
        return _natural("label", values)
    return _natural("label", _objects(values))


def encode(column):
    """Return the distinct labels of a column, and the code of each entry."""
    if column.dtype.kind in "iu":
        low, high = int(column.min()), int(column.max())
        if high - low < DENSE * column.size and high < np.iinfo(np.int64).max:
            return _encode_dense(column.astype(np.int64) - low, low, column.dtype)
    if column.dtype != object:
        labels, codes = np.unique(column, return_inverse=True)
        return labels, codes.astype(np.int64).ravel()
    seen = {}
    try:
        codes = [seen.setdefault(label, len(seen)) for label in column]
    except TypeError:
        raise TypeError(
            "a label cannot be hashed: each argument must be a string, a number or "
            f"another hashable object, not {column[len(seen)]!r}"
        ) from None
    return _objects(seen), np.array(codes, np.int64)


def _encode_dense(offsets, low, dtype):
    """Return what `encode` does, for integers in a short range, without sorting."""
    used = np.bincount(offsets) > 0
    labels = np.flatnonzero(used)
    return (labels + low).astype(dtype), (np.cumsum(used) - 1)[offsets]


def lookup(labels, column):
    """Return the codes of a column's labels, -1 for those not in `labels`."""
    if not _comparable(labels, column):
        warnings.warn(
            f"labels of type {column.dtype} cannot be among those of the fit, which "
            f"are of type {labels.dtype}; all of them count as unknown",
            UserWarning,
            stacklevel=3,
        )
    return _codes(labels, column)


def feature_table(name, features, needed):
    """Return labels and matrix (CSR) of side information, or None.

    At least one of the labels in `needed` must have a row.
    """
    if features is None:
        return None
    if hasattr(features, "index") and hasattr(features, "to_numpy"):
        labels, matrix = features.index, features.to_numpy()
    elif isinstance(features, tuple | list) and len(features) == 2:
        labels, matrix = features
    else:
        raise TypeError(
            f"{name} is of type {type(features).__name__}; it must be a data frame "
            "whose index holds the labels, or a pair of labels and a matrix"
        )
    try:
        matrix = sp.csr_array(matrix, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} must hold numbers in rows and columns{_no_number(features)}"
        ) from error
    if not np.isfinite(matrix.data).all():
        raise ValueError(f"{name} holds NaN or infinite values; all must be finite")
    labels, codes = encode(label_list(labels))
    if matrix.ndim != 2 or not 0 < len(codes) == len(labels) == matrix.shape[0]:
        raise ValueError(
            f"{name} has {len(codes)} labels, {len(labels)} of them distinct, and a "
            f"matrix of shape {matrix.shape}; there must be a row for each label"
        )
    if (_codes(labels, needed) < 0).all():
        raise ValueError(
            f"{name} has no row for any label in X: its labels are like "
            f"{labels[:1].tolist()[0]!r}, those in X like {needed[:1].tolist()[0]!r}"
        )
    return labels, matrix[np.argsort(codes)]


def joined(labels, column):
    """Return known labels and those of a column in one array."""
    if not _comparable(labels, column):
        raise ValueError(
            f"X has labels of type {column.dtype}, but those of the fit are of type "
            f"{labels.dtype}; both must be numbers, or both strings"
        )
    return np.concatenate([labels, column])


def _no_number(features):
    """Return a remark on the first column of a data frame that holds no numbers."""
    for name in getattr(features, "columns", ()):
        try:
            np.asarray(features[name], dtype=np.float64)
        except (TypeError, ValueError):
            return (
                f"; its column {name!r} holds other values. Encode it first, for "
                "instance by pandas.get_dummies or OneHotEncoder"
            )
    return "; encode categories first, for instance by OneHotEncoder"


def _objects(values):
    out = np.empty(len(values), object)
    for k, value in enumerate(values):
        out[k] = value
    return out


def _natural(name, values):
    """Return a column as an array of numbers or strings if it holds only these."""
    column = np.asarray(values)
    if column.dtype == object:
        kinds = {type(value) for value in column}
        if kinds == {str}:
            column = column.astype(str)
        elif kinds and kinds <= {int, np.int64, np.int32}:
            column = column.astype(np.int64)
    if column.ndim != 1:
        raise ValueError(f"the {name} labels must be one-dimensional")
    if column.dtype.kind == "c":
        raise ValueError(f"Complex data not supported as {name} labels")
    if _any_missing(column):
        raise ValueError(
            f"the {name} labels hold a missing value: None, NaN or infinity"
        )
    return column


def _any_missing(column):
    if column.dtype.kind == "f":
        return not np.isfinite(column).all()
    if column.dtype.kind in "mM":
        return bool(np.isnat(column).any())
    if column.dtype == object:
        # pandas.NA refuses to be compared with anything, itself included.
        return any(v is None or type(v).__name__ == "NAType" or v != v for v in column)
    return False


def _codes(labels, column):
    if not _comparable(labels, column):
        return np.full(len(column), -1, np.int64)
    if labels.dtype == object or column.dtype == object:
        known = {label: code for code, label in enumerate(labels.tolist())}
        codes = (known.get(label, -1) for label in column.tolist())
        return np.fromiter(codes, np.int64, len(column))
    places = np.minimum(np.searchsorted(labels, column), len(labels) - 1)
    return np.where(labels[places] == column, places, -1)


def _comparable(labels, column):
    """Whether the types of two arrays of labels allow equal values."""
    mixed = labels.dtype == object or column.dtype == object
    return mixed or _kind(labels) == _kind(column)


def _kind(column):
    return "number" if column.dtype.kind in "biuf" else column.dtype.kind
