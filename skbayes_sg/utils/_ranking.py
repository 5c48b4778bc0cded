"""How well lists of recommended items agree with what users chose."""

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.utils._labels import encode, joined, label_columns, label_list, lookup
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import check_integer


def ndcg_at_n(
    X: MatrixLike, users: ArrayLike, recommended: ArrayLike, n: int = 10
) -> float:
    """Return the normalized discounted cumulative gain of the first n items.

    An item that the user chose counts 1 / log2(1 + place); the sum is divided by that
    of the best possible list, and averaged over the users who chose anything.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, 2)
        Pairs of a user and an item that were chosen.
    users : array-like of shape (n_users,)
        Distinct users with recommendations.
    recommended : array-like of shape (n_users, n_items)
        Labels of the items recommended to each, best first, as `recommend` returns.
    n : int, default=10
        Number of places that count.

    Returns
    -------
    score : float
        Between 0 and 1.

    Examples
    --------
    >>> from skbayes_sg.metrics import ndcg_at_n
    >>> ndcg_at_n([("ann", "tea")], ["ann"], [["tea", "milk"]])
    1.0
    """
    hits, counts = _hits(X, users, recommended, n)
    gains = 1.0 / np.log2(np.arange(2, hits.shape[1] + 2))
    best = np.cumsum(gains)[np.minimum(counts, len(gains)) - 1]
    return float(np.mean((hits @ gains) / best))


def recall_at_n(
    X: MatrixLike, users: ArrayLike, recommended: ArrayLike, n: int = 20
) -> float:
    """Return the share of the chosen items among the first n recommended.

    Parameters
    ----------
    X : array-like or data frame of shape (n_samples, 2)
        Pairs of a user and an item that were chosen.
    users : array-like of shape (n_users,)
        Distinct users with recommendations.
    recommended : array-like of shape (n_users, n_items)
        Labels of the items recommended to each, best first, as `recommend` returns.
    n : int, default=20
        Number of places that count.

    Returns
    -------
    score : float
        Average over the users who chose anything, between 0 and 1.

    Examples
    --------
    >>> from skbayes_sg.metrics import recall_at_n
    >>> recall_at_n([("ann", "tea"), ("ann", "rum")], ["ann"], [["tea", "milk"]])
    0.5
    """
    hits, counts = _hits(X, users, recommended, n)
    return float(np.mean(hits.sum(axis=1) / counts))


def _hits(X, users, recommended, n):
    """Return which places hold a chosen item, and how many items each user chose."""
    check_integer("n", n, at_least=1)
    labels = label_list(users)
    recommended = np.asarray(recommended)
    if recommended.ndim != 2 or len(recommended) != len(labels):
        raise ValueError(
            f"recommended has the shape {recommended.shape}; it must have a row of "
            f"items for each of {len(labels)} users"
        )
    known, rows = encode(labels)
    if len(known) < len(labels):
        raise ValueError("users holds a label twice; each user needs one row")
    chosen_by, chosen = label_columns(X)[:2]
    items, codes = encode(joined(label_list(recommended.ravel()), chosen))
    lists, chosen = np.split(codes, [recommended.size])
    lists = lists.reshape(recommended.shape)[:, :n]
    places = lookup(known, chosen_by)
    row_of = np.argsort(rows)  # the row of each of `known`
    is_known = places >= 0
    pairs = row_of[places[is_known]] * len(items) + chosen[is_known]
    pairs = np.unique(pairs)
    counts = np.bincount(pairs // len(items), minlength=len(labels))
    own = np.arange(len(labels))[:, None] * len(items) + lists
    hits, any_chosen = np.isin(own, pairs), counts > 0
    if not any_chosen.any():
        raise ValueError("none of the users chose anything in X")
    return hits[any_chosen], counts[any_chosen]
