"""Constant preconditioners, as coordinates in which the sampler moves.

theta = center + L phi,    grad_phi = L' grad_theta,    preconditioner = L L'
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.metrics import pull_back_diagonal, pull_back_metric
from skbayes_sg.kernels.capabilities.theta_blocks import part_of
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.coordinates import (
    is_identity,
    position_scale,
    pull_back,
    pull_back_rows,
    push_forward,
    shift,
    to_position,
    to_theta,
)


class Identity(NamedTuple):
    """The model's own coordinates."""

    nothing: int = 0


class Diagonal(NamedTuple):
    """Each parameter in units of its own scale."""

    center: np.ndarray  # (d,)
    scale: np.ndarray  # (d,) the diagonal of L


class Dense(NamedTuple):
    """Whitened coordinates; L is upper triangular."""

    center: np.ndarray  # (d,)
    factor: np.ndarray  # (d, d) L


@to_theta.register(Identity)
def _(coordinates, position, out):
    copy_to(position, out)


@pull_back.register(Identity)
def _(coordinates, g, out):
    copy_to(g, out)


@shift.register(Identity)
def _(coordinates, j, change, position):
    position[j] += change


@shift.register(Diagonal)
def _(coordinates, j, change, position):
    position[j] += change / coordinates.scale[j]


@is_identity.register(Identity)
def _(coordinates):
    return True


@to_theta.register(Diagonal)
def _(coordinates, position, out):
    for j in range(out.size):
        out[j] = coordinates.center[j] + coordinates.scale[j] * position[j]


@pull_back.register(Diagonal)
def _(coordinates, g, out):
    for j in range(out.size):
        out[j] = coordinates.scale[j] * g[j]


@to_theta.register(Dense)
def _(coordinates, position, out):
    # Four rows at a time, so that the position is read once for all four. The factor is
    # zero left of the diagonal, so all four can start at the diagonal of the first.
    center, factor, d = coordinates.center, coordinates.factor, out.size
    whole = d - d % 4
    for i in range(0, whole, 4):
        p, q, r, s = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        a, b, c, e = center[i], center[i + 1], center[i + 2], center[i + 3]
        for j in range(i, d):
            a += p[j] * position[j]
            b += q[j] * position[j]
            c += r[j] * position[j]
            e += s[j] * position[j]
        out[i], out[i + 1], out[i + 2], out[i + 3] = a, b, c, e
    for i in range(whole, d):
        total = center[i]
        for j in range(i, d):
            total += factor[i, j] * position[j]
        out[i] = total


@pull_back.register(Dense)
def _(coordinates, g, out):
    factor, d = coordinates.factor, out.size
    out[:] = 0.0
    whole = d - d % 4
    for i in range(0, whole, 4):
        p, q, r, s = factor[i], factor[i + 1], factor[i + 2], factor[i + 3]
        a, b, c, e = g[i], g[i + 1], g[i + 2], g[i + 3]
        for j in range(i, d):
            out[j] += a * p[j] + b * q[j] + c * r[j] + e * s[j]
    for i in range(whole, d):
        for j in range(i, d):
            out[j] += factor[i, j] * g[i]


@push_forward.register(Identity)
def _(coordinates, vector, out):
    copy_to(vector, out)


@push_forward.register(Diagonal)
def _(coordinates, vector, out):
    for j in range(out.size):
        out[j] = coordinates.scale[j] * vector[j]


@push_forward.register(Dense)
def _(coordinates, vector, out):
    for i in range(out.size):
        total = 0.0
        for j in range(i, out.size):
            total += coordinates.factor[i, j] * vector[j]
        out[i] = total


@part_of.register(Identity)
def _(coordinates, first, last):
    return coordinates


@part_of.register(Diagonal)
def _(coordinates, first, last):
    return Diagonal(coordinates.center[first:last], coordinates.scale[first:last])


@pull_back_metric.register(Identity)
def _(coordinates, matrix):
    pass


@pull_back_metric.register(Diagonal)
def _(coordinates, matrix):
    scale = coordinates.scale
    for i in range(scale.size):
        for j in range(scale.size):
            matrix[i, j] *= scale[i] * scale[j]


@pull_back_metric.register(Dense)
def _(coordinates, matrix):
    factor, d = coordinates.factor, len(matrix)
    # L is upper triangular: in this order no overwritten entry is needed again.
    for i in range(d):
        for j in range(d - 1, -1, -1):
            matrix[i, j] *= factor[j, j]
            for k in range(j):
                matrix[i, j] += matrix[i, k] * factor[k, j]
    for i in range(d - 1, -1, -1):
        for j in range(d):
            matrix[i, j] *= factor[i, i]
        for k in range(i):
            for j in range(d):
                matrix[i, j] += factor[k, i] * matrix[k, j]


@pull_back_diagonal.register(Identity)
def _(coordinates, diagonal, slope):
    pass


@pull_back_diagonal.register(Diagonal)
def _(coordinates, diagonal, slope):
    for j in range(diagonal.size):
        diagonal[j] *= coordinates.scale[j] ** 2
        slope[j] *= coordinates.scale[j] ** 3


@to_position.register(Identity)
def _(coordinates, theta):
    return theta.copy()


@to_position.register(Diagonal)
def _(coordinates, theta):
    return (theta - coordinates.center) / coordinates.scale


@to_position.register(Dense)
def _(coordinates, theta):
    return np.linalg.solve(coordinates.factor, theta - coordinates.center)


@position_scale.register(Identity)
def _(coordinates, theta_scale):
    return theta_scale


@position_scale.register(Diagonal)
def _(coordinates, theta_scale):
    return theta_scale / coordinates.scale


@position_scale.register(Dense)
def _(coordinates, theta_scale):
    return np.ones_like(theta_scale)


@pull_back_rows.register(Identity)
def _(coordinates, g):
    return g


@pull_back_rows.register(Diagonal)
def _(coordinates, g):
    return g * coordinates.scale


@pull_back_rows.register(Dense)
def _(coordinates, g):
    return g @ coordinates.factor
