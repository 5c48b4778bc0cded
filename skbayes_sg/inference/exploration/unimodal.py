"""Settings that nobody should have to choose: step size and lengths of chains.

All follow from facts about the posterior where its draws are: its curvature, the
variance of the gradient estimates, and the law of the sampler's own step
(`accurate_step`).
"""

import math

import numpy as np
from scipy.optimize import bisect

from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
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
# Steepness for which a momentum is stable, over that of one place in a thousand. It
# carries a chain away that overshoots, and a thermostat then stands still for long:
# without it, 2 of 16 fits of counts by "badodab" diverged or had an sd 29 % too large.
MARGIN = 2.0
MAX_BURN_IN = 10_000
MAX_THIN = 100


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
    variance = 0.5 * np.mean(difference**2, axis=0)
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

    It minimizes what bias and scatter together do to the estimates, mean and sd, from
    `n_draws` draws of all chains, every `thin`-th iteration or as `automatic_lengths`
    says: the square of half the relative bias of a posterior sd, plus the variance of a
    mean. Chains long enough to hold `n_draws` effective draws get `TOLERANCE`.
    """

    def error(tolerance):
        h = _accurate_step(sampler, where, noise, steepness, tolerance)
        tau = relaxation_time(sampler, where, h, noise)
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
    tau = relaxation_time(sampler, where, step_size, noise)
    return min(MAX_BURN_IN, max(100, math.ceil(10 * tau))), _automatic_thin(tau)


def exact_step(sampler, steepness, tolerance):
    """Return the step for exact gradients where the mean curvature is 1.

    Its errors of a variance are up to `tolerance` for a Gaussian. It is stable even at
    the steepest places, where the curvature is `steepness`: a chain that overshoots
    there lands in flat places far away, and needs long to return.
    """
    power = curvature_exponent(sampler)
    margin = MARGIN if power < 1.0 else 1.0  # overdamped chains come back by themselves
    most = stable_step(sampler) / (margin * steepness) ** power
    return min(accurate_step(sampler, 0.0, tolerance), most)


def _accurate_step(sampler, where, noise, steepness, tolerance):
    """Return the largest step with errors of a variance up to `tolerance`."""
    noisy = accurate_step(sampler, _at_largest(where, noise), tolerance)
    exact = exact_step(sampler, steepness, tolerance)
    return _in_units(sampler, where, min(noisy, exact))


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


def relaxation_time(sampler, where, step_size, noise=0.0):
    """Return the iterations in which the slowest coordinate forgets."""
    power = curvature_exponent(sampler)
    h = step_size * where.largest**power
    alike = with_noise_absorbed(sampler, h, np.mean(_at_largest(where, noise)))
    return relaxation(alike, h) * (where.largest / where.smallest) ** power


def _automatic_thin(tau):
    return min(MAX_THIN, max(1, math.ceil(2 * tau)))
