"""The best items for many users: found by few directions, ranked by exact scores.

A mean score is a product of as many factors as all draws have together, often more than
a thousand. Draws agree on few directions of these, and differ in the others by chance.
The few directions tell some more items than are wanted, whose exact scores rank them.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.rating_predictions import (
    grid_means,
    item_factors,
    user_factors,
)
from skbayes_sg.kernels.ranking import largest, products

RANK = 32  # directions
ROUNDS = 2  # of the search for them
SEARCHED = 1000  # users for whom they are best
MANY = 5000  # users; for fewer, all scores take no longer
MORE = 30  # items that are ranked beside those wanted
MAX_BYTES = 2**28  # of the factors of all items
EVERY = slice(None)


class Directions(NamedTuple):
    """Factors of all items under all draws, and their part in few directions."""

    factors: np.ndarray  # (n_items, S d)
    biases: np.ndarray  # (n_items,)
    basis: np.ndarray  # (n_items, RANK + 1) of the directions, and the biases
    mixing: np.ndarray  # (S d, RANK) from factors of users to directions


def few_directions(draws, n, users, features_of, context, values):
    """Return the `Directions` of the items, or None if they do not save time.

    Parameters
    ----------
    draws : RatingDraws
        Posterior draws.
    n : int
        Number of items wanted.
    users : ndarray of shape (n_users,)
        Codes of users.
    features_of : callable
        Returns the features of the users at some places.
    context, values : list of ndarray of shape (n_users,), ndarray
        Codes of further columns for each user, and their factors.
    """
    n_items, width = draws.sizes[1], len(draws.weights) * draws.n_factors
    is_small = len(users) < MANY or n_items < 4 * (n + MORE) or width < 4 * RANK
    if is_small or 4 * n_items * width > MAX_BYTES:
        return None
    some = np.unique(np.linspace(0, len(users) - 1, SEARCHED).astype(int))
    here = users[some], features_of(some), [code[some] for code in context]
    u, _ = user_factors(draws, EVERY, *here, values[some])
    v, biases = item_factors(draws, EVERY)
    spread = np.linspace(0, len(some) - 1, RANK).astype(int)
    basis = np.linalg.qr(v @ u[spread].T)[0]
    for _ in range(ROUNDS):
        basis = np.linalg.qr(v @ (u.T @ (u @ (v.T @ basis))))[0]
    biases = biases.astype(np.float32)
    return Directions(v, biases, np.column_stack([basis, biases]), v.T @ basis)


def best_items(directions, n, asked, seen, hidden):
    """Return the best items for users, best first, and their scores, (n_users, n).

    Parameters
    ----------
    directions : Directions or None
        None ranks all items by exact scores.
    n : int
        Number of items; all if there are fewer.
    asked : tuple
        Arguments of `grid_means`: draws, users and their context.
    seen : pair of ndarray or None
        Rows and columns of items that are left out.
    hidden : ndarray of shape (n_items,)
        Whether an item is left out for all users; such items have the score -inf.
    """
    if directions is None:
        scores = _without(grid_means(*asked), seen, hidden)
        best = in_order(scores, n)
        return best, np.take_along_axis(scores, best, axis=1)
    factors, biases, basis, mixing = directions
    draws, *rest = asked
    u, own = user_factors(draws, EVERY, *rest)
    ones = np.ones((len(u), 1), np.float32)
    rough = _without(np.hstack([u @ mixing, ones]) @ basis.T, seen, hidden)
    some = np.sort(largest(rough, n + MORE), axis=1)
    scores = products(u, factors, some) + (biases[some] + own[:, None])
    scores[np.isneginf(np.take_along_axis(rough, some, axis=1))] = -np.inf
    best = in_order(scores, n)
    return tuple(np.take_along_axis(x, best, axis=1) for x in (some, scores))


def in_order(scores, n):
    """Return the places of the n largest scores of each row, best first."""
    if n < scores.shape[1] // 2:
        some = np.sort(np.argpartition(-scores, n - 1, axis=1)[:, :n], axis=1)
        order = np.argsort(-np.take_along_axis(scores, some, 1), axis=1, kind="stable")
        return np.take_along_axis(some, order, axis=1)
    return np.argsort(-scores, axis=1, kind="stable")[:, :n]


def _without(scores, seen, hidden):
    """Return scores, (n_users, n_items), with -inf for items that are left out."""
    if seen is not None:
        scores[seen] = -np.inf
    scores[:, hidden] = -np.inf
    return scores
