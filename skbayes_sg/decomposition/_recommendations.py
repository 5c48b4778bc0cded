"""Recommendations: the best items for a user, and what is similar."""

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.inference.rating_predictions import (
    grid_means,
    pair_moments,
    similarities,
)
from skbayes_sg.utils._labels import label_list, lookup
from skbayes_sg.utils._validation import check_bool, check_integer

CELLS_AT_ONCE = 2**22  # users times items whose scores are held in memory together


class RecommendationMixin:
    """Rankings by an estimator with the draws of `RatingPredictionMixin`."""

    def recommend(
        self,
        users: ArrayLike,
        n: int = 10,
        filter_seen: bool = True,
        return_std: bool = False,
        items: ArrayLike | None = None,
        filter_items: ArrayLike | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Return the items with the highest scores, best first.

        Scores of a model of ratings are mean ratings: what a user would like if it came
        to a rating. They do not tell which items a user is going to choose, for which a
        model with ``feedback="implicit"`` ranks several times better.

        Parameters
        ----------
        users : label or array-like of labels of shape (n_users,)
            One user or several, known or not.
        n : int, default=10
            Number of items for each user; all items if there are fewer.
        filter_seen : bool, default=True
            Leave out the items that a user rated in `fit`.
        return_std : bool, default=False
            Also return standard deviations of the ratings; with implicit feedback those
            of the scores.
        items : array-like of labels, default=None
            The items to choose from, all of the fit by default.
        filter_items : array-like of labels, default=None
            Items to leave out for all users.

        Returns
        -------
        items : ndarray of shape (n,) or (n_users, n)
            Labels of items; a row for each user if several were given. If a user has
            fewer than `n` items left, others follow, with score -inf.
        scores : ndarray of shape (n,) or (n_users, n)
            Mean ratings, not clipped, or scores of choices.
        stds : ndarray of shape (n,) or (n_users, n)
            Standard deviations. Only with ``return_std=True``.
        """
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        check_bool("filter_seen", filter_seen)
        check_bool("return_std", return_std)
        single, labels = _one_or_more(users)
        codes, draws = lookup(self.users_, labels), self._factors()
        allowed = self._allowed_items(items, filter_items)
        parts = []
        step = max(1, CELLS_AT_ONCE // len(self.items_))
        for first in range(0, len(codes), step):
            part = slice(first, first + step)
            features = self._features_of(0, labels[part])
            scores = grid_means(draws, codes[part], features)
            if filter_seen:
                scores[self._seen_cells(codes[part])] = -np.inf
            scores[:, ~allowed] = -np.inf
            best = _best(scores, n)
            values = np.take_along_axis(scores, best, axis=1)
            out = [self.items_[best], self.mean_rating_ + values.astype(np.float64)]
            if return_std:
                out.append(self._stds(draws, codes[part], best, features))
            parts.append(out)
        joined = tuple(np.concatenate(part) for part in zip(*parts, strict=True))
        return tuple(part[0] for part in joined) if single else joined

    def similar_items(self, items: ArrayLike, n: int = 10) -> tuple[np.ndarray, ...]:
        """Return the items with factors of similar direction, most similar first.

        Parameters
        ----------
        items : label or array-like of labels of shape (n_items,)
            One item of the fit or several.
        n : int, default=10
            Number of similar items, the item itself included.

        Returns
        -------
        similar : ndarray of shape (n,) or (n_items, n)
            Labels of items; a row for each item if several were given.
        scores : ndarray of shape (n,) or (n_items, n)
            Cosines of their factors with those of the item, averaged over draws.
        """
        return self._similar("items", items, n)

    def similar_users(self, users: ArrayLike, n: int = 10) -> tuple[np.ndarray, ...]:
        """Return the users with factors of similar direction, most similar first.

        Parameters
        ----------
        users : label or array-like of labels of shape (n_users,)
            One user of the fit or several.
        n : int, default=10
            Number of similar users, the user itself included.

        Returns
        -------
        similar : ndarray of shape (n,) or (n_users, n)
            Labels of users; a row for each user if several were given.
        scores : ndarray of shape (n,) or (n_users, n)
            Cosines of their factors with those of the user, averaged over draws.
        """
        return self._similar("users", users, n)

    def _similar(self, name, asked, n):
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        known = getattr(self, f"{name}_")
        single, labels = _one_or_more(asked)
        codes = lookup(known, labels)
        if (codes < 0).any():
            unknown = labels[codes < 0].tolist()[0]
            raise ValueError(
                f"{name}={unknown!r} is not among the {name} of the fit, {name}_; only "
                "those have factors to compare"
            )
        scores = similarities(self._factors(), int(name == "items"), codes)
        best = _best(scores, n)
        out = known[best], np.take_along_axis(scores, best, axis=1)
        return tuple(part[0] for part in out) if single else out

    def _allowed_items(self, items, filter_items):
        """Return which items may be recommended, (n_items,)."""
        allowed = np.ones(len(self.items_), bool)
        if items is not None:
            codes = lookup(self.items_, label_list(items))
            if (codes < 0).all():
                raise ValueError(
                    f"items={items!r} has none of the items of the fit, items_; only "
                    "those can be recommended"
                )
            allowed[:] = False
            allowed[codes[codes >= 0]] = True
        if filter_items is not None and len(filter_items):
            codes = lookup(self.items_, label_list(filter_items))
            allowed[codes[codes >= 0]] = False
        return allowed

    def _seen_cells(self, codes):
        """Return rows and columns, (2, n), of the items that users have rated."""
        users, items = self._ratings[:2]
        first, last = (np.searchsorted(users, codes, at) for at in ("left", "right"))
        counts = last - first  # none of an unknown user, whose code is -1
        rows = np.repeat(np.arange(len(codes)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, items[np.repeat(first, counts) + within]

    def _stds(self, draws, codes, best, features):
        """Return standard deviations of the ratings of the `best` items, (n, k)."""
        rows = np.repeat(np.arange(len(codes)), best.shape[1])
        none = np.zeros((len(rows), 0))
        moments = pair_moments(draws, codes[rows], best.ravel(), features[rows], none)
        return self._std(moments).reshape(best.shape)


def _best(scores, n):
    """Return the places of the n largest scores of each row, best first."""
    if n < scores.shape[1] // 2:
        some = np.sort(np.argpartition(-scores, n - 1, axis=1)[:, :n], axis=1)
        order = np.argsort(-np.take_along_axis(scores, some, 1), axis=1, kind="stable")
        return np.take_along_axis(some, order, axis=1)
    return np.argsort(-scores, axis=1, kind="stable")[:, :n]


def _one_or_more(labels):
    """Return whether `labels` is a single label, and an array of labels."""
    single = isinstance(labels, str | bytes | tuple) or np.ndim(labels) == 0
    labels = label_list([labels] if single else labels)
    if not len(labels):
        raise ValueError("no label is given; at least one is needed")
    return single, labels
