"""The complete recipe (Ma, Chen & Fox, 2015): every sampler is a choice of D and Q.

    zeta <- zeta + h/2 b(zeta) + sqrt(h) N(0, D),    zeta = (phi, auxiliary variables)
    b = -(D + Q) grad H + Gamma,    Gamma_i = sum_j d_j (D_ij + Q_ij)

For any positive semidefinite D(zeta) and skew-symmetric Q(zeta), exp(-H) is stationary
in the limit of small h. To define a sampler, write a NamedTuple, register `diffusion`
and all other operations below whose defaults do not apply, and sample with
``Recipe(YourSystem())``.

With noise correction, the noise is N(0, D - h B), where B = (D + Q) V (D + Q)' / 4.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper, kernel_op, python_op
from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    init_state,
    relaxation,
    sees_model,
    stable_step,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at
from skbayes_sg.kernels.samplers.sgld import SGLD


@kernel_op
def diffusion(system, zeta, out):
    """Write D(zeta), symmetric and positive semidefinite, to (m, m) `out`."""
    raise NotImplementedError


@kernel_op
def curl(system, zeta, out):
    """Write the skew-symmetric Q(zeta) to (m, m) `out`; zero by default."""
    out[:] = 0.0


@kernel_op
def energy_gradient(system, zeta, g, out):
    """Write grad H(zeta) to `out`, given the gradient g of the log density at phi.

    By default H = U(phi) + half the sum of the squared auxiliary variables.
    """
    for j in range(zeta.size):
        out[j] = -g[j] if j < g.size else zeta[j]


@kernel_op
def divergence(system, zeta, first, second, out):
    """Write Gamma(zeta) to `out`; `first` and `second` are (m, m) buffers.

    The default uses central differences of D + Q, with 2 m evaluations of both.
    """
    out[:] = 0.0
    for j in range(zeta.size):
        here = zeta[j]
        width = 1e-5 * (1.0 + abs(here))
        for sign in (-1.0, 1.0):
            zeta[j] = here + sign * width
            diffusion(system, zeta, first)
            curl(system, zeta, second)
            for i in range(zeta.size):
                out[i] += sign * (first[i, j] + second[i, j]) / (2.0 * width)
        zeta[j] = here


@python_op
def init_auxiliary(system, position, rng):
    """Return the auxiliary variables that a chain starts with; none by default."""
    return np.empty(0, position.dtype)


@diffusion.register(SGLD)
def _(system, zeta, out):
    out[:] = 0.0
    for j in range(zeta.size):
        out[j, j] = 1.0


@divergence.register(SGLD)
def _(system, zeta, first, second, out):
    out[:] = 0.0


class Recipe(NamedTuple):
    """Euler steps of the diffusion defined by a system's D, Q and H."""

    system: NamedTuple = SGLD()  # D = I, Q = 0


class RecipeState(NamedTuple):
    """Position, auxiliary variables and buffers."""

    position: np.ndarray  # (d,) phi
    auxiliary: np.ndarray  # (m - d,)
    g: np.ndarray  # (d,)
    zeta: np.ndarray  # (m,)
    slope: np.ndarray  # (m,) grad H
    b: np.ndarray  # (m,) drift
    xi: np.ndarray  # (m,)
    diffusion: np.ndarray  # (m, m) D
    total: np.ndarray  # (m, m) D + Q
    root: np.ndarray  # (m, m) of the noise covariance


@sees_model.register(Recipe)
def _(sampler):
    return False


@init_state.register(Recipe)
def _(sampler, position, rng):
    auxiliary = init_auxiliary(sampler.system, position, rng).astype(position.dtype)
    m, dtype = position.size + auxiliary.size, position.dtype
    vectors = [np.zeros(m, dtype) for _ in range(4)]
    matrices = [np.zeros((m, m), dtype) for _ in range(3)]
    g = np.zeros_like(position)
    return RecipeState(position.copy(), auxiliary, g, *vectors, *matrices)


@step.register(Recipe)
def _(sampler, state, target, h, rng):
    zeta, d, m = state.zeta, state.position.size, state.zeta.size
    copy_to(state.position, zeta[:d])
    copy_to(state.auxiliary, zeta[d:])
    gradient_at(target, state.position, rng, state.g)
    drift_and_diffusion(sampler.system, state)
    for i in range(m):
        for j in range(i + 1):
            total = h * state.diffusion[i, j]
            for k in range(d):
                noise = 0.25 * h * h * target.noise.removed[k]
                total -= state.total[i, k] * noise * state.total[j, k]
            state.root[i, j] = total
    _semidefinite_root(state.root)
    fill_normals(rng, state.xi)
    for i in range(m):
        change = 0.5 * h * state.b[i]
        for j in range(i + 1):
            change += state.root[i, j] * state.xi[j]
        if i < d:
            state.position[i] += change
        else:
            state.auxiliary[i - d] += change


@helper
def drift_and_diffusion(system, state):
    """Write b, D and D + Q at ``state.zeta`` to the state."""
    zeta, b, total = state.zeta, state.b, state.total
    divergence(system, zeta, state.diffusion, total, b)
    energy_gradient(system, zeta, state.g, state.slope)
    diffusion(system, zeta, state.diffusion)
    curl(system, zeta, total)
    for i in range(zeta.size):
        for j in range(zeta.size):
            total[i, j] += state.diffusion[i, j]
            b[i] -= total[i, j] * state.slope[j]


@helper
def _semidefinite_root(a):
    """Replace the lower triangle of `a` by R, where a = R R'.

    If `a` is not positive semidefinite, because the noise correction is larger than the
    noise itself, negative pivots are replaced by zero.
    """
    for j in range(len(a)):
        pivot = a[j, j]
        for k in range(j):
            pivot -= a[j, k] * a[j, k]
        root = np.sqrt(pivot) if pivot > 1e-12 * abs(a[j, j]) else 0.0
        for i in range(j + 1, len(a)):
            total = a[i, j]
            for k in range(j):
                total -= a[i, k] * a[j, k]
            a[i, j] = total / root if root > 0.0 else 0.0
        a[j, j] = root


@stable_step.register(Recipe)
def _(sampler):
    return stable_step(sampler.system)


@accurate_step.register(Recipe)
def _(sampler, noise, tolerance):
    return accurate_step(sampler.system, noise, tolerance)


@relaxation.register(Recipe)
def _(sampler, h):
    return relaxation(sampler.system, h)
