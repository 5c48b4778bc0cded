"""Units in which rows of users and items move, and the curvature in these units."""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.coordinates import Diagonal
from skbayes_sg.kernels.models.matrix_factorization_curvature import largest_curvature
from skbayes_sg.kernels.models.matrix_factorization_rows import (
    has_rows_alone,
    n_theta_rows,
    width,
)
from skbayes_sg.kernels.passes import hessian_diagonal
from skbayes_sg.kernels.protocol.model import n_rows, theta_of, work_at

MARGIN = 6.0  # sds of the log of the largest curvature, over draws, that steps allow
FEWER = 1_000_000  # ratings above which the largest curvature takes fewer passes


class RowGeometry(NamedTuple):
    """Units in which the rows of users and items move, whatever their ratings."""

    coordinates: Diagonal
    theta_sd: np.ndarray  # (d,) rough posterior sds of the parameters
    largest: float  # curvature of -log p in these units, at any draw
    typical: float  # largest curvature at a typical draw
    direction: np.ndarray  # (d,) of the largest curvature at the last draw


def row_geometry(model, draws, earlier=None):
    """Measure the curvature at recorded draws, (n_draws, dim).

    `earlier` is a geometry near these draws, which makes it quicker.

    All factors of a row share one unit, the root mean square of their curvatures: it
    grows with the number of ratings, and rotations leave it as it is.
    """
    d, q, n = model.n_factors, width(model), n_theta_rows(model)
    places = [(work_at(model, draw), theta_of(model, draw)) for draw in draws]
    total = np.zeros((n, q))
    for work, theta in places:
        out = np.zeros(theta.size)
        hessian_diagonal(model, work, theta, out)
        total += out[: n * q].reshape(n, q)
        total += np.repeat(work.hyper[:, 1], np.diff(model.firsts), axis=0)
        total += _curvature_of_all_pairs(model, work, theta)
    total /= len(draws)
    total[:, :d] = np.sqrt(np.mean(total[:, :d] ** 2, axis=1, keepdims=True))
    curvature = np.concatenate([total.ravel(), _hyper_curvature(model, places[0][0])])
    unit = 1.0 / np.sqrt(curvature)
    if earlier is None:
        n_iter = 15 if n_rows(model) <= FEWER else 8
        direction = np.random.default_rng(0).standard_normal(unit.size)
    else:
        n_iter, direction = 6, earlier.direction.copy()
    logs = np.log(
        [largest_curvature(model, *at, unit, direction, n_iter) for at in places]
    )
    typical = 1.05 * math.exp(logs.mean())  # power iteration approaches from below
    largest = typical * math.exp(MARGIN * logs.std())
    dtype = model.y.dtype
    coordinates = Diagonal(np.zeros(unit.size, dtype), unit.astype(dtype))
    return RowGeometry(coordinates, unit, largest, typical, direction)


def _curvature_of_all_pairs(model, work, theta):
    """Return alpha c sum_j V_jf^2 for users, and the same for items, (n, q)."""
    n, q, c = n_theta_rows(model), width(model), model.noise.unobserved
    if c == 0.0:
        return np.zeros((n, q))
    squares = theta[: n * q].reshape(n, q).astype(np.float64) ** 2
    users, items = squares[: model.n_users], squares[model.n_users :]
    sums = np.stack([items.sum(axis=0), users.sum(axis=0)])
    strength = c * float(work.noise[0])
    return strength * np.repeat(sums, [model.n_users, model.n_items], axis=0)


def _hyper_curvature(model, work):
    """Return the curvature of m and log lambda where theta holds them, else nothing."""
    if has_rows_alone(model):
        return np.empty(0)
    sizes = np.array([model.n_users, model.n_items])[:, None]
    of_m = work.hyper[:, 1] * (sizes + 1)
    of_log_precision = np.broadcast_to(0.5 * (sizes + 1), of_m.shape)
    return np.stack([of_m, of_log_precision], axis=1).ravel()
