"""Counts that vary more than Poisson's: variance mu + alpha mu^2, mu = e^eta.

With r = 1 / alpha and A = log Gamma(r + y) - log Gamma(r) - y log r,

    log f = A + y eta - (r + y) log(1 + mu / r)

The dispersion has the prior alpha ~ Exponential(1), that is Gamma(1, 1). Its logarithm
is the parameter, by the map of `log_gamma`.
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
    curvature,
    curvature_slope,
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
from skbayes_sg.kernels.numerics.gamma import digamma, log_rising


class NegativeBinomial(NamedTuple):
    """Negative binomial law with log link and unknown dispersion: one output."""


@n_noise.register(NegativeBinomial)
def _(likelihood, n_outputs):
    return 1


@log_density.register(NegativeBinomial)
def _(likelihood, eta, y, noise, out):
    r = tame_exp(-noise[0])
    for b in range(y.shape[1]):
        count, z = y[0, b], eta[0, b]
        spread = math.log1p(math.exp(z) / r)
        out[b] = log_rising(r, count) + count * z - (r + count) * spread


@score.register(NegativeBinomial)
def _(likelihood, eta, y, noise, out):
    alpha = tame_exp(noise[0])
    for b in range(y.shape[1]):
        mu = math.exp(eta[0, b])
        out[0, b] = (y[0, b] - mu) / (1.0 + alpha * mu)


@noise_score.register(NegativeBinomial)
def _(likelihood, eta, y, noise, out):
    r = tame_exp(-noise[0])
    for b in range(y.shape[1]):
        count, mu = y[0, b], math.exp(eta[0, b])
        slope = digamma(r + count) - digamma(r) - math.log1p(mu / r)
        out[0, b] = -r * (slope + (mu - count) / (r + mu))


@curvature.register(NegativeBinomial)
def _(likelihood, eta, k, m, noise, out):
    alpha = tame_exp(noise[0])
    for b in range(out.size):
        mu = math.exp(eta[0, b])
        out[b] = mu / (1.0 + alpha * mu)


@curvature_slope.register(NegativeBinomial)
def _(likelihood, eta, k, m, n, noise, out):
    alpha = tame_exp(noise[0])
    for b in range(out.size):
        mu = math.exp(eta[0, b])
        out[b] = mu / (1.0 + alpha * mu) ** 2


@natural_noise.register(NegativeBinomial)
def _(likelihood, noise, scale, out):
    out[0] = tame_exp(noise[0])


@noise_of_natural.register(NegativeBinomial)
def _(likelihood, natural, scale):
    return np.log(natural)


@noise_curvature.register(NegativeBinomial)
def _(likelihood):
    return 0.25


@add_noise_prior_gradient.register(NegativeBinomial)
def _(likelihood, noise, out):
    out[0] += log_gamma_slope(noise[0], 1.0, 1.0)


@noise_log_prior.register(NegativeBinomial)
def _(likelihood, noise):
    return log_gamma_density(noise[0], 1.0, 1.0)


@add_noise_prior_curvature.register(NegativeBinomial)
def _(likelihood, noise, out):
    out[0] += log_gamma_curvature(noise[0], 1.0)
