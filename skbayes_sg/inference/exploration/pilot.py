"""Typical draws of a posterior, and how steep its log density is where they are.

The Gaussian approximation at the mode serves where the score of its own draws is that
of a Gaussian. Elsewhere the posterior is skewed, and three short Hamiltonian chains
replace it. They accept or reject each proposal, so their draws are those of the
posterior whatever the step. After each chain the coordinates are whitened anew by the
mean Hessian at the draws: the Hessian at the mode of a skewed posterior may be many
times too flat or too steep for the places at which a chain spends its time.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh
from scipy.special import ndtri

from skbayes_sg.inference.curvature import (
    curvature_matrix,
    mean_curvature_matrix,
    whitening,
)
from skbayes_sg.inference.exploration.region import Region, region_of
from skbayes_sg.kernels.generic import for_kernels, implements
from skbayes_sg.kernels.passes import log_posterior, mean_hessian
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
    thinned,
)

PILOT_DRAWS = 128
PROBES = 16  # draws of the Gaussian at which the score is compared with a Gaussian's
ENOUGH_ROWS, ROWS_PER_PARAMETER = 2**16, 512  # for these draws
MAX_COPIED = 2**22  # numbers of a copy of so many rows
SKEWED = 0.3  # difference of the scores from which the Gaussian does not serve
BENT = 1.5  # mean curvature over that at the mode: not even roughly a Gaussian
WARMUP = 32  # trajectories of each of the first chains
MAX_CHAINS = 12
MEMORY = 0.75  # weight of the Hessians of earlier chains
MANY = 64  # draws over which Hessians are averaged where that costs little
FEW_NUMBERS = 2e5  # rows times parameters up to which chains may be longer
MAX_EIGENVALUES = 512  # parameters up to which all eigenvalues are computed
ACCEPTANCE = 0.8
TURN = 1.5  # leapfrog steps make up to such an angle, a quarter of a full turn
MAX_LEAPFROG = 16


class Pilot(NamedTuple):
    """Where a chain will be: typical draws, coordinates for them, and steepness."""

    draws: np.ndarray  # (PILOT_DRAWS, d)
    region: Region
    steepness: float  # largest curvature at a draw, over the largest mean curvature
    bend: float  # largest mean curvature there, over that at the mode
    leapfrog: float = math.inf  # step of trajectories that are mostly accepted

    @property
    def is_exact(self):
        """Whether the draws are those of chains, since the Gaussian does not serve."""
        return self.bend != 1.0

    @property
    def is_skewed(self):
        """Whether the rows' gradients are far from linear where the draws are."""
        return self.bend > BENT

    def spread(self, count):
        """Return `count` of the draws, far apart in their order."""
        return self.draws[self._apart(count)]

    def parted(self, count):
        """Return `count` of the draws, far apart in their order, and the others."""
        chosen = self._apart(count)
        return self.draws[chosen], np.delete(self.draws, chosen, axis=0)

    def _apart(self, count):
        return np.linspace(0, len(self.draws) - 1, count).astype(int)


def pilot(model, region, seed):
    """Return typical draws around `region`, and the region as these draws see it.

    Without the whole Hessian the Gaussian has to serve.
    """
    rng = np.random.default_rng(seed)
    d, factor = region.mode.size, region.factor
    z = rng.standard_normal((PILOT_DRAWS, d))
    if factor.ndim < 2:
        return Pilot(region.mode + z * factor, region, 1.0, 1.0)
    density = whitened_density(_fewer_rows(model), region.mode, factor)
    if difference_of_scores(density, d, rng) <= SKEWED:
        return Pilot(region.mode + z @ factor.T, region, 1.0, 1.0)
    return _exact_pilot(model, region, rng)


def _fewer_rows(model):
    """Return the model on some of its rows, enough to see how skewed it is."""
    d = n_parameters(model)
    enough = max(ENOUGH_ROWS, ROWS_PER_PARAMETER * d)
    every = n_rows(model) // enough
    if every < 2 or enough * d > MAX_COPIED or not implements(thinned, model):
        return model  # whose rows are read in parts
    return for_kernels(thinned(model, every))


def difference_of_scores(density, d, rng):
    """Return how much the score at Gaussian draws differs from a Gaussian's.

    The largest root mean square over all coordinates, in posterior standard deviations.
    A difference that all draws have in common only moves the center. The draws are a
    Latin hypercube: each coordinate takes small and large values of both signs.
    """
    levels = ndtri((np.arange(PROBES) + 0.5) / PROBES)
    z = rng.permuted(np.tile(levels, (d, 1)), axis=1).T
    with np.errstate(over="ignore", invalid="ignore"):
        difference = np.array([density(u)[1] + u for u in z])
        size = difference.std(axis=0).max()
    return size if np.isfinite(size) else np.inf


def whitened_density(model, center, factor):
    """Return a function of z: log p and its gradient at center + F z."""
    dtype, work = parameter_dtype(model), init_work(model)
    g = np.empty(center.size, dtype)

    def density(z):
        theta = center + factor @ z
        value = log_posterior(model, work, theta.astype(dtype), g)
        return value, factor.T @ g.astype(np.float64)

    return density


def _exact_pilot(model, region, rng):
    """Return the draws of the last of several Hamiltonian chains.

    The first ones find the way from the mode, until the log density stays at its level.
    """
    mode, dtype = region.mode, parameter_dtype(model)
    n_hessians, each = 16, 1
    if max(n_rows(model), mode.size) * mode.size <= FEW_NUMBERS:
        n_hessians, each = 256, 4
    # Means of many Hessians cost little where a model has a pass for them.
    n_averaged = (
        max(n_hessians, MANY) if implements(mean_hessian, model) else n_hessians
    )

    def chain(theta, factor, n_trajectories, step):
        density = whitened_density(model, theta, factor)
        z, values, step = hamiltonian_chain(
            density, mode.size, n_trajectories, rng, step
        )
        return theta + z @ factor.T, values, step

    def chosen(draws, count):
        count = min(count, len(draws))
        return draws[np.linspace(0, len(draws) - 1, count).astype(int)]

    last, factor, step, level, mean = mode, region.factor, 0.5, np.inf, None
    for _ in range(MAX_CHAINS):
        draws, values, step = chain(last, factor, each * WARMUP, step)
        late = slice(len(draws) // 2, None)
        some = chosen(draws[late], min(n_averaged // 2, WARMUP))
        fresh = mean_curvature_matrix(model, some)
        mean = fresh if mean is None else MEMORY * mean + (1 - MEMORY) * fresh
        last, factor = draws[-1], whitening(mean)
        fall = level - values[late].mean()
        level = values[late].mean()
        if abs(fall) < values[late].std():
            break
    draws, _, step = chain(last, factor, each * PILOT_DRAWS, step)
    # Whitened by some Hessians, others have larger eigenvalues than the same ones.
    fresh = mean_curvature_matrix(model, chosen(draws[::2], n_averaged))
    mean = 0.5 * mean + 0.5 * fresh
    others = chosen(draws[1::2], n_hessians)
    draws = draws[each - 1 :: each]
    found = region_of(mode, mean, region.preconditioner, dtype).seen_by(draws)
    matrices = (curvature_matrix(model, theta) for theta in others)
    largest = rare_value([_largest_eigenvalue(one, found.unit) for one in matrices])
    bend = _largest_eigenvalue(mean, region.factor)
    return Pilot(draws, found, max(1.0, largest / found.largest), bend, step)


def _largest_eigenvalue(matrix, unit):
    """Return the largest eigenvalue of L' H L."""
    d = len(matrix)
    if d <= MAX_EIGENVALUES:
        # Asked for this one alone, LAPACK fails where others are equal up to rounding.
        return np.linalg.eigvalsh(unit.T @ matrix @ unit)[-1]
    product = LinearOperator((d, d), lambda v: unit.T @ (matrix @ (unit @ v)))
    start = np.random.default_rng(0).standard_normal(d)
    return eigsh(product, 1, which="LA", v0=start, tol=1e-3, return_eigenvectors=False)[
        0
    ]


def rare_value(values):
    """Return the value that one in a thousand exceeds, by the tail of the largest.

    The tail may be heavy, exponential or bounded: its shape is estimated from the first
    two moments of the logarithms (Dekkers, Einmahl & de Haan, 1989). The answer is at
    least the largest value, which has to serve where values are few.
    """
    values = np.sort(values)
    k = len(values) // 5
    if k < 10 or values[-k - 1] <= 0.0:
        return values[-1]
    start = values[-k - 1]
    logs = np.log(values[-k:] / start)
    first, second = logs.mean(), np.mean(logs**2)
    if not second > (1.0 + 1e-9) * first**2:  # all alike
        return values[-1]
    bounded = 1.0 - 0.5 / (1.0 - first**2 / second)
    shape, times = first + bounded, math.log(1e3 * k / len(values))
    growth = math.expm1(shape * times) / shape if shape else times
    return max(values[-1], start * (1.0 + first * (1.0 - bounded) * growth))


def hamiltonian_chain(density, d, n_trajectories, rng, step):
    """Return the states of an adaptive HMC chain from zero, and its last step size.

    Parameters
    ----------
    density : callable
        Returns log p and its gradient, (d,).
    d, n_trajectories : int
        Dimension, and number of states to return.
    rng : numpy.random.Generator
        Source of randomness.
    step : float
        Leapfrog step to begin with. It is adapted in the first half of the chain.

    Returns
    -------
    states : ndarray of shape (n_trajectories, d)
        The state after each trajectory.
    values : ndarray of shape (n_trajectories,)
        log p there.
    step : float
        The adapted step.
    """
    z, (value, g) = np.zeros(d), density(np.zeros(d))
    states, values = np.empty((n_trajectories, d)), np.empty(n_trajectories)
    for t in range(n_trajectories):
        eps = step * rng.uniform(0.8, 1.2)
        n_leapfrog = rng.integers(1, 1 + min(MAX_LEAPFROG, math.ceil(TURN / step)))
        rho = rng.standard_normal(d)
        new, new_value, new_g, energy = z, value, g, value - 0.5 * rho @ rho
        with np.errstate(over="ignore", invalid="ignore"):
            for _ in range(n_leapfrog):
                rho = rho + 0.5 * eps * new_g
                new = new + eps * rho
                new_value, new_g = density(new)
                rho = rho + 0.5 * eps * new_g
            change = new_value - 0.5 * rho @ rho - energy
        acceptance = math.exp(min(0.0, change)) if np.isfinite(change) else 0.0
        if rng.random() < acceptance:
            z, value, g = new, new_value, new_g
        if 2 * t < n_trajectories:  # Robbins-Monro
            step *= math.exp(2.0 * (acceptance - ACCEPTANCE) / math.sqrt(t + 4))
            step = min(step, TURN)
        states[t], values[t] = z, value
    return states, values, step
