"""Regions for `samplers.bounded` and `models.Proximal`: box, ball, half-space, simplex.

A region of your own needs `project` alone, see `capabilities.regions`.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.regions import (
    points_at_walls,
    project,
    reflect,
    reflect_at_tangent,
    reflects_by_default,
)
from skbayes_sg.kernels.numerics.vectors import copy_to


class Box(NamedTuple):
    """Bounds of each parameter, infinite where there are none."""

    low: np.ndarray  # (d,)
    high: np.ndarray  # (d,)


class Ball(NamedTuple):
    """All points within a distance of the center."""

    center: np.ndarray  # (d,)
    radius: float


class HalfSpace(NamedTuple):
    """All points with normal' theta <= offset."""

    normal: np.ndarray  # (d,), of any length but zero
    offset: float


class Simplex(NamedTuple):
    """Non-negative parts that sum to one.

    Steps leave the plane of the simplex, and the projection brings them back to it.
    """


@project.register(Box)
def _(region, theta, out):
    for j in range(theta.size):
        out[j] = min(max(theta[j], region.low[j]), region.high[j])


@reflect.register(Box)
def _(region, theta, momentum, buffer):
    for j in range(theta.size):
        low, high = region.low[j], region.high[j]
        if theta[j] < low:
            theta[j] = 2.0 * low - theta[j]
            momentum[j] = -momentum[j]
        elif theta[j] > high:
            theta[j] = 2.0 * high - theta[j]
            momentum[j] = -momentum[j]
        # A step across the whole box; it is far too large anyway.
        theta[j] = min(max(theta[j], low), high)


@project.register(Ball)
def _(region, theta, out):
    square = 0.0
    for j in range(theta.size):
        square += (theta[j] - region.center[j]) ** 2
    if square <= region.radius**2:
        copy_to(theta, out)
        return
    shrink = region.radius / math.sqrt(square)
    for j in range(theta.size):
        out[j] = region.center[j] + shrink * (theta[j] - region.center[j])


@project.register(HalfSpace)
def _(region, theta, out):
    excess, square = -region.offset, 0.0
    for j in range(theta.size):
        excess += region.normal[j] * theta[j]
        square += region.normal[j] ** 2
    excess = max(excess, 0.0)
    for j in range(theta.size):
        out[j] = theta[j] - excess / square * region.normal[j]


@project.register(Simplex)
def _(region, theta, out):
    # P theta = max(theta - level, 0), where the level makes it sum to one: Newton's
    # method on a convex, piecewise linear function, which ends after finitely many
    # steps from below (Michelot, 1986), without sorting.
    level = -1.0
    for j in range(theta.size):
        level += theta[j]
    level /= theta.size
    count = theta.size + 1
    while True:
        total, left = -1.0, 0
        for j in range(theta.size):
            if theta[j] > level:
                total += theta[j]
                left += 1
        if left == 0 or left >= count:
            break
        level, count = total / left, left
    for j in range(theta.size):
        out[j] = max(theta[j] - level, 0.0)


@reflect.register(Simplex)
def _(region, theta, momentum, buffer):
    # Within the plane: the part of a step that leaves it is dropped first.
    excess, drift = -1.0, 0.0
    for j in range(theta.size):
        excess += theta[j]
        drift += momentum[j]
    for j in range(theta.size):
        theta[j] -= excess / theta.size
        momentum[j] -= drift / theta.size
    reflect_at_tangent(region, theta, momentum, buffer)


@reflects_by_default.register(Box)
@reflects_by_default.register(HalfSpace)
def _(region):
    return True


@points_at_walls.register(Box)
def _(region, d, distance):
    low, high = region
    width = np.where(np.isfinite(high - low), high - low, 1.0)
    inside = np.where(np.isfinite(low), low + 0.5 * width, high - 0.5 * width)
    inside = np.where(np.isfinite(inside), inside, 0.0)
    points, steps = [], []
    for wall, sign in ((low, distance), (high, -distance)):
        steps.append(np.where(np.isfinite(wall), sign * width, 0.0))
        points.append(np.where(np.isfinite(wall), wall + steps[-1], inside))
    return np.array(points), np.array(steps)


@points_at_walls.register(Ball)
def _(region, d, distance):
    outward = np.eye(d)[:8] * region.radius
    return region.center + (1.0 - distance) * outward, -distance * outward


@points_at_walls.register(HalfSpace)
def _(region, d, distance):
    inward = -region.normal[None] / np.linalg.norm(region.normal)
    wall = region.offset * region.normal / np.sum(region.normal**2)
    return wall + distance * inward, distance * inward


@points_at_walls.register(Simplex)
def _(region, d, distance):
    # Half of the parts are next to zero, then the others.
    points, steps = [], []
    for small in (np.arange(d) % 2 == 0, np.arange(d) % 2 == 1):
        rest = (1.0 - distance * small.sum()) / max(1, (~small).sum())
        points.append(np.where(small, distance, rest))
        steps.append(distance * small)
    return np.array(points), np.array(steps)
