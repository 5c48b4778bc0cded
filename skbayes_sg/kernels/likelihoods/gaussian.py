"""Numbers with Gaussian noise, of known precision tau or of unknown ones.

FixedGaussian:  log f = -tau/2 sum_k (y_k - eta_k)^2
Gaussian:       log f = 1/2 sum_k (t_k - exp(t_k) (y_k - eta_k)^2),
                t_k = log precision,  exp(t_k) ~ Gamma(a, rate b)

The log precisions t are parameters of the model, by the map of `log_gamma`. Users read
standard deviations.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.likelihoods.log_gamma import (
    log_gamma_curvature,
    log_gamma_density,
    log_gamma_slope,
)
from skbayes_sg.kernels.likelihoods.protocol import (
    add_noise_prior_curvature,
    add_noise_prior_gradient,
    add_noise_score,
    add_noise_statistics,
    curvature,
    curvature_factor,
    curvature_slope,
    draw_noise,
    has_conjugate_noise,
    log_density,
    n_noise,
    natural_noise,
    noise_curvature,
    noise_log_prior,
    noise_of_natural,
    noise_score,
    score,
)
from skbayes_sg.kernels.numerics.exponential import tame_exp

TINY = 1e-30  # the smallest precision that is drawn


class FixedGaussian(NamedTuple):
    """Gaussian law with identity link and known noise."""

    noise_precision: float  # tau


class Gaussian(NamedTuple):
    """Gaussian law with identity link and noise of unknown precision."""

    shape: float = 1.0  # a
    rate: float = 1.0  # b


@score.register(FixedGaussian)
def _(likelihood, eta, y, noise, out):
    for k in range(y.shape[0]):
        for b in range(y.shape[1]):
            out[k, b] = likelihood.noise_precision * (y[k, b] - eta[k, b])


@log_density.register(FixedGaussian)
def _(likelihood, eta, y, noise, out):
    for b in range(y.shape[1]):
        squares = 0.0
        for k in range(y.shape[0]):
            squares += (y[k, b] - eta[k, b]) ** 2
        out[b] = -0.5 * likelihood.noise_precision * squares


@curvature.register(FixedGaussian)
def _(likelihood, eta, k, m, noise, out):
    for b in range(out.size):
        out[b] = likelihood.noise_precision if k == m else 0.0


@curvature_slope.register(FixedGaussian)
def _(likelihood, eta, k, m, n, noise, out):
    out[:] = 0.0


@n_noise.register(Gaussian)
def _(likelihood, n_outputs):
    return n_outputs


@score.register(Gaussian)
def _(likelihood, eta, y, noise, out):
    for k in range(y.shape[0]):
        precision = tame_exp(noise[k])
        for b in range(y.shape[1]):
            out[k, b] = precision * (y[k, b] - eta[k, b])


@log_density.register(Gaussian)
def _(likelihood, eta, y, noise, out):
    for b in range(y.shape[1]):
        total = 0.0
        for k in range(y.shape[0]):
            error = y[k, b] - eta[k, b]
            total += 0.5 * (noise[k] - tame_exp(noise[k]) * error * error)
        out[b] = total


@curvature.register(Gaussian)
def _(likelihood, eta, k, m, noise, out):
    for b in range(out.size):
        out[b] = tame_exp(noise[k]) if k == m else 0.0


@curvature_slope.register(Gaussian)
def _(likelihood, eta, k, m, n, noise, out):
    out[:] = 0.0


@curvature_factor.register(Gaussian)
def _(likelihood, eta, k, noise, out):
    root = tame_exp(0.5 * noise[k])
    for m in range(out.shape[0]):
        for b in range(out.shape[1]):
            out[m, b] = root if m == k else 0.0


@add_noise_score.register(Gaussian)
def _(likelihood, eta, y, noise, scale, out):
    for k in range(y.shape[0]):
        precision = tame_exp(noise[k])
        for b in range(y.shape[1]):
            error = y[k, b] - eta[k, b]
            out[k] += scale[b] * 0.5 * (1.0 - precision * error * error)


@has_conjugate_noise.register(Gaussian)
def _(likelihood):
    return True


@add_noise_statistics.register(Gaussian)
def _(likelihood, eta, y, scale, out):
    for k in range(y.shape[0]):
        for b in range(y.shape[1]):
            error = y[k, b] - eta[k, b]
            out[k] += scale[b] * error * error


@draw_noise.register(Gaussian)
def _(likelihood, statistics, total, beta, rng, out):
    # exp(t) ~ Gamma(a + total / 2, b + s / 2) given the sum s of squared errors.
    for k in range(out.size):
        shape = beta * (likelihood.shape + 0.5 * total)
        rate = beta * (likelihood.rate + 0.5 * statistics[k])
        out[k] = math.log(max(rng.standard_gamma(shape) / rate, TINY))


@noise_score.register(Gaussian)
def _(likelihood, eta, y, noise, out):
    for k in range(y.shape[0]):
        precision = tame_exp(noise[k])
        for b in range(y.shape[1]):
            error = y[k, b] - eta[k, b]
            out[k, b] = 0.5 * (1.0 - precision * error * error)


@natural_noise.register(Gaussian)
def _(likelihood, noise, scale, out):
    for k in range(noise.size):
        out[k] = tame_exp(-0.5 * noise[k]) * (scale[k] if scale.size > 0 else 1.0)


@noise_of_natural.register(Gaussian)
def _(likelihood, natural, scale):
    return -2.0 * np.log(natural / scale if scale.size else natural)


@noise_curvature.register(Gaussian)
def _(likelihood):
    return 0.5


@add_noise_prior_gradient.register(Gaussian)
def _(likelihood, noise, out):
    for j in range(noise.size):
        out[j] += log_gamma_slope(noise[j], likelihood.shape, likelihood.rate)


@noise_log_prior.register(Gaussian)
def _(likelihood, noise):
    total = 0.0
    for j in range(noise.size):
        total += log_gamma_density(noise[j], likelihood.shape, likelihood.rate)
    return total


@add_noise_prior_curvature.register(Gaussian)
def _(likelihood, noise, out):
    for j in range(noise.size):
        out[j] += log_gamma_curvature(noise[j], likelihood.rate)
