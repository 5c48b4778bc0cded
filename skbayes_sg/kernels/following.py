"""Coordinates that follow a prior whose precisions are drawn anew while a chain runs.

    theta = center + L phi,    (L L')^-1 = tau information + diag(given + precision)

`information` is the likelihood's, about constant where the draws are. A chain whose
prior narrows a thousandfold would need steps a thousand times smaller; in these
coordinates the conditional posterior is about N(., I) whatever the precisions. When
they change, theta stays and the position follows. Momenta and noise, which have laws of
their own in these coordinates, are left alone.

tau is 1, or the precision of the noise of y where that is drawn between steps, too: a
step leaves it where it is. There the center may follow as well, center = L L' tau pull,
the mean of the coefficients if the log likelihood were quadratic, with the slope
tau pull at zero.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.numerics.exponential import tame_exp
from skbayes_sg.kernels.protocol.coordinates import (
    carry,
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
NONE, NO_PULL = np.empty(0, np.int64), np.empty(0)


class FollowingDense(NamedTuple):
    """Whitened coordinates; L is the inverse of the root's transpose."""

    center: np.ndarray  # (d,)
    information: np.ndarray  # (d, d)
    given: np.ndarray  # (d,) precisions of the prior that are constant
    noise: np.ndarray  # (d,) place of log tau in theta, for each parameter; or (0,)
    pull: np.ndarray  # (d,) slope of the log likelihood at zero over tau; or (0,)
    root: np.ndarray  # (d, d) lower triangular, root root' = (L L')^-1


class FollowingDiagonal(NamedTuple):
    """Each parameter in units of its own scale."""

    center: np.ndarray  # (d,)
    information: np.ndarray  # (d,)
    given: np.ndarray  # (d,)
    noise: np.ndarray  # (d,) or (0,)
    pull: np.ndarray  # (d,) or (0,)
    root: np.ndarray  # (d,) one over the scales


def following(center, information, given, precision, noise=NONE, pull=NO_PULL):
    """Return coordinates about `center` at the first `precision`, (d,).

    With `noise`, the center holds log tau as well, and tau does not depend on itself:
    rows of `information` are zero where ``noise[j] == j``.
    """
    kind = FollowingDiagonal if information.ndim == 1 else FollowingDense
    root = np.zeros(information.shape)  # the triangle that is not written is read
    own = kind(center.copy(), information, given, noise, pull, root)
    follow(own, precision, center, np.empty(center.size))
    return own


@of_one_chain.register(FollowingDense)
@of_one_chain.register(FollowingDiagonal)
def _(coordinates):
    return type(coordinates)(*(array.copy() for array in coordinates))


@follow.register(FollowingDense)
def _(coordinates, precision, theta, position):
    _adapt(coordinates, precision, theta)
    root, center = coordinates.root, coordinates.center
    for i in range(theta.size):
        position[i] = 0.0
    for j in range(theta.size):
        away = theta[j] - center[j]
        for i in range(j + 1):
            position[i] += root[j, i] * away


@follow.register(FollowingDiagonal)
def _(coordinates, precision, theta, position):
    _adapt_diagonal(coordinates, precision, theta)
    for j in range(theta.size):
        position[j] = coordinates.root[j] * (theta[j] - coordinates.center[j])


@carry.register(FollowingDense)
def _(coordinates, precision, theta, position):
    _adapt(coordinates, precision, theta)
    to_theta(coordinates, position, theta)
    value = 0.0
    for j in range(theta.size):
        value -= math.log(coordinates.root[j, j])
    return value


@carry.register(FollowingDiagonal)
def _(coordinates, precision, theta, position):
    _adapt_diagonal(coordinates, precision, theta)
    to_theta(coordinates, position, theta)
    value = 0.0
    for j in range(theta.size):
        value -= math.log(coordinates.root[j])
    return value


@helper
def _adapt(coordinates, precision, theta):
    """Write the root and the center that belong to new precisions and noise."""
    root = coordinates.root
    for i in range(theta.size):
        tau = _tau(coordinates, theta, i)
        for j in range(i + 1):
            root[i, j] = tau * coordinates.information[i, j]
        root[i, i] += coordinates.given[i] + precision[i] + _held(coordinates, i)
    _factorize(root)
    _center(coordinates, theta)


@helper
def _adapt_diagonal(coordinates, precision, theta):
    """Write the root and the center that belong to new precisions and noise."""
    for j in range(theta.size):
        total = _tau(coordinates, theta, j) * coordinates.information[j]
        total += coordinates.given[j] + precision[j] + _held(coordinates, j)
        coordinates.root[j] = math.sqrt(total)
    _center(coordinates, theta)


@helper
def _center(coordinates, theta):
    """Move the center: to the mean of coefficients, and to where noise is held."""
    center = coordinates.center
    if coordinates.pull.size > 0:
        for j in range(center.size):
            center[j] = _tau(coordinates, theta, j) * coordinates.pull[j]
        pull_back(coordinates, center, center)
        push_forward(coordinates, center, center)
    for j in range(coordinates.noise.size):
        if coordinates.noise[j] == j:
            center[j] = theta[j]


@helper
def _tau(coordinates, theta, j):
    """Return tau of a parameter."""
    if coordinates.noise.size == 0:
        return 1.0
    return tame_exp(theta[coordinates.noise[j]])


@helper
def _held(coordinates, j):
    """Return 0, or the precision that keeps steps from moving a parameter."""
    if coordinates.noise.size == 0 or coordinates.noise[j] != j:
        return 0.0
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
