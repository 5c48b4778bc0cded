"""Constant preconditioners, as coordinates in which the sampler moves.

theta = center + L phi,    grad_phi = L' grad_theta,    preconditioner = L L'
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.ops import position_scale, pull_back, to_position, to_theta


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
    out[:] = position


@pull_back.register(Identity)
def _(coordinates, g, out):
    out[:] = g


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
    for i in range(out.size):
        row = coordinates.factor[i]
        total = coordinates.center[i]
        for j in range(i, out.size):
            total += row[j] * position[j]
        out[i] = total


@pull_back.register(Dense)
def _(coordinates, g, out):
    out[:] = 0.0
    for i in range(out.size):
        row = coordinates.factor[i]
        for j in range(i, out.size):
            out[j] += row[j] * g[i]


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
