"""Numbers with noise that has heavy tails: Student's t, of scale s and nu degrees.

    log f = log Gamma((nu + 1) / 2) - log Gamma(nu / 2) - log(nu) / 2
            + t / 2 - (nu + 1) / 2 log(1 + exp(t) e^2 / nu),
    e = y - eta,    t = -2 log s

The parameters are t and, where nu is not known, w = log(nu - 2): above two degrees, the
noise has a variance. Their priors are exp(t) ~ Gamma(a, rate a) with a small a, and
nu - 2 ~ Gamma(2, rate 0.1).
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import helper
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
from skbayes_sg.kernels.numerics.gamma import digamma

VAGUE = 1e-3  # a
SHAPE, RATE = 2.0, 0.1  # of nu - 2


class StudentT(NamedTuple):
    """Student's law with identity link and unknown scale: one output."""

    df: float = 0.0  # nu; 0: to be learned


@helper
def degrees(likelihood, noise):
    """Return nu."""
    return likelihood.df if likelihood.df > 0.0 else 2.0 + tame_exp(noise[1])


@n_noise.register(StudentT)
def _(likelihood, n_outputs):
    return 1 if likelihood.df > 0.0 else 2


@log_density.register(StudentT)
def _(likelihood, eta, y, noise, out):
    nu, tau = degrees(likelihood, noise), tame_exp(noise[0])
    constant = math.lgamma(0.5 * (nu + 1.0)) - math.lgamma(0.5 * nu)
    constant += 0.5 * (noise[0] - math.log(nu))
    for b in range(y.shape[1]):
        error = y[0, b] - eta[0, b]
        out[b] = constant - 0.5 * (nu + 1.0) * math.log1p(tau * error * error / nu)


@score.register(StudentT)
def _(likelihood, eta, y, noise, out):
    nu, tau = degrees(likelihood, noise), tame_exp(noise[0])
    for b in range(y.shape[1]):
        error = y[0, b] - eta[0, b]
        out[0, b] = (nu + 1.0) * tau * error / (nu + tau * error * error)


@noise_score.register(StudentT)
def _(likelihood, eta, y, noise, out):
    nu, tau = degrees(likelihood, noise), tame_exp(noise[0])
    constant = digamma(0.5 * (nu + 1.0)) - digamma(0.5 * nu) - 1.0 / nu
    for b in range(y.shape[1]):
        error = y[0, b] - eta[0, b]
        z = tau * error * error
        share = (nu + 1.0) * z / (nu + z)
        out[0, b] = 0.5 * (1.0 - share)
        if noise.size > 1:
            slope = 0.5 * (constant - math.log1p(z / nu) + share / nu)
            out[1, b] = slope * (nu - 2.0)


@curvature.register(StudentT)
def _(likelihood, eta, k, m, noise, out):
    nu, tau = degrees(likelihood, noise), tame_exp(noise[0])
    for b in range(out.size):
        out[b] = tau * (nu + 1.0) / (nu + 3.0)


@curvature_slope.register(StudentT)
def _(likelihood, eta, k, m, n, noise, out):
    out[:] = 0.0


@natural_noise.register(StudentT)
def _(likelihood, noise, scale, out):
    out[0] = tame_exp(-0.5 * noise[0]) * (scale[0] if scale.size > 0 else 1.0)
    if noise.size > 1:
        out[1] = 2.0 + tame_exp(noise[1])


@noise_of_natural.register(StudentT)
def _(likelihood, natural, scale):
    unit = scale[0] if scale.size else 1.0
    t = [-2.0 * np.log(natural[0] / unit)]
    return np.array(t if natural.size == 1 else [*t, np.log(natural[1] - 2.0)])


@noise_curvature.register(StudentT)
def _(likelihood):
    return 0.25


@add_noise_prior_gradient.register(StudentT)
def _(likelihood, noise, out):
    out[0] += log_gamma_slope(noise[0], VAGUE, VAGUE)
    if noise.size > 1:
        out[1] += log_gamma_slope(noise[1], SHAPE, RATE)


@noise_log_prior.register(StudentT)
def _(likelihood, noise):
    value = log_gamma_density(noise[0], VAGUE, VAGUE)
    if noise.size > 1:
        value += log_gamma_density(noise[1], SHAPE, RATE)
    return value


@add_noise_prior_curvature.register(StudentT)
def _(likelihood, noise, out):
    out[0] += log_gamma_curvature(noise[0], VAGUE)
    if noise.size > 1:
        out[1] += log_gamma_curvature(noise[1], RATE)
