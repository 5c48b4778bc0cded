"""Predictive moments of ratings, averaged over posterior draws.

Given a draw, a rating of item j by user i is N(x_i . x_j, 1 / (alpha s_i t_j)), and
further columns add their products with x_i, x_j and each other. The factors and the
noise of an unknown user or item follow their prior distributions.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.models.matrix_factorization_draws import unpack_of

BYTES_AT_ONCE = 2**25  # of factors that one product of matrices takes


class RatingDraws(NamedTuple):
    """Posterior draws, split into their parts."""

    rows: np.ndarray  # (S, n_rows, q)
    hyper: np.ndarray  # (S, n_sides, 2, q)
    noise: np.ndarray  # (S, 1 + n_rows)
    links: np.ndarray  # (S, p, q)
    weights: np.ndarray  # (S,) of the draws in averages
    sizes: tuple  # numbers of users, of items, of labels of each further column
    n_factors: int
    n_user_features: int
    dof: float  # degrees of freedom of each user's and item's noise, 0 if they share it

    @property
    def kind(self):
        """Type of computations, which float16 draws are converted to."""
        return np.result_type(self.rows.dtype, np.float32)

    def rows_of(self, side):
        """Return which rows are those of users, side 0, of items, side 1, ..."""
        first = sum(self.sizes[:side])
        return slice(first, first + self.sizes[side])

    def side_links(self, side):
        """Return the weights of the features of users, side 0, or items, (S, p, q)."""
        p = self.n_user_features
        return self.links[:, :p] if side == 0 else self.links[:, p:]


class RatingMoments(NamedTuple):
    """Predictive means and variances of ratings, relative to the mean rating."""

    mean: np.ndarray
    variance: np.ndarray  # of the mean rating, over draws
    noise: np.ndarray  # variance given the mean rating


class _Side(NamedTuple):
    """Rows of users, of items or of a further column under one draw."""

    mean: np.ndarray  # (n, q)
    variance: np.ndarray | None  # (n, q), or None if all users or items are known
    noise: np.ndarray  # (n,) mean of 1 / s


def rating_draws(model, draws, weights=None):
    """Return what recorded draws of a model, (S, dim), hold."""
    if weights is None:
        weights = np.full(len(draws), 1.0 / len(draws))
    return RatingDraws(
        *unpack_of(model, draws),
        weights=weights,
        sizes=tuple(np.diff(model.firsts).tolist()),
        n_factors=model.n_factors,
        n_user_features=model.n_user_features,
        dof=model.noise.dof,
    )


def pair_moments(draws, codes, values, features=(None, None)):
    """Return the moments of ratings of pairs.

    Parameters
    ----------
    draws : RatingDraws
        Posterior draws.
    codes : sequence of ndarray of shape (n,)
        Codes of users, of items and of each further column, -1 if unknown.
    values : ndarray of shape (n, n_columns - 2)
        Factors of the rows of the further columns.
    features : pair of matrices of shape (n, p) or None
        Features of the users and of the items; only those of unknown ones matter.

    Returns
    -------
    moments : RatingMoments
    """
    mean = square = within = noise = 0.0
    d = draws.n_factors
    for s, weight in enumerate(draws.weights):
        sides = _sides(draws, s, codes, values, features)
        f, together = _combined([side.mean for side in sides], d)
        mean, square = mean + weight * f, square + weight * f * f
        within = within + weight * _row_variance(sides, together, d)
        own = sides[0].noise * sides[1].noise
        noise = noise + weight * own / draws.noise[s, 0].astype(float)
    return RatingMoments(mean, np.maximum(square - mean**2, 0.0) + within, noise)


def grid_means(draws, users, user_features, context=(), values=None):
    """Return the mean ratings of all items for each user code, (n, n_items).

    `context` holds codes of further columns for each user, and `values` their factors,
    (n, n_columns - 2). The factors of many draws lie side by side, so that one product
    of matrices makes both the sums over factors and the averages over draws.
    """
    n_items = draws.sizes[1]
    step = max(1, BYTES_AT_ONCE // (4 * draws.n_factors * max(n_items, len(users))))
    total = np.zeros((len(users), n_items), np.float32)
    of_users, of_items = np.zeros((len(users), 1)), np.zeros(n_items)
    for first in range(0, len(draws.weights), step):
        part = slice(first, min(first + step, len(draws.weights)))
        u, own = user_factors(draws, part, users, user_features, context, values)
        v, of_each = item_factors(draws, part)
        total += u @ v.T
        of_users[:, 0] += own
        of_items += of_each
    return total + (of_users + of_items).astype(np.float32)


def user_factors(draws, part, users, user_features, context=(), values=None):
    """Return the factors under some draws side by side, (n, S d), and biases (n,).

    Those of the context are added, and the draws' weights are in both.
    """
    d, weights = draws.n_factors, draws.weights[part].astype(np.float32)
    biases, factors = np.zeros(len(users)), []
    for s, weight in zip(range(len(draws.weights))[part], weights, strict=True):
        rows = [row_means(draws, s, 0, users, user_features)]
        for c, code in enumerate(context):
            rows.append(values[:, [c]] * row_means(draws, s, 2 + c, code))
        f, together = _combined(rows, d)
        factors.append(weight * together.astype(np.float32))
        biases += weight * f
    return _side_by_side(np.stack(factors)), biases


def item_factors(draws, part):
    """Return the factors under some draws side by side, and the weighted biases."""
    d, weights = draws.n_factors, draws.weights[part].astype(np.float32)
    v = draws.rows[part, draws.rows_of(1)].astype(np.float32)
    biases = np.einsum("s,snf->n", weights, v[..., d:], dtype=draws.kind)
    return _side_by_side(v[..., :d]), biases


def similarities(draws, side, codes):
    """Return mean cosines of the factors at `codes` of a side with those of all."""
    total = 0.0
    for weight, rows in zip(draws.weights, draws.rows, strict=True):
        v = rows[draws.rows_of(side), : draws.n_factors].astype(np.float64)
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        total = total + weight * (v[codes] @ v.T)
    return total


def row_means(draws, s, side, codes, features=None):
    """Return the rows of a side under draw s, prior means where unknown, (n, q)."""
    first = draws.rows_of(side).start
    mean = draws.rows[s, first + np.maximum(codes, 0)].astype(draws.kind)
    unknown = codes < 0
    if unknown.any():
        mean[unknown] = draws.hyper[s, side, 0]
        if features is not None and features.shape[1]:
            links = draws.side_links(side)[s, : features.shape[1]]
            mean[unknown] += features[unknown] @ links.astype(draws.kind)
    return mean


def _side_by_side(x):
    """Return (S, n, d) factors as a matrix (n, S d)."""
    return np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(x.shape[1], -1)


def _combined(rows, d):
    """Return the sum of all products of two rows and all biases, and that of factors.

    `rows` holds an array (n, q) for each side.
    """
    together, f = rows[0][:, :d], rows[0][:, d:].sum(axis=1, dtype=np.float64)
    for x in rows[1:]:
        f += np.einsum("nf,nf->n", together, x[:, :d]) + x[:, d:].sum(axis=1)
        together = together + x[:, :d]
    return f, together


def _sides(draws, s, codes, values, features):
    sides = [_side(draws, s, side, codes[side], features[side]) for side in (0, 1)]
    for c, code in enumerate(codes[2:]):
        z, further = values[:, [c]], _side(draws, s, 2 + c, code, None)
        variance = None if further.variance is None else z**2 * further.variance
        sides.append(further._replace(mean=z * further.mean, variance=variance))
    return sides


def _side(draws, s, side, codes, features):
    mean = row_means(draws, s, side, codes, features)
    place = draws.rows_of(side).start + np.maximum(codes, 0)
    noise = 1.0 / draws.noise[s, 1 + place].astype(draws.kind)
    unknown = codes < 0
    if not unknown.any():
        return _Side(mean, None, noise)
    precision = draws.hyper[s, side, 1].astype(draws.kind)
    variance = np.zeros_like(mean)
    variance[unknown] = 1.0 / precision
    noise[unknown] = draws.dof / (draws.dof - 2.0) if draws.dof else 1.0  # E 1/s
    return _Side(mean, variance, noise)


def _row_variance(sides, together, d):
    """Return the variance of the mean rating that is due to unknown rows."""
    total, variances = 0.0, 0.0
    for mean, own, _ in sides:
        if own is not None:
            others = (together - mean[:, :d]) ** 2 + variances
            total = total + np.sum(own[:, :d] * others, axis=1)
            total = total + own[:, d:].sum(axis=1)
            variances = variances + own[:, :d]
    return total
