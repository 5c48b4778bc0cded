"""Predictions and recommendations from posterior draws of a matrix factorization."""

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.special import ndtr, ndtri
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.inference.exploration.matrix_factorization import unpack
from skbayes_sg.inference.rating_predictions import (
    RatingDraws,
    grid_moments,
    pair_moments,
    similarities,
)
from skbayes_sg.utils._labels import label_list, lookup
from skbayes_sg.utils._typing import MatrixLike, Predictions
from skbayes_sg.utils._validation import check_bool, check_integer, check_number

PAIRS_AT_ONCE = 2**16  # pairs whose predictions are held in memory together
CELLS_AT_ONCE = 2**20  # the same for recommendations, users times items


class RatingPredictionMixin:
    """Predictions of an estimator whose draws are factors of users and items.

    The estimator has `samples_`, `users_`, `items_`, `classes_`, `mean_rating_` and
    `rating_range_`, and checks X in `_label_columns`.
    """

    def predict(self, X: MatrixLike, return_std: bool = False) -> Predictions:
        """Return the mean rating of each pair.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating, known or not.
        return_std : bool, default=False
            Also return the standard deviation of the rating, noise included.

        Returns
        -------
        y_mean : ndarray of shape (n_samples,)
            Means, clipped to the rating range.
        y_std : ndarray of shape (n_samples,)
            Standard deviations. Only with ``return_std=True``.
        """
        mean, std = self._predictive(X)
        mean = np.clip(mean, *self.rating_range_)
        return (mean, std) if return_std else mean

    def predict_interval(self, X: MatrixLike, level: float = 0.9) -> np.ndarray:
        """Return an interval for the rating of each pair.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating, known or not.
        level : float, default=0.9
            Probability of the interval.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper end, clipped to the rating range.
        """
        check_number("level", level, above=0)
        if level >= 1:
            raise ValueError(f"level={level!r} is not allowed; it must be less than 1")
        mean, std = self._predictive(X)
        half = ndtri(0.5 + 0.5 * level) * std
        interval = np.stack([mean - half, mean + half], axis=1)
        return np.clip(interval, *self.rating_range_)

    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probability of each rating level.

        The predictive Gaussian is integrated between the mid-points of the levels.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, 2)
            User and item of each rating, known or not.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_levels)
            Probabilities in the order of `classes_`.
        """
        mean, std = self._predictive(X)
        middle = 0.5 * (self.classes_[1:] + self.classes_[:-1])
        below = ndtr((middle - mean[:, None]) / std[:, None])
        return np.diff(below, axis=1, prepend=0.0, append=1.0)

    def recommend(
        self,
        users: ArrayLike,
        n: int = 10,
        filter_seen: bool = True,
        return_std: bool = False,
    ) -> tuple[np.ndarray, ...]:
        """Return the items with the highest mean rating, best first.

        Parameters
        ----------
        users : label or array-like of labels of shape (n_users,)
            One user or several, known or not.
        n : int, default=10
            Number of items for each user; all items if there are fewer.
        filter_seen : bool, default=True
            Leave out the items that a user rated in `fit`.
        return_std : bool, default=False
            Also return standard deviations of the ratings.

        Returns
        -------
        items : ndarray of shape (n,) or (n_users, n)
            Labels of items; a row for each user if several were given. If a user has
            fewer than `n` unseen items, seen items follow, with score -inf.
        scores : ndarray of shape (n,) or (n_users, n)
            Mean ratings, not clipped.
        stds : ndarray of shape (n,) or (n_users, n)
            Standard deviations. Only with ``return_std=True``.
        """
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        check_bool("filter_seen", filter_seen)
        single, labels = _one_or_more(users)
        codes, draws = lookup(self.users_, labels), self._factors()
        parts = []
        step = max(1, CELLS_AT_ONCE // len(self.items_))
        for first in range(0, len(codes), step):
            part = slice(first, first + step)
            features = self._features_of(0, labels[part])
            moments = grid_moments(draws, codes[part], features)
            parts.append(self._best(moments, codes[part], n, filter_seen))
        best, scores, stds = (np.concatenate(part) for part in zip(*parts, strict=True))
        out = (self.items_[best], scores, stds)[: 3 if return_std else 2]
        return tuple(part[0] for part in out) if single else out

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
        check_is_fitted(self)
        check_integer("n", n, at_least=1)
        single, labels = _one_or_more(items)
        codes = lookup(self.items_, labels)
        if (codes < 0).any():
            unknown = labels[codes < 0].tolist()[0]
            raise ValueError(
                f"items={unknown!r} is not among the items of the fit, items_; only "
                "those have factors to compare"
            )
        scores = similarities(self._factors(), codes)
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        out = self.items_[best], np.take_along_axis(scores, best, axis=1)
        return tuple(part[0] for part in out) if single else out

    def _predictive(self, X):
        """Return mean, not clipped, and standard deviation of each rating."""
        check_is_fitted(self)
        columns = self._label_columns(X, reset=False)
        users, items = (
            lookup(labels, column)
            for labels, column in zip((self.users_, self.items_), columns, strict=True)
        )
        draws, parts = self._factors(), []
        for first in range(0, len(users), PAIRS_AT_ONCE):
            part = slice(first, first + PAIRS_AT_ONCE)
            features = [self._features_of(z, columns[z][part]) for z in (0, 1)]
            m = pair_moments(draws, users[part], items[part], *features)
            parts.append((self.mean_rating_ + m.mean, np.sqrt(m.variance + m.noise)))
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, std

    def _factors(self):
        """Return all draws in the format of the predictions."""
        d, q, n_user_features, dof = self._layout
        parts = unpack(self._flat_draws(), len(self.users_) + len(self.items_), q)
        return RatingDraws(
            *parts,
            weights=self._flat_weights(),
            n_users=len(self.users_),
            n_factors=d,
            n_user_features=n_user_features,
            dof=dof,
        )

    def _features_of(self, side, labels):
        """Return the features of labels, (n, p), zero for labels without features."""
        if self._feature_tables[side] is None:
            return sp.csr_array((len(labels), 0))
        known, matrix = self._feature_tables[side]
        codes = lookup(known, labels)
        rows = matrix[np.maximum(codes, 0)]
        return sp.csr_array(sp.diags_array((codes >= 0).astype(matrix.dtype)) @ rows)

    def _best(self, moments, codes, n, filter_seen):
        """Return the best items of some users, their scores and deviations."""
        scores = self.mean_rating_ + moments.mean
        if filter_seen:
            known = np.flatnonzero(codes >= 0)
            indptr, items = self._seen
            shape = len(self.users_), len(self.items_)
            seen = sp.csr_array((np.ones(len(items), bool), items, indptr), shape)
            rows, columns = seen[codes[known]].nonzero()
            scores[known[rows], columns] = -np.inf
        best = np.argsort(-scores, axis=1, kind="stable")[:, :n]
        std = np.sqrt(moments.variance + moments.noise)
        return best, *(np.take_along_axis(part, best, axis=1) for part in (scores, std))


def _one_or_more(labels):
    """Return whether `labels` is a single label, and an array of labels."""
    single = isinstance(labels, str | bytes | tuple) or np.ndim(labels) == 0
    labels = label_list([labels] if single else labels)
    if not len(labels):
        raise ValueError("no label is given; at least one is needed")
    return single, labels
