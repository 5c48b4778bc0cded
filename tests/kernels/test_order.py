"""The order of each scheme on the density exp(-theta^4 / 4), without Monte Carlo error.

A step is a function of the state and of normals. Its transition operator on functions,
by Gauss-Hermite quadrature over the normals and interpolation between Chebyshev nodes,
has the stationary law as its left eigenvector.
"""

import numpy as np
import pytest
from scipy.special import gamma

from skbayes_sg.kernels.protocol.sampler import step
from skbayes_sg.kernels.samplers import (
    BADODAB,
    BAOAB,
    SGHMC,
    SGLD,
    SGNHT,
    LeimkuhlerMatthews,
)
from tests.probe import Scripted, new_state, target_of
from tests.targets import Quartic

VARIANCE = 2 * gamma(0.75) / gamma(0.25)


def quartic(d):
    return target_of(Quartic(np.zeros((1, d))))


def normal_rule(n):
    """Return nodes and weights for expectations under N(0, 1)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(n)
    return nodes, weights / weights.sum()


def chebyshev(n, width):
    """Return n nodes on [-width, width]."""
    return width * np.cos(np.pi * (np.arange(n) + 0.5) / n)


def interpolation(nodes, points):
    """Return the matrix from values at Chebyshev nodes to values at points."""
    n, width = nodes.size, nodes[0] / np.cos(0.5 * np.pi / nodes.size)
    angles = np.arccos(np.clip(points / width, -1.0, 1.0))
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


def overdamped_variance(sampler, h, n=80, n_normals=40):
    """Return E theta^2 under the stationary law of SGLD or Leimkuhler-Matthews.

    The latter is a Markov chain in theta - sqrt(h)/2 xi, xi its last normal.
    """
    x, (xi, w) = chebyshev(n, 5.0), normal_rule(n_normals)
    shift = 0.5 * np.sqrt(h) if isinstance(sampler, LeimkuhlerMatthews) else 0.0
    start = (x[:, None] + shift * xi).ravel()
    target = quartic(start.size)
    normals = np.tile(xi, n)
    fields, script = {"position": start}, normals
    if shift:
        fields["old"], script = normals, np.zeros_like(normals)
    state = new_state(sampler, target, **fields)
    step(sampler, state, target, h, Scripted(script))
    operator = interpolation(x, state.position).reshape(n, n_normals, n)
    weights = stationary_weights(np.einsum("q,iqj->ij", w, operator))
    return weights @ x**2 + shift**2


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
