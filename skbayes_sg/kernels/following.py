"""Coordinates that follow a prior whose precisions are drawn anew while a chain runs.

    theta = center + L phi,    (L L')^-1 = information + diag(precision)

`information` is the likelihood's, about constant where the draws are. A chain whose
prior narrows a thousandfold would need steps a thousand times smaller; in these
coordinates the conditional posterior is about N(., I) whatever the precisions. When
they change, theta stays and the position follows. Momenta and noise, which have laws of
their own in these coordinates, are left alone.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.protocol.coordinates import (
    follow,
    of_one_chain,
    position_scale,
    pull_back,
    pull_back_rows,
    push_forward,
    to_position,
    to_theta,
)


class FollowingDense(NamedTuple):
    """Whitened coordinates; L is the inverse of the root's transpose."""

    center: np.ndarray  # (d,)
    information: np.ndarray  # (d, d)
    root: np.ndarray  # (d, d) lower triangular, root root' = (L L')^-1


class FollowingDiagonal(NamedTuple):
    """Each parameter in units of its own scale."""

    center: np.ndarray  # (d,)
    information: np.ndarray  # (d,)
    root: np.ndarray  # (d,) one over the scales


def following(center, information, precision):
    """Return coordinates about `center` at the first `precision`, (d,)."""
    if information.ndim == 1:
        root = np.sqrt(information + precision)
        return FollowingDiagonal(center, information, root)
    root = np.linalg.cholesky(information + np.diag(precision))
    return FollowingDense(center, information, root)


@of_one_chain.register(FollowingDense)
@of_one_chain.register(FollowingDiagonal)
def _(coordinates):
    return type(coordinates)(*(array.copy() for array in coordinates))


@follow.register(FollowingDense)
def _(coordinates, precision, theta, position):
    _factorize(coordinates.information, precision, coordinates.root)
    root, center = coordinates.root, coordinates.center
    for i in range(theta.size):
        position[i] = 0.0
    for j in range(theta.size):
        away = theta[j] - center[j]
        for i in range(j + 1):
            position[i] += root[j, i] * away


@follow.register(FollowingDiagonal)
def _(coordinates, precision, theta, position):
    root, center = coordinates.root, coordinates.center
    for j in range(theta.size):
        root[j] = math.sqrt(coordinates.information[j] + precision[j])
        position[j] = root[j] * (theta[j] - center[j])


@helper
def _factorize(information, precision, root):
    """Write the Cholesky factor of information + diag(precision) to `root`."""
    for i in range(precision.size):
        for j in range(i + 1):
            total = information[i, j]
            if i == j:
                total += precision[i]
            left, right = root[i, :j], root[j, :j]
            for k in range(j):
                total -= left[k] * right[k]
            if i == j:
                root[i, i] = math.sqrt(max(total, 1e-12 * information[i, i]))
            else:
                root[i, j] = total / root[j, j]


@push_forward.register(FollowingDense)
def _(coordinates, vector, out):
    root = coordinates.root
    for i in range(out.size):
        out[i] = vector[i]
    for i in range(out.size - 1, -1, -1):
        out[i] /= root[i, i]
        for j in range(i):
            out[j] -= root[i, j] * out[i]


@to_theta.register(FollowingDense)
@to_theta.register(FollowingDiagonal)
def _(coordinates, position, out):
    push_forward(coordinates, position, out)
    for j in range(out.size):
        out[j] += coordinates.center[j]


@pull_back.register(FollowingDense)
def _(coordinates, g, out):
    root = coordinates.root
    for i in range(out.size):
        total = g[i]
        for j in range(i):
            total -= root[i, j] * out[j]
        out[i] = total / root[i, i]


@push_forward.register(FollowingDiagonal)
@pull_back.register(FollowingDiagonal)
def _(coordinates, vector, out):
    for j in range(out.size):
        out[j] = vector[j] / coordinates.root[j]


@to_position.register(FollowingDense)
def _(coordinates, theta):
    return coordinates.root.T @ (theta - coordinates.center)


@to_position.register(FollowingDiagonal)
def _(coordinates, theta):
    return coordinates.root * (theta - coordinates.center)


@position_scale.register(FollowingDense)
@position_scale.register(FollowingDiagonal)
def _(coordinates, theta_scale):
    return np.ones_like(theta_scale)


@pull_back_rows.register(FollowingDense)
def _(coordinates, g):
    return np.linalg.solve(coordinates.root, g.T).T


@pull_back_rows.register(FollowingDiagonal)
def _(coordinates, g):
    return g / coordinates.root
