"""From ratings and parameters of the recommender to its model."""

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp

from skbayes_sg.base._sampling import likelihood_weights
from skbayes_sg.decomposition._rating_checks import typical_variance
from skbayes_sg.inference.exploration.rating_start import with_noise
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.models import (
    ContextFactorization,
    ImplicitFactorization,
    LogScaleFactorization,
    MatrixFactorization,
    RatingNoise,
    RowPrior,
)

START_SD = 0.3  # of factors, in units of the square root of the ratings' sd


class Ratings(NamedTuple):
    """Ratings by the codes of their users, items, ..., those of a user side by side."""

    codes: tuple[np.ndarray, ...]  # (N,) of users, of items, of each further column
    y: np.ndarray  # (N,)
    weights: np.ndarray | None  # (N,)
    values: np.ndarray  # (N, n_columns - 2) factors of the further columns
    sizes: tuple[int, ...]  # numbers of users, of items, of labels of further columns

    @property
    def users(self):
        """Codes of the users, (N,)."""
        return self.codes[0]

    @property
    def items(self):
        """Codes of the items, (N,)."""
        return self.codes[1]

    @property
    def n_users(self):
        """Number of users."""
        return self.sizes[0]

    @property
    def n_items(self):
        """Number of items."""
        return self.sizes[1]

    @property
    def pairs(self):
        """Rows of users, items, ... among all rows of a draw, (N, n_columns)."""
        firsts = np.cumsum([0, *self.sizes[:-1]])
        return np.stack(self.codes, axis=1) + firsts

    def part(self, chosen):
        """Return the ratings that are `chosen`, of the same users and items."""
        codes = tuple(code[chosen] for code in self.codes)
        arrays = [None if a is None else a[chosen] for a in self[1:4]]
        return Ratings(codes, *arrays, self.sizes)

    def sets(self):
        """Return features of users and of items: whom they have a rating with.

        A user has 1 / sqrt(n) at each of the n items that it rated, and an item at its
        users.
        """
        cells = np.ones(len(self.users)), (self.users, self.items)
        rated = sp.csr_array(cells, (self.n_users, self.n_items))
        rated.data[:] = 1.0  # once, if a user rated an item several times
        return [_unit_rows(rated), _unit_rows(sp.csr_array(rated.T))]


class Layout(NamedTuple):
    """What a draw of a recommender consists of."""

    n_factors: int
    width: int  # of a row: factors and bias
    n_features: tuple[int, int]  # of users and of items, sets not counted
    has_sets: bool
    dof: float
    n_further: tuple[int, ...] = ()  # labels of each further column


def in_order(codes, y, weights, values, sizes):
    """Return `Ratings`, sorted by user, item and further columns."""
    if len(sizes) == 2:  # one key is sorted in a quarter of the time
        order = np.argsort(codes[0] * sizes[1] + codes[1])
    else:
        order = np.lexsort((*values.T, *codes[::-1]))
    return Ratings(tuple(codes), y, weights, values, tuple(sizes)).part(order)


def choices(ratings):
    """Return each pair of `Ratings` once, with the sum of its weights."""
    first = np.ones(len(ratings.y), bool)
    first[1:] = np.diff(ratings.users) != 0
    first[1:] |= np.diff(ratings.items) != 0
    if first.all():
        return ratings
    weights = np.ones(len(ratings.y)) if ratings.weights is None else ratings.weights
    total = np.add.reduceat(weights, np.flatnonzero(first))
    return ratings.part(first)._replace(weights=total)


def row_width(estimator):
    """Return the number of parameters of a user or an item; choices have no biases."""
    has_biases = estimator.biases and estimator.feedback == "ratings"
    return estimator.n_factors + has_biases


def build_model(estimator, ratings, features, mean_rating):
    """Return the model of ratings; `features` are those of users and of items, CSR."""
    dtype, d = np.dtype(estimator.dtype), estimator.n_factors
    firsts, n_sides = np.cumsum([0, *ratings.sizes]), len(ratings.sizes)
    weights, temperature = ratings.weights, estimator.temperature
    weights = likelihood_weights(weights, temperature, len(ratings.y))
    columns = sp.csc_array(sp.block_diag(features), dtype=dtype)
    is_implicit = estimator.feedback == "implicit"
    density = len(ratings.y) / (ratings.n_users * ratings.n_items)
    of_choices = density * (1.0 - 0.5 * density)  # more than 0 if all were chosen
    variance = of_choices if is_implicit else typical_variance(ratings.y)
    # Factors have the units of the square root of a rating, biases of a rating.
    has_biases = row_width(estimator) > d
    units = np.array([math.sqrt(variance)] * d + [variance] * has_biases)
    shape, rate = estimator.precision_prior
    rate = 0.1 * units if isinstance(rate, str) else np.full(units.size, rate)
    start = np.zeros((n_sides, 2, units.size))
    start[:, 1] = 1.0 / (START_SD**2 * units)
    learns = isinstance(estimator.noise_precision, str)
    moves_prior = estimator.hyperparameters == "log-scale"
    kind = LogScaleFactorization if moves_prior else MatrixFactorization
    kind = ImplicitFactorization if is_implicit else kind
    kind = ContextFactorization if n_sides > 2 else kind
    return with_noise(
        kind(
            pairs=ratings.pairs.astype("i4"),
            values=ratings.values.astype(dtype),
            y=(ratings.y - mean_rating).astype(dtype),
            weights=weights.astype(dtype),
            n_users=ratings.n_users,
            n_items=ratings.n_items,
            firsts=firsts.astype(np.int64),
            n_factors=d,
            biases=has_biases,
            features=CSRRows(
                columns.data,
                columns.indices.astype(np.int32),
                columns.indptr.astype(np.int64),
                firsts[-1],
            ),
            n_user_features=features[0].shape[1],
            prior=RowPrior(start.astype(dtype), shape, rate.astype(dtype), True),
            noise=RatingNoise(
                2.0 / variance if learns else estimator.noise_precision,
                variance,
                learns,
                0.0 if is_implicit else float(estimator.noise_dof or 0.0),
                np.ones(firsts[-1], dtype),
                estimator._unobserved_weight(),
            ),
            refresh_every=1,
        )
    )


def _unit_rows(matrix):
    """Return a sparse matrix with rows of Euclidean length 1, or 0."""
    counts = np.maximum(np.diff(matrix.indptr), 1)
    return sp.csr_array(sp.diags_array(1.0 / np.sqrt(counts)) @ matrix)
