"""New ratings for a recommender that has been fitted: fold-in of users and items."""

import zlib
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from skbayes_sg.base._sampling import likelihood_weights
from skbayes_sg.decomposition._rating_checks import check_ratings
from skbayes_sg.decomposition._rating_model import choices, in_order
from skbayes_sg.inference.rating_fold_in import carried_over, fold_in
from skbayes_sg.utils._labels import encode, joined, lookup
from skbayes_sg.utils._typing import MatrixLike
from skbayes_sg.utils._validation import all_or_nothing


class RatingUpdateMixin:
    """Fold-in of new users, new items and new ratings into posterior draws."""

    users_: Any
    items_: Any
    samples_: Any
    _ratings: Any
    _layout: Any

    def partial_fit(
        self,
        X: MatrixLike,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Take in further ratings without running the chains.

        In each draw, the factors of new items, of new labels of further columns, of new
        users and of users with further ratings are drawn from their conditional
        distribution given all their ratings and the rest of the draw, in closed form.
        Nothing else changes, so that many new ratings of one item teach nothing about
        it until the next `fit`. An estimator that is not fitted yet is fitted.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            User and item of each rating, known or not, and its context, as in `fit`.
        y : array-like of shape (n_samples,)
            Ratings; ignored with implicit feedback.
        sample_weight : array-like of shape (n_samples,), default=None
            Factors of the ratings' log-likelihoods.

        Returns
        -------
        self : object
            The estimator with the draws of more users and items.

        Examples
        --------
        >>> from skbayes_sg import SGBPMFRecommender
        >>> from skbayes_sg.datasets import make_ratings
        >>> X, y = make_ratings(40, 30, 600, random_state=0)
        >>> model = SGBPMFRecommender(n_factors=3, n_draws=20, random_state=0)
        >>> model = model.fit(X, y).partial_fit([(999, 3), (999, 8)], [5, 4])
        >>> 999 in model.users_
        True
        """
        if not self.__sklearn_is_fitted__():
            return self.fit(X, y, sample_weight)
        self._check_ratings_kept("partial_fit")
        with all_or_nothing(self):
            columns = self._label_columns(X, reset=False)
            y, weights = check_ratings(self, columns, y, sample_weight)
            columns, values = self._read(columns, self._context)
            old = self._ratings
            grown = [
                encode(joined(*pair))
                for pair in zip(self._labels, columns, strict=True)
            ]
            codes = [  # of the old ratings, then of the new ones
                np.concatenate([code[:n][before], code[n:]])
                for (_, code), n, before in zip(
                    grown, old.sizes, old.codes, strict=True
                )
            ]
            labels = [distinct for distinct, _ in grown]
            ratings = in_order(
                codes,
                np.concatenate([old.y, y]),
                joined_weights(old.weights, len(old.y), weights, len(y)),
                np.concatenate([old.values, values]),
                [len(distinct) for distinct in labels],
            )
            ratings = choices(ratings) if self.feedback == "implicit" else ratings
            touched = np.unique(grown[0][1][old.n_users :])
            samples = self._carried_over(self.samples_, labels, ratings, touched)
            self._set_labels(labels)
            self._layout = self._layout._replace(n_further=ratings.sizes[2:])
            self._ratings, self.samples_ = ratings, samples
            for name in ("_model", "_fit"):  # of fewer ratings
                vars(self).pop(name, None)
        return self

    def _carried_over(self, samples, labels, ratings, touched=()):
        """Return draws, (n_chains, n_draws, dim), with the rows of other labels.

        Those of new labels and of `touched` users are drawn given their ratings.
        """
        old = self._labels
        origins = [lookup(a, b) for a, b in zip(old, labels, strict=True)]
        sizes = [len(own) for own in old]
        samples = carried_over(samples, origins, sizes, self._layout)
        draws = self._rating_draws(samples.reshape(-1, samples.shape[-1]), ratings)
        users, *others = (np.flatnonzero(origin < 0) for origin in origins)
        key = zlib.crc32(b"fold-in"), len(ratings.y)
        seed = np.random.SeedSequence(self._entropy(), spawn_key=key)
        weights = likelihood_weights(ratings.weights, self.temperature, len(ratings.y))
        fold_in(
            draws,
            ratings,
            ratings.y - self.mean_rating_,
            weights if weights.size else np.ones(len(ratings.y)),
            self._all_features(labels, ratings),
            [np.union1d(users, touched).astype(np.int64), *others],
            np.random.default_rng(seed),
            self._unobserved_weight(),
        )
        return samples

    def _check_ratings_kept(self, name):
        """Raise an error if a pickle of an earlier version has lost the ratings."""
        if np.isnan(self._ratings.y).any():
            raise ValueError(
                f"{name} needs the ratings of the fit, which pickles of earlier "
                "versions do not contain; fit again"
            )

    def _unobserved_weight(self):
        """Return the weight of a pair that is not in the data, 0 for ratings."""
        if self.feedback == "ratings":
            return 0.0
        return self.unobserved_weight / self.temperature


def joined_weights(first, n_first, second, n_second):
    """Return the weights of two sets of ratings, None if all are 1."""
    if first is None and second is None:
        return None
    parts = (first, n_first), (second, n_second)
    return np.concatenate([np.ones(n) if w is None else w for w, n in parts])
