"""Drift and diffusion of every sampler are those of the complete recipe.

A step without noise over h/2 tends to the drift b = -(D + Q) grad H + Gamma as h falls,
and the covariance of its noise over h to D. Both limits are extrapolated, on random
states, and compared to 1e-10.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy.linalg import solve_discrete_lyapunov

from skbayes_sg import sample
from skbayes_sg.kernels.capabilities.metrics import (
    metric,
    metric_diagonal,
    metric_divergence,
)
from skbayes_sg.kernels.coordinates import Dense, Diagonal
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli, Categorical, Poisson
from skbayes_sg.kernels.models import GLM, GaussianMean
from skbayes_sg.kernels.protocol.coordinates import to_position
from skbayes_sg.kernels.protocol.target import gradient_at, locate
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    HMC,
    MALA,
    PSGLD,
    SGHMC,
    SGLD,
    SGNHT,
    SGRHMC,
    SGRLD,
    DenseSGRLD,
    LeimkuhlerMatthews,
    Recipe,
)
from skbayes_sg.kernels.samplers.recipe import (
    curl,
    diffusion,
    divergence,
    drift_and_diffusion,
    energy_gradient,
    init_auxiliary,
)
from tests.probe import (
    advance,
    extrapolated,
    linear_map,
    new_state,
    noise_map,
    target_of,
)
from tests.targets import check_law, gaussian, posterior

D = 3


# Systems: what the papers say D, Q, grad H and Gamma are
class Underdamped(NamedTuple):
    """SG-HMC: D = diag(0, C), Q = [[0, -I], [I, 0]]."""

    friction: float


@init_auxiliary.register(Underdamped)
def _(system, position, rng):
    return np.zeros_like(position)


@diffusion.register(Underdamped)
def _(system, zeta, out):
    out[:] = 0.0
    for j in range(zeta.size // 2, zeta.size):
        out[j, j] = system.friction


@curl.register(Underdamped)
def _(system, zeta, out):
    d = zeta.size // 2
    out[:] = 0.0
    for j in range(d):
        out[j, d + j] = -1.0
        out[d + j, j] = 1.0


@divergence.register(Underdamped)
def _(system, zeta, first, second, out):
    out[:] = 0.0


class Thermostat(NamedTuple):
    """SG-NHT: H = U + rho' rho / 2 + d (eta - A)^2 / 2, D = diag(0, A, 0)."""

    diffusion: float


@init_auxiliary.register(Thermostat)
def _(system, position, rng):
    return np.zeros(position.size + 1)


@diffusion.register(Thermostat)
def _(system, zeta, out):
    d = zeta.size // 2
    out[:] = np.diag(np.repeat([0.0, system.diffusion, 0.0], [d, d, 1]))


@curl.register(Thermostat)
def _(system, zeta, out):
    d = zeta.size // 2
    out[:] = 0.0
    out[:d, d : 2 * d] = -np.eye(d)
    out[d : 2 * d, :d] = np.eye(d)
    out[d : 2 * d, -1] = zeta[d : 2 * d] / d
    out[-1, d : 2 * d] = -zeta[d : 2 * d] / d


@energy_gradient.register(Thermostat)
def _(system, zeta, g, out):
    d = g.size
    out[:] = np.concatenate([-g, zeta[d : 2 * d], [d * (zeta[-1] - system.diffusion)]])


@divergence.register(Thermostat)
def _(system, zeta, first, second, out):
    out[:] = 0.0
    out[-1] = -1.0  # sum_j d_rho_j (-rho_j / d)


class Fisher(NamedTuple):
    """G(theta) of a logistic or Poisson regression, its derivatives and its inverse."""

    x: np.ndarray
    prior_precision: float
    poisson: bool

    def at(self, theta):
        """Return G, (d, d), and d_j G, (d, d, d) with j first."""
        eta = self.x @ theta
        p = 1.0 / (1.0 + np.exp(-eta))
        w, slope = p * (1.0 - p), p * (1.0 - p) * (1.0 - 2.0 * p)
        if self.poisson:
            w = slope = np.exp(eta)
        g = np.einsum("i,ij,ik->jk", w, self.x, self.x)
        tensor = np.einsum("i,il,ij,ik->ljk", slope, self.x, self.x, self.x)
        return g + self.prior_precision * np.eye(theta.size), tensor


class DenseMetric(NamedTuple):
    """SG-RLD: D = G^-1, Q = 0."""

    fisher: Fisher


@diffusion.register(DenseMetric)
def _(system, zeta, out):
    out[:] = np.linalg.inv(system.fisher.at(zeta)[0])


@divergence.register(DenseMetric)
def _(system, zeta, first, second, out):
    g, tensor = system.fisher.at(zeta)
    inverse = np.linalg.inv(g)
    out[:] = -np.einsum("ik,jkm,mj->i", inverse, tensor, inverse)


class DiagonalMetric(NamedTuple):
    """SG-RLD with the diagonal of G."""

    fisher: Fisher


@diffusion.register(DiagonalMetric)
def _(system, zeta, out):
    out[:] = np.diag(1.0 / np.diag(system.fisher.at(zeta)[0]))


@divergence.register(DiagonalMetric)
def _(system, zeta, first, second, out):
    g, tensor = system.fisher.at(zeta)
    out[:] = -np.einsum("jjj->j", tensor) / np.diag(g) ** 2


class MetricHamiltonian(NamedTuple):
    """SG-RHMC: D = diag(0, C G^-1), Q = [[0, -G^-1/2], [G^-1/2, 0]], G diagonal."""

    fisher: Fisher
    friction: float


@init_auxiliary.register(MetricHamiltonian)
def _(system, position, rng):
    return np.zeros_like(position)


@diffusion.register(MetricHamiltonian)
def _(system, zeta, out):
    d = zeta.size // 2
    out[:] = 0.0
    g = np.diag(system.fisher.at(zeta[:d])[0])
    out[d:, d:] = np.diag(system.friction / g)


@curl.register(MetricHamiltonian)
def _(system, zeta, out):
    d = zeta.size // 2
    out[:] = 0.0
    root = np.diag(np.diag(system.fisher.at(zeta[:d])[0]) ** -0.5)
    out[:d, d:], out[d:, :d] = -root, root


@divergence.register(MetricHamiltonian)
def _(system, zeta, first, second, out):
    d = zeta.size // 2
    g, tensor = system.fisher.at(zeta[:d])
    out[:] = 0.0
    out[d:] = -0.5 * np.einsum("jjj->j", tensor) * np.diag(g) ** -1.5


def regression_of(family, n_rows=7, seed=5):
    """Return a small GLM without intercept and its Fisher information."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_rows, D))
    y = rng.integers(0, 2, n_rows).astype(float)
    model = GLM(family, x, y, np.empty(0), np.full(x.shape[1], 0.5), False, 1)
    return model, Fisher(x, 0.5, isinstance(family, Poisson))


LOGISTIC, LOGISTIC_FISHER = regression_of(Bernoulli())
POISSON, POISSON_FISHER = regression_of(Poisson())
GAUSSIAN = gaussian(D)
CASES = {
    "sgld": (SGLD(), SGLD(), GAUSSIAN),
    "sghmc": (SGHMC(0.7, 1), Underdamped(0.7), LOGISTIC),
    "baoab": (BAOAB(0.7), Underdamped(0.7), LOGISTIC),
    "sgnht": (SGNHT(0.7), Thermostat(0.7), LOGISTIC),
    "badodab": (BADODAB(0.7), Thermostat(0.7), LOGISTIC),
    "sgrld": (SGRLD(), DiagonalMetric(LOGISTIC_FISHER), LOGISTIC),
    "sgrld-poisson": (SGRLD(), DiagonalMetric(POISSON_FISHER), POISSON),
    "sgrld-dense": (DenseSGRLD(), DenseMetric(LOGISTIC_FISHER), LOGISTIC),
    "sgrhmc": (SGRHMC(0.7), MetricHamiltonian(LOGISTIC_FISHER, 0.7), LOGISTIC),
    "mala": (MALA(), SGLD(), LOGISTIC),
    "hmc": (HMC(1), SGLD(), LOGISTIC),  # of one leapfrog step
    "recipe": (Recipe(Underdamped(0.7)), Underdamped(0.7), LOGISTIC),
}


def recipe_at(system, target, zeta):
    """Return b and D of a system at zeta."""
    state = new_state(Recipe(system), target)
    state.zeta[:] = zeta
    gradient_at(target, zeta[: target.theta.size], None, state.g)
    drift_and_diffusion(system, state)
    return state.b.copy(), state.diffusion.copy()


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", CASES)
def test_sampler_follows_the_recipe(name, seed):
    sampler, system, model = CASES[name]
    target = target_of(model)
    size = new_state(Recipe(system), target).zeta.size
    zeta = np.random.default_rng(seed).standard_normal(size)
    drift, spread = recipe_at(system, target, zeta)

    def drift_of(h):
        return (advance(sampler, target, zeta, h)[0] - zeta) / (0.5 * h)

    def diffusion_of(h):
        b = noise_map(sampler, target, zeta, h)
        return b @ b.T / h

    scale = np.abs(drift).max()
    np.testing.assert_allclose(extrapolated(drift_of), drift, 0, 1e-10 * scale)
    scale = np.abs(spread).max()
    np.testing.assert_allclose(extrapolated(diffusion_of), spread, 0, 1e-10 * scale)


def test_leimkuhler_matthews_follows_the_recipe():
    """Each normal acts in two steps; together they have the diffusion of SGLD."""
    target, h = target_of(LOGISTIC), 0.3
    phi = np.array([0.3, -1.0, 0.4])
    z = np.concatenate([phi, np.zeros(D)])
    drift, _ = recipe_at(SGLD(), target, phi)
    moved = advance(LeimkuhlerMatthews(), target, z, h)[0][:D]
    np.testing.assert_allclose((moved - phi) / (0.5 * h), drift, rtol=1e-10)
    a, b = linear_map(LeimkuhlerMatthews(), target_of(GAUSSIAN), h)
    total = a[:D, D:] + b[:D]
    np.testing.assert_allclose(total @ total.T / h, np.eye(D), atol=1e-12)


def test_psgld_follows_the_recipe():
    """Gamma is dG/dphi, where v moves by kappa with the square of the gradient."""
    c, h, beta, delta = np.array([0.4, 1.0, 3.0]), 0.2, 0.9, 1e-3
    model = GaussianMean(np.zeros((1, D)), np.diag(c))
    phi = np.array([0.7, -1.2, 0.5])
    a = 1.0 - 0.5 * h * c / (delta + np.sqrt(c))
    kappa = sum((1 - beta) * beta ** (k - 1) * a ** (2 * k) for k in range(1, 400))

    def inverse_metric(x):
        v = c + kappa * ((c * x) ** 2 - (c * phi) ** 2)
        return 1.0 / (delta + np.sqrt(v))

    def central(width):
        return (inverse_metric(phi + width) - inverse_metric(phi - width)) / (2 * width)

    expected = -inverse_metric(phi) * c * phi + extrapolated(central)
    target, sampler = target_of(model), PSGLD(beta, delta)
    moved, _ = advance(sampler, target, phi, h, v=c)
    np.testing.assert_allclose((moved - phi) / (0.5 * h), expected, rtol=1e-10)
    b = noise_map(sampler, target, phi, h, v=c)
    expected = np.diag(inverse_metric(phi))
    np.testing.assert_allclose(b @ b.T / h, expected, rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("sampler", [SGRLD(), DenseSGRLD(), SGRHMC()])
def test_a_metric_is_the_same_in_all_coordinates(sampler):
    """Riemannian Langevin steps do not depend on a constant preconditioner."""
    scale, center = np.array([0.5, 2.0, 1.3]), np.array([0.1, -0.2, 0.3])
    coordinates = Diagonal(center, scale)
    if isinstance(sampler, DenseSGRLD):
        factor = np.triu(np.random.default_rng(1).standard_normal((D, D))) + np.eye(D)
        coordinates = Dense(center, factor)
    theta, h = np.array([0.3, -1.0, 0.4]), 0.3
    rest = np.zeros(D if isinstance(sampler, SGRHMC) else 0)
    if isinstance(sampler, SGRHMC):  # its friction G^-1 depends on the units of theta
        sampler, h = SGRHMC(friction=0.0), 1e-3
    plain, moved = target_of(LOGISTIC), target_of(LOGISTIC, coordinates=coordinates)
    expected, _ = advance(sampler, plain, np.concatenate([theta, rest]), h)
    phi = to_position(coordinates, theta)
    phi, _ = advance(sampler, moved, np.concatenate([phi, rest]), h)
    np.testing.assert_allclose(locate(moved, phi[:D]), expected[:D], rtol=1e-10)
    if isinstance(sampler, DenseSGRLD):
        b = noise_map(sampler, moved, to_position(coordinates, theta), h)
        covariance = coordinates.factor @ b @ b.T @ coordinates.factor.T
        b = noise_map(sampler, plain, theta, h)
        np.testing.assert_allclose(covariance, b @ b.T, rtol=1e-10)


@pytest.mark.parametrize("system", [Thermostat(0.7), DenseMetric(LOGISTIC_FISHER)])
def test_gamma_by_differences(system):
    """The default Gamma agrees with the one in closed form."""
    rng = np.random.default_rng(0)
    zeta = rng.standard_normal(2 * D + 1 if isinstance(system, Thermostat) else D)
    buffers = np.empty((2, zeta.size, zeta.size))
    exact, differences = np.empty(zeta.size), np.empty(zeta.size)
    divergence(system, zeta, *buffers, exact)
    divergence.dispatch(object)(system, zeta, *buffers, differences)
    np.testing.assert_allclose(differences, exact, atol=1e-8)


def test_softmax_metric_by_differences():
    """Metric and divergence of a model with several outputs, intercept and weights."""
    rng = np.random.default_rng(3)
    x, y = rng.standard_normal((6, 2)), np.array([0.0, 1.0, 2.0, 1.0, 0.0, 2.0])
    model = GLM(
        Categorical(),
        x,
        y,
        rng.random(6) + 0.5,
        np.full(3 * x.shape[1] + 3, 0.5),
        True,
        3,
    )
    target = target_of(model)
    state = new_state(DenseSGRLD(), target)
    idx = np.arange(6, dtype=np.int32)
    theta = rng.standard_normal(9)
    factor = rng.standard_normal((9, 9))
    p = factor.T @ factor

    def metric_at(theta):
        metric(target.model, target.work, theta, idx, state.metric)
        return state.metric.copy()

    def slopes(width):
        units = width * np.eye(9)
        return np.array(
            [metric_at(theta + e) - metric_at(theta - e) for e in units]
        ) / (2 * width)

    tensor = extrapolated(slopes)
    out, diagonal, slope = np.empty(9), np.empty(9), np.empty(9)
    metric_divergence(target.model, target.work, theta, idx, factor, out)
    np.testing.assert_allclose(out, np.einsum("jkm,mj->k", tensor, p), atol=1e-9)
    metric_diagonal(target.model, target.work, theta, idx, diagonal, slope)
    np.testing.assert_allclose(diagonal, np.diag(metric_at(theta)))
    np.testing.assert_allclose(slope, np.einsum("jjj->j", tensor), atol=1e-9)


def test_a_system_of_ones_own_is_sampled():
    """Through the same engine as all else, with the law of explicit Euler steps."""
    model, h, eye = gaussian(2), 0.4, np.eye(2)
    mean, precision = posterior(model)
    draws = sample(
        model,
        Recipe(Underdamped(2.0)),
        Minibatch(4),
        step_size=h,
        n_draws=500_000,
        burn_in=1000,
        start=mean,
        random_state=0,
    )[0]
    a = np.block([[eye, 0.5 * h * eye], [-0.5 * h * precision, (1 - h) * eye]])
    law = solve_discrete_lyapunov(a, np.diag([0.0, 0.0, 2.0 * h, 2.0 * h]))
    check_law(draws, mean, law[:2, :2])
