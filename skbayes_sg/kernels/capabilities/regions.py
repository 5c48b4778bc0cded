"""Regions: closed convex sets that parameters may not leave, by projection."""

from skbayes_sg.kernels.generic import helper, kernel_op, python_op
from skbayes_sg.kernels.numerics.vectors import copy_to


# Inside the loop
@kernel_op
def project(region, theta, out):
    """Write the point of the region that is nearest to theta to `out`."""
    raise NotImplementedError


@kernel_op
def reflect(region, theta, momentum, buffer):
    """Reflect theta at the walls, and the momentum with it, all in place.

    By default at the plane that touches the region where theta is projected to (Bossy,
    Gobet & Talay, 2004); where this leads out on another side, theta is projected.
    """
    reflect_at_tangent(region, theta, momentum, buffer)


@helper
def reflect_at_tangent(region, theta, momentum, buffer):
    """Do what `reflect` does by default."""
    project(region, theta, buffer)
    length, along, size = 0.0, 0.0, 0.0
    for j in range(theta.size):
        size += theta[j] * theta[j]
        buffer[j] -= theta[j]  # P theta - theta, an inward normal
        length += buffer[j] * buffer[j]
        along += buffer[j] * momentum[j]
    rounding = 1e-12 if theta.itemsize == 8 else 1e-5
    if length <= rounding * rounding * (size + 1e-100):
        return  # inside, but for the rounding of the projection
    for j in range(theta.size):
        theta[j] += 2.0 * buffer[j]
        momentum[j] -= 2.0 * along / length * buffer[j]
    project(region, theta, buffer)
    copy_to(buffer, theta)


@kernel_op
def momentum_of(sampler, state):
    """Return what changes its direction when a sampler's position is reflected.

    A buffer that the next step overwrites, for samplers without such a thing.
    """
    raise NotImplementedError


# Outside the loop, Python only
@python_op
def points_at_walls(region, d, distance):
    """Return points of the region next to its walls, and steps, (n, d) each.

    A step leads from the walls to its point: `distance` inwards, relative to the size
    of the region, and zero where there is no wall. None by default: of a user's region
    no walls are known.
    """
    return None


@python_op
def reflects_by_default(region):
    """Whether reflection is exact for flat walls, and so the better choice."""
    return False
