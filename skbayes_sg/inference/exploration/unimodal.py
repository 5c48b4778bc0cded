"""Settings that nobody should have to choose: coordinates, minibatch size, step size.

All follow from three facts about the posterior at its mode: its curvature, the variance
of the gradient estimates, and the law of the sampler's own step (`accurate_step`).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh
from scipy.optimize import bisect

from skbayes_sg.inference.curvature import (
    curvature_diagonal,
    curvature_matrix,
    largest_curvature,
    whitening,
)
from skbayes_sg.kernels.coordinates import Dense, Diagonal, Identity
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.coordinates import pull_back_rows
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import init_work, parameter_dtype
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    curvature_exponent,
    relaxation,
    stable_step,
    with_noise_absorbed,
)

TOLERANCE = 0.02  # relative error of a posterior variance that a step may cause
# Larger errors for short chains, in which the draws' own scatter is larger still.
TOLERANCES = TOLERANCE * 2.0 ** np.arange(0, 6, 0.125)
MAX_DENSE = 1024  # parameters up to which the whole Hessian is used
PILOT_DRAWS = 128
PILOT_STEPS = 400  # of the chain that finds typical draws of a skewed posterior
SKEWED = 1.5  # relative steepness from which a Gaussian does not serve as a pilot
MAX_BURN_IN = 10_000
MAX_THIN = 100


class Geometry(NamedTuple):
    """The posterior around its mode, as a sampler in `coordinates` meets it."""

    mode: np.ndarray  # (d,)
    coordinates: NamedTuple
    smallest: float  # curvatures of -log p in the sampler's coordinates
    largest: float
    curvatures: np.ndarray  # (d,) diagonal of the same Hessian
    theta_sd: np.ndarray  # (d,) rough posterior sds of the parameters
    factor: np.ndarray  # (d,) or (d, d): F z is a rough draw of theta - mode
    temperature: float = 1.0

    def heated(self, temperature):
        """Return the geometry of p^(1 / temperature), in the same coordinates."""
        spread = math.sqrt(temperature)
        return self._replace(
            smallest=self.smallest / temperature,
            largest=self.largest / temperature,
            curvatures=self.curvatures / temperature,
            theta_sd=self.theta_sd * spread,
            factor=self.factor * spread,
            temperature=self.temperature * temperature,
        )


class Pilot(NamedTuple):
    """Where a chain will be: draws to measure at, and how steep -log p is there."""

    draws: np.ndarray  # (PILOT_DRAWS, d)
    steepness: float  # curvature over that at the mode; 1 for a Gaussian

    @property
    def is_skewed(self):
        """Whether the posterior is far from Gaussian where the draws are."""
        return self.steepness > SKEWED

    def spread(self, count):
        """Return `count` of the draws, far apart in their order."""
        return self.draws[self._apart(count)]

    def parted(self, count):
        """Return `count` of the draws, far apart in their order, and the others."""
        chosen = self._apart(count)
        return self.draws[chosen], np.delete(self.draws, chosen, axis=0)

    def _apart(self, count):
        return np.linspace(0, len(self.draws) - 1, count).astype(int)


def geometry(model, mode, preconditioner="auto"):
    """Measure the posterior at `mode` and choose coordinates.

    `preconditioner` is "dense" (whitened by the Hessian), "diagonal" (scaled by its
    diagonal), "none", or "auto": dense up to `MAX_DENSE` parameters.
    """
    model, d, dtype = for_kernels(model), mode.size, parameter_dtype(model)
    if preconditioner == "auto":
        preconditioner = "dense" if d <= MAX_DENSE else "diagonal"
    whole = d <= MAX_DENSE or preconditioner == "dense"
    if whole:
        matrix = curvature_matrix(model, mode)
        diagonal, factor = np.diag(matrix), whitening(matrix)
        theta_sd = np.sqrt((factor**2).sum(axis=1))
    else:
        diagonal = curvature_diagonal(model, mode)
        theta_sd = factor = 1.0 / np.sqrt(diagonal)
    if preconditioner == "dense":
        coordinates = Dense(mode.astype(dtype), factor.astype(dtype))
        return Geometry(mode, coordinates, 1.0, 1.0, np.ones(d), theta_sd, factor)
    if preconditioner == "diagonal":
        unit = 1.0 / np.sqrt(diagonal)
        coordinates = Diagonal(mode.astype(dtype), unit.astype(dtype))
    else:
        unit, coordinates = np.ones(d), Identity()
    curvatures = unit**2 * diagonal
    if whole:
        values = eigvalsh(matrix * np.outer(unit, unit))
        smallest, largest = max(values[0], 1e-12 * values[-1]), values[-1]
    else:
        largest = largest_curvature(model, mode, unit)
        smallest = curvatures.min()
    return Geometry(mode, coordinates, smallest, largest, curvatures, theta_sd, factor)


def pilot(model, where, seed):
    """Return typical draws, rough ones, and the steepness of -log p there.

    The draws of the Gaussian approximation at the mode, unless -log p is much steeper
    at them than a Gaussian is: many parameters that few rows speak of make a posterior
    so skewed that they are all improbable. A short Metropolis-adjusted Langevin chain
    in the whitened coordinates then finds others. Without the whole Hessian the
    Gaussian has to serve.
    """
    rng = np.random.default_rng(seed)
    factor, d = where.factor, where.mode.size
    z = rng.standard_normal((PILOT_DRAWS, d))
    if factor.ndim < 2:
        return Pilot(where.mode + z * factor, 1.0)
    density = _whitened_density(model, where)
    norms = [np.linalg.norm(density(u)[1]) / np.linalg.norm(u) for u in z[:16]]
    steepness = max(1.0, *norms)
    if steepness > SKEWED:
        z = _langevin_chain(density, d, rng)[-2 * PILOT_DRAWS :: 2]
        some = where.mode + z[:: PILOT_DRAWS // 16] @ factor.T
        mean = np.mean([curvature_matrix(model, theta) for theta in some], axis=0)
        relative = factor.T @ mean @ factor / where.temperature
        steepness = max(1.0, eigvalsh(relative)[-1])
    return Pilot(where.mode + z @ factor.T, steepness)


def _whitened_density(model, where):
    """Return a function of z: log p and its gradient at mode + F z."""
    dtype, work = parameter_dtype(model), init_work(model)
    g = np.empty(where.mode.size, dtype)

    def density(z):
        theta = where.mode + where.factor @ z
        value = log_posterior(model, work, theta.astype(dtype), g)
        pulled = where.factor.T @ g.astype(np.float64)
        return value / where.temperature, pulled / where.temperature

    return density


def _langevin_chain(density, d, rng):
    """Return the states of an adaptive MALA chain from zero, (PILOT_STEPS, d)."""
    z, (value, g) = np.zeros(d), density(np.zeros(d))
    h, states = d ** (-1 / 3), np.empty((PILOT_STEPS, d))
    for t in range(PILOT_STEPS):
        xi = rng.standard_normal(d)
        new = z + 0.5 * h * g + math.sqrt(h) * xi
        new_value, new_g = density(new)
        back = (z - new - 0.5 * h * new_g) / math.sqrt(h)
        log_ratio = new_value - value + 0.5 * (xi @ xi - back @ back)
        acceptance = math.exp(min(0.0, log_ratio)) if log_ratio == log_ratio else 0.0
        if rng.random() < acceptance:
            z, value, g = new, new_value, new_g
        # Robbins-Monro towards the acceptance rate that is best in many dimensions.
        h *= math.exp(2.0 * (acceptance - 0.574) / math.sqrt(t + 4))
        states[t] = z
    return states


def gradient_noise(model, gradient, where, draws, seed):
    """Return the variance of gradient estimates at `draws`, per coordinate.

    In the sampler's coordinates, divided by the curvature there: (d,). Where the row
    gradients vary as the model says all are alike, so they are drawn to their mean as
    far as their own scatter goes.
    """
    rng = np.random.default_rng(seed)
    thetas = np.repeat(draws.astype(parameter_dtype(model)), 2, axis=0)
    out = np.empty_like(thetas)
    gradient = for_kernels(prepare(gradient, model))
    memory = init_memory(gradient, model, thetas[0], rng)
    estimate_gradient(gradient, memory, model, init_work(model), thetas, rng, out)
    difference = pull_back_rows(where.coordinates, out[::2].astype(float) - out[1::2])
    variance = 0.5 * np.mean(difference**2, axis=0) / where.temperature**2
    return _without_scatter(variance / where.curvatures, len(draws))


def _without_scatter(variances, n_pairs):
    """Return variances, each from `n_pairs` pairs, with less Monte Carlo error.

    Its relative variance is 2 / n_pairs for Gaussian estimates.
    """
    mean, spread = variances.mean(), variances.var()
    scatter = 2.0 / n_pairs * mean**2
    share = math.sqrt(1.0 - scatter / spread) if spread > scatter else 0.0
    return mean + share * (variances - mean)


def automatic_step(sampler, where, noise, steepness=1.0, n_draws=np.inf, thin=None):
    """Return the step size for gradient estimates of relative variance `noise`.

    It minimises what bias and scatter together do to the estimates, mean and sd, from
    `n_draws` draws of all chains, every `thin`-th iteration or as `automatic_lengths`
    says: the square of half the relative bias of a posterior sd, plus the variance of a
    mean. Chains long enough to hold `n_draws` effective draws get `TOLERANCE`.
    """

    def error(tolerance):
        h = _accurate_step(sampler, where, noise, steepness, tolerance)
        tau = _relaxation(sampler, where, h, noise)
        length = _automatic_thin(tau) if thin is None else thin
        return (tolerance / 4) ** 2 + 1.0 / (n_draws * min(1.0, length / (2 * tau)))

    tolerance = min(TOLERANCES, key=error)
    return _accurate_step(sampler, where, noise, steepness, tolerance)


def step_limit(sampler, where, steepness=1.0, noise=0.0):
    """Return the largest stable step size, given the gradient noise."""
    mean = np.mean(_at_largest(where, noise))

    def is_too_large(h):
        return h > stable_step(with_noise_absorbed(sampler, h, mean))

    largest = stable_step(sampler)
    limit = largest
    if is_too_large(largest):
        least = 1e-9 * largest
        limit = bisect(lambda h: is_too_large(h) - 0.5, least, largest, rtol=1e-6)
    return _in_units(sampler, where, limit, steepness)


def automatic_lengths(sampler, where, step_size, noise=0.0):
    """Return burn-in and thinning that forget the start and decorrelate the draws."""
    tau = _relaxation(sampler, where, step_size, noise)
    return min(MAX_BURN_IN, max(100, math.ceil(10 * tau))), _automatic_thin(tau)


def _accurate_step(sampler, where, noise, steepness, tolerance):
    """Return the largest step with errors of a variance up to `tolerance`.

    Noise has this effect wherever a chain is, the step itself where -log p is steepest.
    """
    noisy = accurate_step(sampler, _at_largest(where, noise), tolerance)
    exact = accurate_step(sampler, 0.0, tolerance)
    return min(
        _in_units(sampler, where, noisy), _in_units(sampler, where, exact, steepness)
    )


def _in_units(sampler, where, step_size, steepness=1.0):
    """Return the step that is `step_size` at curvature 1, in the coordinates' units."""
    return step_size / (where.largest * steepness) ** curvature_exponent(sampler)


def _at_largest(where, noise):
    """Return the variances of gradients in units of the largest curvature, (d,).

    The estimates' covariance is much like the Hessian, so that its extremes lie further
    apart than those of its diagonal, and in proportion to the curvatures.
    """
    scaled = noise * where.curvatures / where.largest
    scaled[np.argmin(scaled)] = np.min(noise) * where.smallest / where.largest
    scaled[np.argmax(scaled)] = np.max(noise)
    return scaled


def _relaxation(sampler, where, step_size, noise):
    """Return the iterations in which the slowest coordinate forgets."""
    power = curvature_exponent(sampler)
    h = step_size * where.largest**power
    alike = with_noise_absorbed(sampler, h, np.mean(_at_largest(where, noise)))
    return relaxation(alike, h) * (where.largest / where.smallest) ** power


def _automatic_thin(tau):
    return min(MAX_THIN, max(1, math.ceil(2 * tau)))
