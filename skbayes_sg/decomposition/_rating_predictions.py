"""Predictions from posterior draws of a matrix factorization."""

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from skbayes_sg.decomposition._rating_sets import with_sets
from skbayes_sg.inference.rating_predictions import RatingDraws, pair_moments
from skbayes_sg.kernels.models.matrix_factorization_draws import unpack
from skbayes_sg.utils._labels import lookup
from skbayes_sg.utils._typing import MatrixLike, Predictions
from skbayes_sg.utils._validation import check_number, shown

PAIRS_AT_ONCE = 2**16  # pairs whose predictions are held in memory together


def _has_levels(estimator):
    """Whether ratings have levels; raise an AttributeError that says why not."""
    if estimator.feedback == "implicit":
        raise AttributeError(
            'predict_proba has no answer with feedback="implicit": choices have no '
            "levels. predict and recommend give scores"
        )
    if getattr(estimator, "_levels", True) is None:
        raise AttributeError(
            f"predict_proba has no answer: y had {len(estimator.classes_)} distinct "
            "values, too many for levels. Use predict_interval, or predict(X, "
            "return_std=True), or round y before fit"
        )
    return True


class RatingPredictionMixin:
    """Predictions of an estimator whose draws are factors of users and items.

    The estimator has `samples_`, `users_`, `items_`, `classes_`, `mean_rating_` and
    `rating_range_`, and checks X in `_label_columns`.
    """

    def predict(self, X: MatrixLike, return_std: bool = False) -> Predictions:
        """Return the mean rating of each pair.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            User and item of each rating, known or not, and its context, as in `fit`.
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
        X : array-like or data frame of shape (n_samples, n_columns)
            User and item of each rating, known or not, and its context, as in `fit`.
        level : float, default=0.9
            Probability of the interval.

        Returns
        -------
        interval : ndarray of shape (n_samples, 2)
            Lower and upper end, clipped to the rating range.
        """
        check_number("level", level, above=0)
        if level >= 1:
            raise ValueError(
                f"level={shown(level)} is not allowed; it must be less than 1"
            )
        mean, std = self._predictive(X)
        half = ndtri(0.5 + 0.5 * level) * std
        interval = np.stack([mean - half, mean + half], axis=1)
        return np.clip(interval, *self.rating_range_)

    @available_if(_has_levels)
    def predict_proba(self, X: MatrixLike) -> np.ndarray:
        """Return the probability of each rating level.

        An ordinal model: the predictive Gaussian is integrated between `cut_points_`,
        which are learned from the ratings, and mixed with the frequencies of the levels
        as far as this helps for ratings that are left out.

        Parameters
        ----------
        X : array-like or data frame of shape (n_samples, n_columns)
            User and item of each rating, known or not, and its context, as in `fit`.

        Returns
        -------
        proba : ndarray of shape (n_samples, n_levels)
            Probabilities in the order of `classes_`.
        """
        check_is_fitted(self)
        mean, std = self._predictive(X)
        return self._levels.probabilities(mean - self.mean_rating_, std)

    def _predictive(self, X):
        """Return mean, not clipped, and standard deviation of each rating."""
        check_is_fitted(self)
        columns = self._label_columns(X, reset=False)
        columns, values = self._read(columns, self._context)
        codes = [lookup(*pair) for pair in zip(self._labels, columns, strict=True)]
        draws, parts = self._factors(), []
        for first in range(0, len(values), PAIRS_AT_ONCE):
            part = slice(first, first + PAIRS_AT_ONCE)
            features = [self._features_of(z, columns[z][part]) for z in (0, 1)]
            some = [code[part] for code in codes]
            m = pair_moments(draws, some, values[part], features)
            parts.append((self.mean_rating_ + m.mean, self._std(m)))
        mean, std = (np.concatenate(part) for part in zip(*parts, strict=True))
        return mean, std

    def _std(self, moments):
        """Return standard deviations: of ratings, or of the means of choices."""
        has_noise = self.feedback == "ratings"
        return np.sqrt(moments.variance + has_noise * moments.noise)

    def _factors(self):
        """Return all draws in the format of the predictions."""
        return self._rating_draws(self._flat_draws(), self._ratings)

    def _rating_draws(self, draws, ratings):
        """Return draws, (S, dim), of the users and items of `ratings` in parts."""
        layout, sizes = self._layout, ratings.sizes
        sets = ratings.n_items if layout.has_sets else 0
        return RatingDraws(
            *unpack(draws, sum(sizes), layout.width, len(sizes)),
            weights=self._flat_weights(),
            sizes=sizes,
            n_factors=layout.n_factors,
            n_user_features=layout.n_features[0] + sets,
            dof=layout.dof,
        )

    def _all_features(self, labels, ratings):
        """Return the features of all users and items, those of their sets included."""
        features = [self._features_of(side, labels[side]) for side in (0, 1)]
        return with_sets(features, ratings) if self._layout.has_sets else features

    def _features_of(self, side, labels):
        """Return the features of labels, (n, p), zero for labels without features."""
        if self._feature_tables[side] is None:
            return sp.csr_array((len(labels), 0))
        known, matrix = self._feature_tables[side]
        codes = lookup(known, labels)
        rows = matrix[np.maximum(codes, 0)]
        return sp.csr_array(sp.diags_array((codes >= 0).astype(matrix.dtype)) @ rows)
