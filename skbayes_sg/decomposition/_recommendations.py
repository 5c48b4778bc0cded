"""Recommendations: the best items for a user, what is similar, and why."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.decomposition._rating_context import read_context
from skbayes_sg.inference.rating_fold_in import contributions
from skbayes_sg.inference.rating_predictions import (
    pair_moments,
    similarities,
)
from skbayes_sg.inference.rating_rankings import best_items, few_directions, in_order
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
        context: ArrayLike | None = None,
    ) -> tuple[np.ndarray, ...]:
        """Return the items with the highest scores, best first.

        For 5,000 users or more, those that few directions of the factors of all draws
        put at the first n + 30 places are ranked by their scores.

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
        context : array-like of shape (n_further,) or (n_users, n_further), default=None
            The columns of X after user and item, for all users or for each; by default
            unknown labels and average numbers.

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
        further, values = self._context_of(context, len(codes))
        directions = few_directions(
            draws, n, codes, lambda k: self._features_of(0, labels[k]), further, values
        )
        parts = []
        step = max(1, CELLS_AT_ONCE // len(self.items_))
        for first in range(0, len(codes), step):
            part = slice(first, first + step)
            features = self._features_of(0, labels[part])
            here = [code[part] for code in further], values[part]
            asked = draws, codes[part], features, *here
            seen = self._seen_cells(codes[part]) if filter_seen else None
            best, scores = best_items(directions, n, asked, seen, ~allowed)
            out = [self.items_[best], self.mean_rating_ + scores.astype(np.float64)]
            if return_std:
                stds = self._stds(draws, codes[part], best, features, *here)
                out.append(stds)
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

    def contributions(
        self, user: Any, item: Any
    ) -> tuple[np.ndarray, np.ndarray, float]:
        """Return what each rating of a user contributes to the score of an item.

        Given the factors of the items, the mean score is linear in the user's ratings.
        A contribution is positive where a rating raises the score.

        Parameters
        ----------
        user, item : label
            A user and an item of the fit.

        Returns
        -------
        items : ndarray of shape (n_ratings,)
            Labels of the items that the user rated, that with the largest contribution
            in absolute value first.
        parts : ndarray of shape (n_ratings,)
            Their contributions.
        rest : float
            What remains of the score without ratings of the user. The sum with `parts`
            is the score of `recommend`, apart from Monte Carlo errors.

        Examples
        --------
        >>> from skbayes_sg import SGBPMFRecommender
        >>> from skbayes_sg.datasets import make_ratings
        >>> X, y = make_ratings(40, 30, 600, random_state=0)
        >>> model = SGBPMFRecommender(n_factors=3, n_draws=20, random_state=0).fit(X, y)
        >>> items, parts, rest = model.contributions(X[0, 0], item=5)
        >>> items.shape == parts.shape
        True
        """
        check_is_fitted(self)
        if self._context:
            raise ValueError(
                "contributions is for models of users and items; X had "
                f"{self.n_features_in_} columns in fit"
            )
        self._check_ratings_kept("contributions")
        i, j = (
            self._known_codes(name, label_list([label]))[0]
            for name, label in (("users", user), ("items", item))
        )
        first, last = np.searchsorted(self._ratings.users, [i, i + 1])
        own = self._ratings.part(slice(first, last))
        weights = np.ones(len(own.y)) if own.weights is None else own.weights
        features = self._all_features(self._labels, self._ratings)[0][[i]].toarray()[0]
        parts, rest = contributions(
            self._factors(),
            i,
            j,
            own,
            own.y - self.mean_rating_,
            weights / self.temperature,
            features,
            self._unobserved_weight(),
        )
        order = np.argsort(-np.abs(parts), kind="stable")
        rest = float(self.mean_rating_ + rest)
        return self.items_[own.items[order]], parts[order], rest

    def _known_codes(self, name, labels):
        """Return codes of labels, all of which must be known."""
        codes = lookup(getattr(self, f"{name}_"), labels)
        if (codes < 0).any():
            unknown = labels[codes < 0].tolist()[0]
            raise ValueError(
                f"{name}={unknown!r} is not among the {name} of the fit, {name}_; only "
                "those have factors to compare"
            )
        return codes

    def _similar(self, name, asked, n):
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        known = getattr(self, f"{name}_")
        single, labels = _one_or_more(asked)
        codes = self._known_codes(name, labels)
        scores = similarities(self._factors(), int(name == "items"), codes)
        best = in_order(scores, n)
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
        users, items = self._ratings.codes[:2]
        first, last = (np.searchsorted(users, codes, at) for at in ("left", "right"))
        counts = last - first  # none of an unknown user, whose code is -1
        rows = np.repeat(np.arange(len(codes)), counts)
        within = np.arange(counts.sum()) - np.repeat(np.cumsum(counts) - counts, counts)
        return rows, items[np.repeat(first, counts) + within]

    def _context_of(self, context, n):
        """Return codes of further columns for n users, and factors (n, n_further)."""
        n_further = len(self._context)
        if context is None:
            unknown = [np.full(n, -1) for _ in range(n_further)]
            is_label = [float(not own.is_number) for own in self._context]
            for own, codes in zip(self._context, unknown, strict=True):
                codes += own.is_number  # of which there is one, known row
            return unknown, np.tile(is_label, (n, 1))
        rows = np.asarray(context, dtype=object)
        if rows.shape not in ((n_further,), (n, n_further)):
            raise ValueError(
                f"context has the shape {rows.shape}; it must be ({n_further},) or "
                f"({n}, {n_further}): the columns of X after user and item"
            )
        rows = np.broadcast_to(rows, (n, n_further))
        columns = [label_list(rows[:, c].tolist()) for c in range(n_further)]
        columns, values = read_context(self._context, columns)
        labels = self.context_labels_
        codes = [lookup(*pair) for pair in zip(labels, columns, strict=True)]
        return codes, np.zeros((n, 0)) if values is None else values

    def _stds(self, draws, codes, best, features, further, values):
        """Return standard deviations of the ratings of the `best` items, (n, k)."""
        rows = np.repeat(np.arange(len(codes)), best.shape[1])
        sides = [codes[rows], best.ravel(), *[code[rows] for code in further]]
        moments = pair_moments(draws, sides, values[rows], (features[rows], None))
        return self._std(moments).reshape(best.shape)


def _one_or_more(labels):
    """Return whether `labels` is a single label, and an array of labels."""
    single = isinstance(labels, str | bytes | tuple) or np.ndim(labels) == 0
    labels = label_list([labels] if single else labels)
    if not len(labels):
        raise ValueError("no label is given; at least one is needed")
    return single, labels
