"""Truncated Gaussians in balls, half-spaces, the simplex and a region of a user's own.

Expected values are sums over a fine grid of the plane.
"""

from typing import NamedTuple

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.kernels.capabilities.regions import project
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean, Proximal
from skbayes_sg.kernels.regions import Ball, HalfSpace, Simplex
from skbayes_sg.kernels.samplers import (
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
    bounded,
)
from tests.targets import batch_means


class Cone(NamedTuple):
    """A user's own region, with nothing but a projection: x_0 >= slope |x_1|."""

    slope: float


@project.register(Cone)
def _(region, theta, out):
    a, side = region.slope, abs(theta[1])
    if theta[0] >= a * side:
        out[0], out[1] = theta[0], theta[1]
    else:
        along = max(0.0, (a * theta[0] + side) / (a * a + 1.0))
        out[0], out[1] = a * along, np.sign(theta[1]) * along


MEAN = np.array([0.8, 0.3])
BALL = Ball(np.array([0.2, 0.0]), 1.0)
LINE = np.linspace(-5.0, 5.0, 2001)[:-1] + 0.0025
GRID = np.stack(np.meshgrid(LINE, LINE, indexing="ij"), axis=-1)
INSIDE = {
    "ball": (BALL, ((GRID - BALL.center) ** 2).sum(axis=-1) <= 1.0),
    "half-space": (
        HalfSpace(np.array([1.0, 2.0]), 0.3),
        GRID @ np.array([1.0, 2.0]) <= 0.3,
    ),
    "cone": (Cone(0.5), GRID[..., 0] >= 0.5 * np.abs(GRID[..., 1])),
}
MODEL = GaussianMean(MEAN[None], np.eye(2))


def expected_moments(name):
    """Return E x_0, E x_1 and E |x|^2 of the truncated Gaussian."""
    x = GRID[INSIDE[name][1]]
    weight = np.exp(-0.5 * ((x - MEAN) ** 2).sum(axis=1))
    return weight @ moments(x) / weight.sum()


def moments(x):
    return np.column_stack([x[:, :2], (x**2).sum(axis=1)])


def draws_of(sampler, h, model=MODEL, start=(0.1, 0.05), n_draws=20_000, **options):
    options = {"gradient": Full(), "thin": max(1, round(4 / h)), **options}
    return sample(
        model,
        sampler,
        step_size=h,
        n_draws=n_draws,
        burn_in=500,
        start=np.array(start),
        random_state=1,
        **options,
    )[0]


def check_truncated(draws, expected, tolerance):
    """Assert the moments within a tolerance and 4 MCSE, and that these are small."""
    mean, error = batch_means(moments(draws))
    assert (error < 0.015 * np.maximum(1.0, expected)).all(), "too few draws"
    assert (np.abs(mean - expected) < 4 * error + tolerance).all()


@pytest.mark.parametrize("name", INSIDE)
def test_reflected_at_flat_and_curved_walls(name):
    """BAOAB, errors below 0.01 + 4 MCSE; dropping the wall moves means by 0.1."""
    region, _ = INSIDE[name]
    draws = draws_of(bounded(BAOAB(), region, "reflect"), 0.1)
    check_truncated(draws, expected_moments(name), 0.01)


def test_forgotten_walls_are_rejected():
    for name in INSIDE:
        draws = np.random.default_rng(0).normal(MEAN, size=(60_000, 2))
        with pytest.raises(AssertionError, match="^assert"):
            check_truncated(draws, expected_moments(name), 0.01)


@pytest.mark.long
@pytest.mark.parametrize(
    "sampler", [SGHMC(n_leapfrog=1), SGNHT(), LeimkuhlerMatthews()]
)
def test_other_samplers_are_reflected_in_a_ball(sampler):
    draws = draws_of(bounded(sampler, BALL, "reflect"), 0.05)
    assert np.linalg.norm(draws - BALL.center, axis=1).max() <= 1.0 + 1e-12
    check_truncated(draws, expected_moments("ball"), 0.02)


def test_projection_errs_as_the_root_of_the_step_in_a_ball():
    """Errors of E |x|^2 at h = 0.16 and 0.04: one is half the other."""
    expected, errors = expected_moments("ball")[2], []
    for h in (0.16, 0.04):
        draws = draws_of(bounded(SGLD(), BALL), h, n_draws=40_000)
        assert np.linalg.norm(draws - BALL.center, axis=1).max() <= 1.0 + 1e-12
        mean, error = batch_means(moments(draws)[:, 2])
        assert error < 0.004
        errors.append(mean - expected)
    assert errors[0] > 0.1
    assert abs(errors[1] / errors[0] - 0.5) < 0.08


def test_gaussian_on_the_simplex():
    """Reflected within the plane of the simplex; two parts on a grid, 4 MCSE."""
    mean, precision = np.array([0.6, 0.1, 0.3]), 20.0
    line = (np.arange(1000) + 0.5) / 1000
    x, y = np.meshgrid(line, line, indexing="ij")
    x = np.stack([x, y, 1 - x - y], axis=-1)[x + y <= 1]
    weight = np.exp(-0.5 * precision * ((x - mean) ** 2).sum(axis=1))
    model = GaussianMean(mean[None], precision * np.eye(3))
    sampler = bounded(BAOAB(), Simplex(), "reflect")
    draws = draws_of(sampler, 0.02, model, (0.4, 0.3, 0.3), thin=40)
    np.testing.assert_allclose(draws.sum(axis=1), 1.0)
    assert draws.min() >= 0.0
    check_truncated(draws, weight @ moments(x) / weight.sum(), 0.002)


def test_proximal_law_in_a_ball():
    """The law with its skirt, draws recorded projected: 4 MCSE + 0.005."""
    smoothing = 0.01
    model = Proximal(MODEL, BALL, smoothing)
    shift = GRID.reshape(-1, 2) - BALL.center
    radius = np.linalg.norm(shift, axis=1)
    excess = np.maximum(radius - 1.0, 0.0)
    nearest = BALL.center + shift / np.maximum(radius, 1.0)[:, None]
    square = ((shift + BALL.center - MEAN) ** 2).sum(axis=1)
    weight = np.exp(-0.5 * square - 0.5 * excess**2 / smoothing)
    expected = weight @ moments(nearest) / weight.sum()
    draws = draws_of(LeimkuhlerMatthews(), 0.005, model, thin=200)
    check_truncated(draws, expected, 0.005)
    # And it comes near the truncated law as the skirt narrows: it is 0.1 wide here.
    assert np.abs(expected - expected_moments("ball")).max() < 0.2


def test_minibatches_at_walls():
    """Noise of gradients heats as it does without a wall: little, at a small step."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=(100, 2))
    model = GaussianMean(y - y.mean(axis=0) + MEAN, np.eye(2))
    region, _ = INSIDE["ball"]
    sampler = bounded(BAOAB(), region, "reflect")
    draws = draws_of(sampler, 0.1, model, gradient=Minibatch(20))
    check_truncated(draws, expected_moments("ball"), 0.02)
