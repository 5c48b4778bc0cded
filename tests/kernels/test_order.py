"""The order of each scheme on the density exp(-theta^4 / 4), and through maps.

There is no Monte Carlo error: a step is a function of the state and of normals. Its
transition operator on functions, by Gauss-Hermite quadrature over the normals and
interpolation between Chebyshev nodes, has the stationary law as its left eigenvector.
"""

import numpy as np
import pytest
from scipy import stats
from scipy.special import gamma

from skbayes_sg.kernels.capabilities.maps import constrain
from skbayes_sg.kernels.maps import (
    AdditiveLogRatio,
    CholeskyCovariance,
    Exp,
    Interval,
    Repeated,
    Softplus,
    StickBreaking,
    Tanh,
)
from skbayes_sg.kernels.models import Transformed
from skbayes_sg.kernels.protocol.sampler import step
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from tests.kernels.constrained import Shapes
from tests.probe import Scripted, new_state, target_of
from tests.targets import Quartic

VARIANCE = 2 * gamma(0.75) / gamma(0.25)


def quartic(d):
    return target_of(Quartic(np.zeros((1, d))))


def normal_rule(n):
    """Return nodes and weights for expectations under N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def chebyshev(n, width, center=0.0):
    """Return n nodes on [center - width, center + width]."""
    return center + width * np.cos(np.pi * (np.arange(n) + 0.5) / n)


def interpolation(nodes, points):
    """Return the matrix from values at Chebyshev nodes to values at points."""
    n, center = nodes.size, 0.5 * (nodes[0] + nodes[-1])
    width = (nodes[0] - center) / np.cos(0.5 * np.pi / n)
    angles = np.arccos(np.clip((points - center) / width, -1.0, 1.0))
    basis = np.cos(np.outer(angles, np.arange(n)))
    transform = np.cos(np.outer(np.arange(n), np.pi * (np.arange(n) + 0.5) / n))
    transform *= 2.0 / n
    transform[0] *= 0.5
    return basis @ transform


def stationary_weights(operator):
    """Return the left eigenvector of eigenvalue 1, of sum 1."""
    system = operator.T - np.eye(len(operator))
    system[0] = 1.0  # one equation too many, and a sum to fix
    return np.linalg.solve(system, np.eye(len(operator))[0])


def overdamped_moment(
    sampler, h, target_on, moment, low=-5.0, high=5.0, n=80, n_normals=40
):
    """Return E moment(theta) under the stationary law of SGLD or Leimkuhler-Matthews.

    The latter is a Markov chain in theta - sqrt(h)/2 xi, xi its last normal.
    ``target_on(d)`` is the target of d independent copies of theta.
    """
    x = chebyshev(n, 0.5 * (high - low), 0.5 * (high + low))
    xi, w = normal_rule(n_normals)
    shift = 0.5 * np.sqrt(h) if isinstance(sampler, LeimkuhlerMatthews) else 0.0
    start = (x[:, None] + shift * xi).ravel()
    target = target_on(start.size)
    normals = np.tile(xi, n)
    fields, script = {"position": start}, normals
    if shift:
        fields["old"], script = normals, np.zeros_like(normals)
    state = new_state(sampler, target, **fields)
    step(sampler, state, target, h, Scripted(script))
    operator = interpolation(x, state.position).reshape(n, n_normals, n)
    weights = stationary_weights(np.einsum("q,iqj->ij", w, operator))
    return weights @ (moment(start).reshape(n, n_normals) @ w)


def overdamped_variance(sampler, h):
    """Return E theta^2 of the quartic density."""
    return overdamped_moment(sampler, h, quartic, np.square)


def underdamped_variance(sampler, h, n=32, n_momentum=22, n_normals=16):
    """Return E theta^2 under the stationary law of BAOAB or SGHMC with one step."""
    x, rho = chebyshev(n, 3.6), chebyshev(n_momentum, 5.5)
    xi, w = normal_rule(n_normals)
    grid = np.meshgrid(x, rho, xi, indexing="ij")
    position, momentum, normals = (axis.ravel() for axis in grid)
    target = quartic(position.size)
    state = new_state(sampler, target, position=position, momentum=momentum)
    step(sampler, state, target, h, Scripted(normals))
    size = n * n_momentum
    first = interpolation(x, state.position).reshape(size, n_normals, n)
    second = interpolation(rho, state.momentum).reshape(size, n_normals, n_momentum)
    operator = np.einsum("q,iqj,iqk->ijk", w, first, second, optimize=True)
    weights = stationary_weights(operator.reshape(size, size))
    return weights.reshape(n, n_momentum).sum(axis=1) @ x**2


CASES = {
    "sgld": (SGLD(), overdamped_variance, 0.1, 1),
    "leimkuhler-matthews": (LeimkuhlerMatthews(), overdamped_variance, 0.1, 2),
    "baoab": (BAOAB(1.0), underdamped_variance, 0.4, 2),
    "sghmc": (SGHMC(1.0, 1), underdamped_variance, 0.4, 2),
}


@pytest.mark.parametrize("name", CASES)
def test_order_of_the_bias(name):
    """The slope of log bias against log h."""
    sampler, variance, h, order = CASES[name]
    biases = [abs(variance(sampler, k * h) / VARIANCE - 1.0) for k in (0.5, 1.0)]
    slope = np.log2(biases[1] / biases[0])
    assert biases[0] > 1e-5
    assert slope >= 1.7 if order == 2 else slope <= 1.4


@pytest.mark.parametrize(("sampler", "order"), [(SGNHT(0.5), 1), (BADODAB(0.5), 2)])
def test_order_of_thermostats(sampler, order):
    """How far one step leaves exp(-H): by h^(order + 1)."""
    theta = np.linspace(-3.2, 3.2, 20)
    w_theta = np.exp(-(theta**4) / 4)
    (rho, w_rho), (eta, w_eta), (xi, w_xi) = (normal_rule(n) for n in (6, 6, 6))
    weights = np.einsum("a,b,c,d->abcd", w_theta / w_theta.sum(), w_rho, w_eta, w_xi)
    grid = np.meshgrid(theta, rho, 0.5 + eta, xi, indexing="ij")
    points = np.stack([axis.ravel() for axis in grid], axis=1)
    target = quartic(1)

    def defect(h):
        moved = np.empty((len(points), 3))
        for row, (a, b, c, normal) in zip(moved, points, strict=True):
            # The scheme's whole kick is two half kicks around a recorded position.
            half = 0.25 * h if isinstance(sampler, BADODAB) else 0.0
            fields = {"position": a, "momentum": b + half * a**3, "thermostat": c}
            state = new_state(sampler, target, **fields)
            step(sampler, state, target, h, Scripted([normal]))
            row[0] = state.position[0]
            row[1] = state.momentum[0] - half * state.position[0] ** 3
            row[2] = state.thermostat[0]
        change = moved**2 - points[:, :3] ** 2
        return np.abs(weights.ravel() @ change).max()

    defects = [defect(0.2), defect(0.4)]
    slope = np.log2(defects[1] / defects[0]) - 1.0
    assert slope >= 1.7 if order == 2 else slope <= 1.4


# Through maps: laws of constrained numbers, with shapes a, b and rate c of `Shapes` for
# the numbers of one copy, the range of its free number, and a step size.
GAMMA = (3.0, 1.0, 2.0), stats.gamma(3.0, scale=0.5)
BETA = (2.0, 3.0, 0.0), stats.beta(2.0, 3.0)
WIDE = (1.0, 4.0, 0.0), stats.beta(1.0, 4.0, loc=-1.0, scale=2.0)
PAIR = ([2.0, 3.0], [1.0, 1.0], [0.0, 0.0]), stats.beta(2.0, 3.0)
MAPS = {
    "exp": (Exp, *GAMMA, -5.0, 2.2, 0.2),
    "softplus": (Softplus, *GAMMA, -5.0, 11.0, 0.8),
    "interval": (lambda d: Interval(np.zeros(d), np.ones(d)), *BETA, -7.0, 6.0, 0.8),
    "tanh": (
        Tanh,
        (1.0, 4.0, 0.0),
        stats.beta(1.0, 4.0, loc=-1.0, scale=2.0),
        -7.0,
        2.5,
        0.2,
    ),
    "log ratio": (lambda d: Repeated(AdditiveLogRatio(2), d), *PAIR, -7.0, 6.0, 0.8),
    "stick breaking": (lambda d: Repeated(StickBreaking(2), d), *PAIR, -7.0, 6.0, 0.8),
    "covariance": (
        lambda d: Repeated(CholeskyCovariance(1), d),
        *GAMMA,
        -2.5,
        1.1,
        0.05,
    ),
}


def mapped_square(name, sampler, h):
    """Return the mean square of the first constrained number."""
    make, shapes, _, low, high, _ = MAPS[name]

    def target_on(d):
        parts = [np.tile(np.atleast_1d(x), d) for x in shapes]
        return target_of(Transformed(Shapes(*parts), make(d)))

    def moment(u):
        x = np.empty(u.size * np.size(shapes[0]))
        constrain(make(u.size), u, x)
        return x[:: np.size(shapes[0])] ** 2

    return overdamped_moment(sampler, h, target_on, moment, low, high, 110, 20)


@pytest.mark.parametrize(("sampler", "order"), [(SGLD(), 1), (LeimkuhlerMatthews(), 2)])
@pytest.mark.parametrize("name", MAPS)
def test_order_through_maps(name, sampler, order, uncompiled):
    """Errors of E x^2 at h and h / 2."""
    exact, h = MAPS[name][2].moment(2), MAPS[name][5] / 4 ** (2 - order)
    biases = [mapped_square(name, sampler, k * h) - exact for k in (0.5, 1.0)]
    slope = np.log2(biases[1] / biases[0])
    assert 1e-5 < abs(biases[0]) / exact < 0.01
    assert 0.9 < slope < 1.15 if order == 1 else 1.9 < slope < 2.8
