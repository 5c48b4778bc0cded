"""Regions, and samplers that stay within them: reflected, projected, proximal."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import minimize

from skbayes_sg import sample
from skbayes_sg.kernels.capabilities.regions import momentum_of, project, reflect
from skbayes_sg.kernels.coordinates import Diagonal, Identity
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models import DirichletMultinomial, GaussianMean, Proximal
from skbayes_sg.kernels.protocol.model import check_model, init_work
from skbayes_sg.kernels.protocol.sampler import check_parts, init_state, step
from skbayes_sg.kernels.regions import Ball, Box, HalfSpace, Simplex
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    HMC,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
    Projected,
    Reflected,
    bounded,
)
from tests.kernels.constrained import Shapes
from tests.kernels.test_models import central_differences, gradient, value
from tests.probe import Scripted, target_of
from tests.targets import batch_means

REGIONS = {
    "box": (Box(np.array([-0.5, 0.0, -np.inf]), np.array([0.5, np.inf, 0.1])), True),
    "ball": (Ball(np.array([0.5, 0.0, 0.0]), 0.7), False),
    "half-space": (HalfSpace(np.array([1.0, -2.0, 0.5]), 0.3), True),
    "simplex": (Simplex(), False),
}


def projected(region, theta):
    out = np.empty_like(theta)
    project(region, theta, out)
    return out


@pytest.mark.parametrize("name", REGIONS)
def test_projection_is_the_nearest_point(name):
    """No mixture with another point of the region is nearer, for a convex region."""
    region, _ = REGIONS[name]
    rng = np.random.default_rng(0)
    for _ in range(20):
        theta, other = 2 * rng.normal(size=(2, 3))
        nearest, other = projected(region, theta), projected(region, other)
        np.testing.assert_allclose(projected(region, nearest), nearest, atol=1e-12)
        assert (theta - nearest) @ (other - nearest) <= 1e-12


def test_projection_onto_the_simplex_by_a_solver():
    theta = np.array([0.9, -0.4, 0.7, 0.1])
    found = minimize(
        lambda x: np.sum((x - theta) ** 2),
        np.full(4, 0.25),
        bounds=[(0, 1)] * 4,
        constraints={"type": "eq", "fun": lambda x: x.sum() - 1},
    )
    np.testing.assert_allclose(projected(Simplex(), theta), found.x, atol=1e-6)


@pytest.mark.parametrize("name", REGIONS)
def test_reflection_stays_inside_and_turns_the_momentum(name):
    region, _ = REGIONS[name]
    rng, buffer = np.random.default_rng(1), np.empty(3)
    for _ in range(20):
        inside = projected(region, rng.normal(size=3))
        rho = 0.1 * rng.normal(size=3)
        if name == "simplex":
            rho -= rho.mean()
        theta, momentum = inside + rho, rho.copy()
        outside = np.abs(projected(region, theta) - theta).max() > 1e-10
        reflect(region, theta, momentum, buffer)
        np.testing.assert_allclose(projected(region, theta), theta, atol=1e-10)
        np.testing.assert_allclose(momentum @ momentum, rho @ rho)
        assert np.allclose(momentum, rho) != outside


def test_what_happens_at_walls_by_default():
    for region, reflects in REGIONS.values():
        kind = type(bounded(SGLD(), region))
        assert kind is (Reflected if reflects else Projected)
    assert type(bounded(SGLD(), Simplex(), "reflect")) is Reflected
    with pytest.raises(ValueError, match="boundary='stop' is not allowed"):
        bounded(SGLD(), Simplex(), "stop")


# A Gaussian in a box: one compilation of each sampler, at several step sizes
INTERVAL = Box(np.zeros(1), np.full(1, 2.0))
TRUNCATED = stats.truncnorm(-0.3, 1.7, loc=0.3)
GAUSSIAN = GaussianMean(np.array([[0.3]]), np.eye(1))


def variance_error(sampler, h, n_draws=200_000, model=GAUSSIAN):
    """Return the relative error of the variance and its Monte Carlo error."""
    draws = sample(
        model,
        sampler,
        Full(),
        step_size=h,
        n_draws=n_draws,
        thin=max(1, round(1 / h)),
        burn_in=100,
        start=np.ones(1),
        random_state=1,
    )[0, :, 0]
    assert draws.min() >= 0.0 and draws.max() <= 2.0
    mean, error = batch_means((draws - TRUNCATED.mean()) ** 2)
    return mean / TRUNCATED.var() - 1, error / TRUNCATED.var()


def test_reflection_errs_as_the_step_and_projection_as_its_root():
    """SGLD at h = 0.4 and 0.1: a quarter of the error, or a half."""
    errors = {}
    for boundary in ("reflect", "project"):
        sampler = bounded(SGLD(), INTERVAL, boundary)
        (large, one), (small, other) = (variance_error(sampler, h) for h in (0.4, 0.1))
        errors[boundary] = small / large
        assert max(one, other) < 0.004
    assert abs(errors["reflect"] - 1 / 4) < 0.08
    assert abs(errors["project"] - 1 / 2) < 0.08


SECOND_ORDER = [LeimkuhlerMatthews(), BAOAB()]


@pytest.mark.parametrize("sampler", SECOND_ORDER)
def test_second_order_schemes_are_reflected_well(sampler):
    """Errors below 2 % + 4 MCSE where SGLD's is 9 %."""
    error, scatter = variance_error(bounded(sampler, INTERVAL), 0.4)
    assert abs(error) < 0.02 + 4 * scatter
    assert scatter < 0.004


@pytest.mark.long
@pytest.mark.parametrize("sampler", [SGHMC(n_leapfrog=1), SGNHT(), BADODAB()])
def test_samplers_with_momentum_are_reflected(sampler):
    error, scatter = variance_error(bounded(sampler, INTERVAL), 0.1)
    assert abs(error) < 0.02 + 4 * scatter


def check_mirror(sampler, walled):
    """Without noise or gradient a particle comes back as from a mirror."""
    target = target_of(GaussianMean(np.array([[1.9]]), 1e-12 * np.eye(1)))
    rng = np.random.default_rng(0)
    free = init_state(sampler, np.array([1.9]), rng)
    state = init_state(walled, np.array([1.9]), rng)
    for part in (free, state.inner):
        momentum_of(sampler, part)[:] = 1.0
    step(sampler, free, target, 1.0, Scripted())
    step(walled, state, target, 1.0, Scripted())
    assert free.position[0] > 2.0
    np.testing.assert_allclose(state.position, 4.0 - free.position)
    after = momentum_of(sampler, state.inner)
    np.testing.assert_allclose(after, -momentum_of(sampler, free))


@pytest.mark.parametrize(
    "sampler", [SGHMC(n_leapfrog=1), SGNHT(), BADODAB(), BAOAB(), LeimkuhlerMatthews()]
)
def test_the_momentum_turns_at_a_wall(sampler):
    check_mirror(sampler, bounded(sampler, INTERVAL))


class Unturned(NamedTuple):
    """A mutant: the position is reflected, the momentum goes on into the wall."""

    sampler: NamedTuple
    region: NamedTuple


@init_state.register(Unturned)
def _(sampler, position, rng):
    return init_state(Reflected(*sampler), position, rng)


@step.register(Unturned)
def _(sampler, state, target, h, rng):
    step(sampler.sampler, state.inner, target, h, rng)
    reflect(sampler.region, state.position, np.zeros(1), state.buffer)


def test_a_momentum_that_does_not_turn_is_rejected():
    with pytest.raises(AssertionError):
        check_mirror(BAOAB(), Unturned(BAOAB(), INTERVAL))


# The proximal form
def test_proximal_gradient_and_draws(uncompiled):
    model = Proximal(GaussianMean(np.zeros((1, 3)), np.eye(3)), REGIONS["ball"][0], 0.1)
    theta, rows = np.array([1.5, -0.3, 0.8]), np.zeros(1, np.int32)
    numeric = central_differences(lambda t: value(model, t, rows), theta)
    np.testing.assert_allclose(gradient(model, theta, rows), numeric, rtol=1e-6)
    with pytest.raises(ValueError, match="smoothing=0.0 must be positive"):
        init_work(model._replace(smoothing=0.0))


@pytest.mark.long
def test_proximal_law_in_a_ball():
    """A flat Gaussian in a unit disk: E r^2 is 1/2, but for a skirt of 0.03."""
    inside = GaussianMean(np.zeros((1, 2)), 1e-6 * np.eye(2))
    model = Proximal(inside, Ball(np.zeros(2), 1.0), 1e-3)
    draws = sample(
        model,
        LeimkuhlerMatthews(),
        Full(),
        step_size=1e-3,
        n_draws=20_000,
        thin=200,
        burn_in=1000,
        random_state=0,
    )[0]
    square, error = batch_means((draws**2).sum(axis=1))
    assert error < 0.005
    skirt = np.sqrt(np.pi / 2 * 1e-3)  # the mass outside, per length of the wall
    expected = (0.25 + skirt) / (0.5 + skirt)  # recorded at the wall, r = 1
    assert abs(square - expected) < 4 * error + 0.002


# Refusals
def test_densities_that_are_infinite_at_a_wall_are_refused(uncompiled):
    sparse = DirichletMultinomial(np.repeat([0, 1], 50), np.full(3, 0.1))
    dense = DirichletMultinomial(np.arange(99) % 3, np.full(3, 0.1))
    sampler, coordinates = bounded(SGLD(), Simplex()), Identity()
    with pytest.raises(ValueError, match="infinite at a wall of Simplex"):
        check_parts(sampler, sparse, Full(), coordinates)
    check_parts(sampler, dense, Full(), coordinates)


def test_gamma_shapes_below_one_are_refused_in_boxes(uncompiled):
    box = Box(np.zeros(2), np.full(2, np.inf))
    for a, refused in ((0.5, True), (1.0, False), (2.0, False)):
        model = Shapes(np.array([2.0, a]), np.ones(2), np.full(2, 1e5))
        parts = bounded(SGLD(), box), model, Full(), Identity()
        if refused:
            with pytest.raises(ValueError, match="infinite at a wall of Box"):
                check_parts(*parts)
        else:
            check_parts(*parts)


def test_proximal_forms_of_infinite_densities_are_refused(uncompiled):
    model = Shapes(np.array([2.0, 0.5]), np.ones(2), np.ones(2))
    box = Box(np.zeros(2), np.full(2, np.inf))
    with pytest.raises(ValueError, match="infinite at a wall of Box"):
        sample(Proximal(model, box, 0.1), SGLD(), Full(), step_size=0.1, n_draws=2)
    check_model(Proximal(model._replace(a=np.full(2, 2.0)), box, 0.1))


@pytest.mark.parametrize("sampler", [SGHMC(n_leapfrog=5), HMC(3)])
def test_samplers_with_inner_steps_are_refused(sampler):
    with pytest.raises(ValueError, match="after every step of a sampler"):
        sample(GAUSSIAN, bounded(sampler, INTERVAL), Full(), step_size=0.1, n_draws=2)


def test_preconditioners_are_refused():
    coordinates = Diagonal(np.zeros(1), np.ones(1))
    options = {"step_size": 0.1, "n_draws": 2, "coordinates": coordinates}
    with pytest.raises(ValueError, match="use no preconditioner, not Diagonal"):
        sample(GAUSSIAN, bounded(SGLD(), INTERVAL), Full(), **options)
