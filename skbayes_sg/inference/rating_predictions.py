"""Predictive moments of ratings, averaged over posterior draws.

Given a draw, a rating of item j by user i is N(x_i . x_j, 1 / (alpha s_i t_j)). The
factors and the noise of an unknown user or item follow their prior distributions.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.models.matrix_factorization import width
from skbayes_sg.kernels.models.matrix_factorization_draws import unpack

BYTES_AT_ONCE = 2**25  # of factors that one product of matrices takes


class RatingDraws(NamedTuple):
    """Posterior draws, split into their parts."""

    rows: np.ndarray  # (S, n_users + n_items, q)
    hyper: np.ndarray  # (S, 2, 2, q)
    noise: np.ndarray  # (S, 1 + n_users + n_items)
    links: np.ndarray  # (S, p, q)
    weights: np.ndarray  # (S,) of the draws in averages
    n_users: int
    n_factors: int
    n_user_features: int
    dof: float  # degrees of freedom of each user's and item's noise, 0 if they share it

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
    """Rows of users or items under one draw."""

    mean: np.ndarray  # (n, q)
    variance: object  # (n, q), or None if all users or items are known
    noise: np.ndarray  # (n,) mean of 1 / s


def rating_draws(model, draws, weights=None):
    """Return what recorded draws of a model, (S, dim), hold."""
    if weights is None:
        weights = np.full(len(draws), 1.0 / len(draws))
    return RatingDraws(
        *unpack(draws, model.n_users + model.n_items, width(model)),
        weights=weights,
        n_users=model.n_users,
        n_factors=model.n_factors,
        n_user_features=model.n_user_features,
        dof=model.noise.dof,
    )


def pair_moments(draws, users, items, user_features, item_features):
    """Return the moments of pairs of codes, -1 if unknown; features are (n, p)."""

    def dot(a, b):
        return np.einsum("nf,nf->n", a, b)

    return _moments(draws, users, items, user_features, item_features, dot, np.add)


def grid_moments(draws, users, user_features):
    """Return the moments of all items for each user code, (n, n_items)."""
    items = np.arange(draws.rows.shape[1] - draws.n_users)

    def dot(a, b):
        return a @ b.T

    return _moments(draws, users, items, user_features, None, dot, np.add.outer)


def grid_means(draws, users, user_features):
    """Return the mean ratings of all items for each user code, (n, n_items).

    The factors of many draws lie side by side, so that one product of matrices makes
    both the sums over factors and the averages over draws.
    """
    d, n_items = draws.n_factors, draws.rows.shape[1] - draws.n_users
    step = max(1, BYTES_AT_ONCE // (4 * d * max(n_items, len(users))))
    total = np.zeros((len(users), n_items), np.float32)
    biases = np.zeros((len(users), 1)), np.zeros(n_items)
    for first in range(0, len(draws.weights), step):
        part = range(first, min(first + step, len(draws.weights)))
        weights = draws.weights[part.start : part.stop].astype(np.float32)
        u = np.stack([row_means(draws, s, 0, users, user_features) for s in part])
        v = draws.rows[part.start : part.stop, draws.n_users :].astype(np.float32)
        u = u.astype(np.float32) * weights[:, None, None]
        total += _side_by_side(u[..., :d]) @ _side_by_side(v[..., :d]).T
        biases[0][:] += u[..., d:].sum(axis=(0, 2))[:, None]
        biases[1][:] += np.einsum("s,snf->n", weights, v[..., d:])
    return total + (biases[0] + biases[1]).astype(np.float32)


def similarities(draws, side, codes):
    """Return mean cosines of the factors at `codes` of a side with those of all."""
    own = slice(draws.n_users) if side == 0 else slice(draws.n_users, None)
    total = 0.0
    for weight, rows in zip(draws.weights, draws.rows, strict=True):
        v = rows[own, : draws.n_factors].astype(np.float64)
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        total = total + weight * (v[codes] @ v.T)
    return total


def row_means(draws, s, side, codes, features):
    """Return the rows of users or items under draw s, prior means where unknown."""
    first = 0 if side == 0 else draws.n_users
    mean = draws.rows[s, first + np.maximum(codes, 0)]
    unknown = codes < 0
    if unknown.any():
        mean[unknown] = draws.hyper[s, side, 0]
        if features.shape[1]:
            links = draws.side_links(side)[s, : features.shape[1]]
            mean[unknown] += features[unknown] @ links
    return mean


def _side_by_side(x):
    """Return (S, n, d) factors as a matrix (n, S d)."""
    return np.ascontiguousarray(x.transpose(1, 0, 2)).reshape(x.shape[1], -1)


def _moments(draws, users, items, user_features, item_features, dot, outer):
    mean = square = within = noise = 0.0
    d = draws.n_factors
    for s, weight in enumerate(draws.weights):
        u = _side(draws, s, 0, users, user_features)
        v = _side(draws, s, 1, items, item_features)
        f = dot(u.mean[:, :d], v.mean[:, :d]).astype(np.float64)
        f += outer(u.mean[:, d:].sum(axis=1), v.mean[:, d:].sum(axis=1))
        mean, square = mean + weight * f, square + weight * f * f
        within = within + weight * _row_variance(u, v, d, dot, outer)
        noise = noise + weight * _noise_product(u, v, outer) / draws.noise[s, 0]
    return RatingMoments(mean, np.maximum(square - mean**2, 0.0) + within, noise)


def _side(draws, s, side, codes, features):
    first = 0 if side == 0 else draws.n_users
    mean = row_means(draws, s, side, codes, features)
    noise = 1.0 / draws.noise[s, 1 + first + np.maximum(codes, 0)]
    unknown = codes < 0
    if not unknown.any():
        return _Side(mean, None, noise)
    precision = draws.hyper[s, side, 1]
    variance = np.zeros_like(mean)
    variance[unknown] = 1.0 / precision
    noise[unknown] = draws.dof / (draws.dof - 2.0) if draws.dof else 1.0  # E 1/s
    return _Side(mean, variance, noise)


def _row_variance(u, v, d, dot, outer):
    """Return the variance of x_i . x_j due to unknown users and items."""
    if u.variance is None and v.variance is None:
        return 0.0
    vu = np.zeros_like(u.mean) if u.variance is None else u.variance
    vv = np.zeros_like(v.mean) if v.variance is None else v.variance
    total = dot(vu[:, :d], v.mean[:, :d] ** 2 + vv[:, :d])
    total = total + dot(u.mean[:, :d] ** 2, vv[:, :d])
    return total + outer(vu[:, d:].sum(axis=1), vv[:, d:].sum(axis=1))


def _noise_product(u, v, outer):
    return np.exp(outer(np.log(u.noise), np.log(v.noise)))
