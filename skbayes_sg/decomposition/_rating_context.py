"""Further columns of ratings, such as the day or the device: labels or numbers.

Each is turned into a column of labels and a column of factors of their rows: 1 for
labels, and the standardized number at the one row that a column of numbers has.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.utils._validation import check_number, check_option

KINDS = ("labels", "numbers")
DAY = 86_400.0  # seconds


class ContextColumn(NamedTuple):
    """How to read a further column."""

    width: float | None  # of the bins that are labels, if it is binned
    is_number: bool
    mean: float  # of the numbers
    sd: float

    def read(self, column):
        """Return labels and factors, (n,) each."""
        if self.is_number:
            z = (_numbers("numbers", column) - self.mean) / self.sd
            return np.zeros(len(column), np.int64), z
        if self.width is not None:
            bins = np.floor(_numbers("bins", column) / self.width)
            column = bins.astype(np.int64)
        return column, np.ones(len(column))


def learn_context(columns, kinds):
    """Return a list with a `ContextColumn` for each further column.

    Parameters
    ----------
    columns : list of ndarray of shape (n,)
        The columns in `fit`.
    kinds : sequence or None
        The parameter `context`.
    """
    if kinds is None:
        kinds = [_kind(column) for column in columns]
    if isinstance(kinds, str) or not np.iterable(kinds) or len(kinds) != len(columns):
        raise ValueError(
            f"context={kinds!r} is not allowed; it must have one of {KINDS}, or a "
            f"width of bins, for each of the {len(columns)} columns of X after user "
            "and item"
        )
    return [_learn(*pair) for pair in zip(columns, kinds, strict=True)]


def read_context(context, columns):
    """Return a list of columns of labels, and factors (n, n_further), None if none."""
    read = [own.read(column) for own, column in zip(context, columns, strict=True)]
    labels, values = [labels for labels, _ in read], [z for _, z in read]
    return labels, np.stack(values, axis=1) if values else None


def check_context(columns, y):
    """Raise an error if the ratings are among the further columns."""
    for k, column in enumerate(columns):
        varies = column.dtype.kind in "iuf" and len(np.unique(column)) > 1
        if varies and np.array_equal(column, y):
            raise ValueError(
                f"column {k + 2} of X, counted from 0, equals y: X holds user, item "
                "and what is known before a rating, but not the rating itself"
            )


def _kind(column):
    """Return how a column is read by default."""
    if column.dtype.kind == "M":
        return DAY
    return "numbers" if column.dtype.kind == "f" else "labels"


def _learn(column, kind):
    if not isinstance(kind, str):
        check_number("context", kind, above=0)
        return ContextColumn(float(kind), False, 0.0, 1.0)
    check_option("context", kind, KINDS)
    if kind == "labels":
        return ContextColumn(None, False, 0.0, 1.0)
    x = np.sort(_numbers(kind, column))  # rounding does not depend on the order
    return ContextColumn(None, True, float(x.mean()), float(x.std()) or 1.0)


def _numbers(name, column):
    """Return a column as floats; times in seconds."""
    if column.dtype.kind == "M":
        return column.astype("datetime64[us]").astype(np.float64) / 1e6
    try:
        return column.astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"context asks for {name} in a column of X that holds "
            f"{column[:1].tolist()[0]!r}; use 'labels' for it"
        ) from None
