"""Axes of the factors in which the prior's precisions are those of the posterior.

Ratings are as likely for U A and V A^-T as for U and V, with any matrix A, but the
prior prefers factors that are uncorrelated over users and over items. From random
factors, row by row, chains rotate there slowly, and the precisions of factors and the
noise drift until they arrive. A matrix that makes both uncorrelated, and as large for
users as for items, takes them there at once.
"""

import numpy as np

from skbayes_sg.kernels.models.matrix_factorization_draws import unpack_of
from skbayes_sg.kernels.protocol.model import work_at


def with_principal_axes(model, draws):
    """Return recorded draws, (n_chains, dim), with uncorrelated factors.

    They are returned as they are if further columns have factors, too, or if there are
    hardly more users or items than factors.
    """
    sizes = np.diff(model.firsts)
    if sizes.size > 2 or sizes.min() <= 2 * model.n_factors:
        return draws
    draws = draws.copy()
    for draw in draws:
        _turn(model, draw, sizes)
    return draws


def _turn(model, draw, sizes):
    """Turn the factors of one draw in place."""
    d, first, p = model.n_factors, model.firsts, model.n_user_features
    parts, mean = unpack_of(model, draw), work_at(model, draw).mean
    deviations = (parts.rows - mean)[:, :d].astype(np.float64)
    sides = [slice(first[z], first[z + 1]) for z in (0, 1)]
    moments = [deviations[side].T @ deviations[side] for side in sides]
    for matrix in moments:
        matrix += 1e-6 * np.trace(matrix) / d * np.eye(d)
    lower = np.linalg.cholesky(moments[0])
    squares, turn = np.linalg.eigh(lower.T @ moments[1] @ lower)
    scale = squares**0.25 * (sizes[0] / sizes[1]) ** 0.25
    of_users = np.linalg.solve(lower.T, turn) * scale
    of_items = lower @ turn / scale
    links = slice(p), slice(p, None)
    for z, matrix in enumerate((of_users, of_items)):
        for array in (parts.rows[sides[z]], parts.links[links[z]]):
            array[:, :d] = array[:, :d] @ matrix
        parts.hyper[z, 0, :d] = parts.hyper[z, 0, :d] @ matrix
        squares = np.diag(matrix.T @ moments[z] @ matrix)
        parts.hyper[z, 1, :d] = sizes[z] / squares
