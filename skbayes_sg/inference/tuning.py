"""Settings that nobody should have to choose: coordinates, minibatch size, step size.

All follow from three facts about the posterior at its mode: its curvature, the variance
of the gradient estimates, and the law of the sampler's own step (`accurate_step`).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from skbayes_sg.inference.curvature import (
    curvature_diagonal,
    curvature_matrix,
    largest_curvature,
    whitening,
)
from skbayes_sg.kernels.coordinates import Dense, Diagonal, Identity
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.ops import (
    accurate_step,
    curvature_exponent,
    init_memory,
    init_work,
    n_rows,
    parameter_dtype,
    prepare,
    relaxation,
    stable_step,
    typed,
)
from skbayes_sg.kernels.passes import log_posterior

TOLERANCE = 0.02  # relative error of a posterior variance that a step may cause
MAX_DENSE = 500  # parameters up to which the whole Hessian is used
PILOT_SIZE = 1000  # rows in the minibatches that measure the gradient noise
PILOT_DRAWS = 128
MIN_BATCH = 100  # fewer rows save no time
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

    def rough_draws(self, rng, count):
        """Return draws of the Gaussian approximation at the mode, (count, d)."""
        z = rng.standard_normal((count, self.mode.size))
        offset = z @ self.factor.T if self.factor.ndim == 2 else z * self.factor
        return self.mode + offset


def geometry(model, mode, preconditioner="auto"):
    """Measure the posterior at `mode` and choose coordinates.

    `preconditioner` is "dense" (whitened by the Hessian), "diagonal" (scaled by its
    diagonal), "none", or "auto": dense up to `MAX_DENSE` parameters.
    """
    model, d, dtype = typed(model), mode.size, parameter_dtype(model)
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


def gradient_noise(model, gradient, where, seed):
    """Return the variance of gradient estimates at typical draws, per coordinate.

    In the sampler's coordinates, divided by the curvature there: (d,).
    """
    rng = np.random.default_rng(seed)
    thetas = where.rough_draws(rng, PILOT_DRAWS).astype(parameter_dtype(model))
    thetas = np.repeat(thetas, 2, axis=0)
    out = np.empty_like(thetas)
    gradient = typed(prepare(gradient, model))
    memory = init_memory(gradient, model, thetas[0], rng)
    estimate_gradient(gradient, memory, model, init_work(model), thetas, rng, out)
    difference = _pulled_back(where.coordinates, out[::2].astype(float) - out[1::2])
    return 0.5 * np.mean(difference**2, axis=0) / where.curvatures


def stiffness(model, where, seed, n_points=16):
    """Return how much steeper -log p is at typical draws than at the mode.

    The largest ratio of the gradient's norm to that of the Gaussian approximation, in
    whitened coordinates; 1 for a Gaussian. Without the whole Hessian it is not known.
    """
    if where.factor.ndim < 2:
        return 1.0
    dtype, work = parameter_dtype(model), init_work(model)
    g = np.empty(where.mode.size, dtype)
    ratio = 1.0
    for z in np.random.default_rng(seed).standard_normal((n_points, where.mode.size)):
        theta = where.mode + where.factor @ z
        log_posterior(model, work, theta.astype(dtype), g)
        pulled = where.factor.T @ g.astype(np.float64)
        ratio = max(ratio, np.linalg.norm(pulled) / np.linalg.norm(z))
    return ratio


def automatic_step(sampler, where, noise, steeper=1.0):
    """Return the step size for gradient estimates of relative variance `noise`.

    `steeper` is the `stiffness` of the posterior.
    """
    unit = accurate_step(sampler, float(np.max(noise)), TOLERANCE)
    return unit / (where.largest * steeper) ** curvature_exponent(sampler)


def step_limit(sampler, where):
    """Return the largest stable step size."""
    return stable_step(sampler) / where.largest ** curvature_exponent(sampler)


def automatic_batch_size(model, sampler, noise, pilot_size):
    """Return the smallest minibatch with which the sampler takes nearly its full step.

    Below it, step and minibatch size trade off at equal cost per effective draw. The
    variance of an estimate falls as (N - n) / (N n).
    """
    n = n_rows(model)
    nearly = 0.75 * accurate_step(sampler, 0.0, TOLERANCE)
    unit = float(np.max(noise)) / (1.0 / pilot_size - 1.0 / n)  # variance x size
    low, high = min(n, MIN_BATCH), n
    while low < high:
        size = (low + high) // 2
        if accurate_step(sampler, unit * (1.0 / size - 1.0 / n), TOLERANCE) < nearly:
            low = size + 1
        else:
            high = size
    return low


def automatic_lengths(sampler, where, step_size):
    """Return burn-in and thinning that forget the start and decorrelate the draws."""
    power = curvature_exponent(sampler)
    tau = relaxation(sampler, step_size * where.largest**power)
    tau *= (where.largest / where.smallest) ** power
    burn_in = min(MAX_BURN_IN, max(100, math.ceil(10 * tau)))
    return burn_in, min(MAX_THIN, max(1, math.ceil(2 * tau)))


def _pulled_back(coordinates, g):
    if isinstance(coordinates, Dense):
        return g @ coordinates.factor
    return g * coordinates.scale if isinstance(coordinates, Diagonal) else g
