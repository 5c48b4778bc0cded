"""Coordinates: there and back, and the gradient's chain rule."""

import numpy as np
import pytest

from skbayes_sg.kernels.coordinates import Dense, Diagonal, Identity
from skbayes_sg.kernels.protocol.coordinates import (
    position_scale,
    pull_back,
    to_position,
    to_theta,
)

D = 11  # two groups of four rows, and three


@pytest.fixture(params=["identity", "diagonal", "dense"])
def coordinates(request, rng):
    center, factor = rng.normal(size=D), np.triu(rng.normal(size=(D, D)))
    return {
        "identity": Identity(),
        "diagonal": Diagonal(center, rng.uniform(0.1, 10.0, D)),
        "dense": Dense(center, factor + 3 * np.eye(D)),
    }[request.param]


def theta_of(coordinates, position):
    out = np.empty_like(position)
    to_theta(coordinates, position, out)
    return out


def jacobian(coordinates):
    """Return L, column by column: the map is affine."""
    origin = theta_of(coordinates, np.zeros(D))
    return np.array([theta_of(coordinates, e) - origin for e in np.eye(D)]).T


def test_round_trip(coordinates, rng):
    position = rng.normal(size=D)
    there = theta_of(coordinates, position)
    np.testing.assert_allclose(to_position(coordinates, there), position, atol=1e-12)
    theta = rng.normal(size=D)
    back = theta_of(coordinates, to_position(coordinates, theta))
    np.testing.assert_allclose(back, theta, atol=1e-12)


def test_pull_back_is_the_transpose(coordinates, rng):
    g, out = rng.normal(size=D), np.full(D, np.nan)
    pull_back(coordinates, g, out)
    np.testing.assert_allclose(out, jacobian(coordinates).T @ g, atol=1e-12)


def test_to_position_does_not_alias(coordinates):
    theta = np.ones(D)
    assert not np.shares_memory(to_position(coordinates, theta), theta)


def test_position_scale(coordinates, rng):
    sds = rng.uniform(0.5, 2.0, D)
    if isinstance(coordinates, Dense):  # whitened: one in every direction
        expected = np.ones(D)
    else:
        expected = sds / np.diag(jacobian(coordinates))
    np.testing.assert_allclose(position_scale(coordinates, sds), expected)
