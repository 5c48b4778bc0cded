"""Preconditioned SGLD with the metric of RMSprop (Li et al., 2016).

    phi <- phi + h/2 (G g + Gamma) + sqrt(h G) xi,    G = 1 / (delta + sqrt(v))
    v   <- beta v + (1 - beta) g^2

G depends on the position through the average v, so the stationary distribution is wrong
without Gamma. Gamma depends on how strongly v depends on the present position. If the
curvature is c, g^2 at lag k has correlation a^2k with the present one, where
a = 1 - h G c / 2, and

    d v / d phi = 2 kappa g dg/dphi = -2 kappa c g,
    kappa = sum_k (1 - beta) beta^(k-1) a^2k = (1 - beta) a^2 / (1 - beta a^2),
    Gamma = dG/dv dv/dphi = kappa c G^2 g / sqrt(v).

Under the posterior E g^2 = c + V, where V is the variance of the gradient estimate, so
that c = v - V. Without Gamma, or with kappa = 1 - beta, which ignores the lags k > 1,
variances are too large by about kappa.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.numerics.normals import fill_normals
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    curvature_exponent,
    init_state,
    relaxation,
    sees_model,
    stable_step,
    step,
)
from skbayes_sg.kernels.protocol.target import gradient_at, noise_sd
from skbayes_sg.kernels.samplers.sgld import SGLD


class PSGLD(NamedTuple):
    """SGLD in units of each coordinate's root mean square gradient."""

    decay: float = 0.99  # beta
    damping: float = 1e-5  # delta


class RootMeanSquareState(NamedTuple):
    """Position, average of squared gradients and buffers."""

    position: np.ndarray  # (d,) phi
    v: np.ndarray  # (d,)
    n_steps: np.ndarray  # (1,) so far
    g: np.ndarray  # (d,)
    xi: np.ndarray  # (d,)


@sees_model.register(PSGLD)
def _(sampler):
    return False


@init_state.register(PSGLD)
def _(sampler, position, rng):
    # v starts at 1, because the first gradients at a mode do not reveal their scale.
    g, xi = np.zeros_like(position), np.zeros_like(position)
    return RootMeanSquareState(
        position.copy(), np.ones_like(position), np.zeros(1), g, xi
    )


@step.register(PSGLD)
def _(sampler, state, target, h, rng):
    phi, v, g, xi = state.position, state.v, state.g, state.xi
    beta = sampler.decay
    gradient_at(target, phi, rng, g)
    fill_normals(rng, xi)
    state.n_steps[0] += 1.0
    # Initially a plain mean, so that v does not depend on its first value for long.
    weight = max(1.0 - beta, 1.0 / (1.0 + state.n_steps[0]))
    for j in range(phi.size):
        root = math.sqrt(v[j])
        metric = 1.0 / (sampler.damping + root)
        c = max(v[j] - target.noise.variance[j], 0.0)
        a = max(1.0 - 0.5 * h * metric * c, 0.0)
        kappa = (1.0 - beta) * a * a / (1.0 - beta * a * a)
        gamma = kappa * c * metric * metric * g[j] / max(root, 1e-30)
        sd = noise_sd(target, j, h * metric, 0.5 * h * metric)
        phi[j] += 0.5 * h * (metric * g[j] + gamma) + sd * xi[j]
        v[j] += weight * (g[j] * g[j] - v[j])


@stable_step.register(PSGLD)
def _(sampler):
    return 4.0 * _scale(sampler, 0.0)


@accurate_step.register(PSGLD)
def _(sampler, noise, tolerance):
    return _scale(sampler, noise) * accurate_step(SGLD(), noise, tolerance)


@curvature_exponent.register(PSGLD)
def _(sampler):
    return 0.5  # v is about the curvature, and the metric its root


@relaxation.register(PSGLD)
def _(sampler, h):
    return relaxation(SGLD(), h / _scale(sampler, 0.0))


def _scale(sampler, noise):
    """Return a typical 1 / G for curvature 1, where v is about 1 + V."""
    return sampler.damping + math.sqrt(1.0 + np.max(noise))
