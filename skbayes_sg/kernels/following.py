"""Coordinates that follow a prior whose precisions are drawn anew while a chain runs.

    theta = center + L phi,    (L L')^-1 = tau information + diag(given + precision)

`information` is the likelihood's, about constant where the draws are. A chain whose
prior narrows a thousandfold would need steps a thousand times smaller; in these
coordinates the conditional posterior is about N(., I) whatever the precisions. When
they change, theta stays and the position follows. Momenta and noise, which have laws of
their own in these coordinates, are left alone.

tau is 1, or the precision of the noise of y where that is drawn between steps, too: a
step leaves it where it is.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.exponential import tame_exp
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

HELD = 1e10  # one over the scale of a parameter that steps leave alone
NONE = np.empty(0, np.int64)


class FollowingDense(NamedTuple):
    """Whitened coordinates; L is the inverse of the root's transpose."""

    center: np.ndarray  # (d,)
    information: np.ndarray  # (d, d)
    given: np.ndarray  # (d,) precisions of the prior that are constant
    noise: np.ndarray  # (d,) place of log tau in theta, for each parameter; or (0,)
    root: np.ndarray  # (d, d) lower triangular, root root' = (L L')^-1


class FollowingDiagonal(NamedTuple):
    """Each parameter in units of its own scale."""

    center: np.ndarray  # (d,)
    information: np.ndarray  # (d,)
    given: np.ndarray  # (d,)
    noise: np.ndarray  # (d,) or (0,)
    root: np.ndarray  # (d,) one over the scales


def following(center, information, given, precision, noise=NONE):
    """Return coordinates about `center` at the first `precision`, (d,).

    With `noise`, the center holds log tau as well, and tau does not depend on itself:
    rows of `information` are zero where ``noise[j] == j``.
    """
    tau, held = _noise_of(center, noise)
    own = given + precision + np.where(held, HELD**2, 0.0)
    if information.ndim == 1:
        root = np.sqrt(tau * information + own)
        return FollowingDiagonal(center, information, given, noise, root)
    root = np.linalg.cholesky(tau[:, None] * information + np.diag(own))
    return FollowingDense(center, information, given, noise, root)


def _noise_of(theta, noise):
    """Return tau of each parameter, and which of them are log tau themselves."""
    if not noise.size:
        return np.ones(theta.size), np.zeros(theta.size, bool)
    return np.exp(theta[noise]), noise == np.arange(theta.size)


@of_one_chain.register(FollowingDense)
@of_one_chain.register(FollowingDiagonal)
def _(coordinates):
    return type(coordinates)(*(array.copy() for array in coordinates))


@follow.register(FollowingDense)
def _(coordinates, precision, theta, position):
    root, center = coordinates.root, coordinates.center
    for i in range(theta.size):
        tau = _tau(coordinates, theta, i)
        for j in range(i + 1):
            root[i, j] = tau * coordinates.information[i, j]
        root[i, i] += coordinates.given[i] + precision[i] + _hold(coordinates, theta, i)
    _factorize(root)
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
        total = _tau(coordinates, theta, j) * coordinates.information[j]
        total += coordinates.given[j] + precision[j] + _hold(coordinates, theta, j)
        root[j] = math.sqrt(total)
        position[j] = root[j] * (theta[j] - center[j])


@helper
def _tau(coordinates, theta, j):
    """Return tau of a parameter."""
    if coordinates.noise.size == 0:
        return 1.0
    return tame_exp(theta[coordinates.noise[j]])


@helper
def _hold(coordinates, theta, j):
    """Return 0, or what keeps steps from moving a parameter; its center follows."""
    if coordinates.noise.size == 0 or coordinates.noise[j] != j:
        return 0.0
    coordinates.center[j] = theta[j]
    return HELD * HELD


@helper
def _factorize(matrix):
    """Write the Cholesky factor of a matrix over its lower triangle."""
    for i in range(len(matrix)):
        for j in range(i + 1):
            total = matrix[i, j]
            left, right = matrix[i, :j], matrix[j, :j]
            for k in range(j):
                total -= left[k] * right[k]
            if i == j:
                matrix[i, i] = math.sqrt(max(total, 1e-12 * matrix[i, i]))
            else:
                matrix[i, j] = total / matrix[j, j]


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
