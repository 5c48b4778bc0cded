"""Priors of all coefficients: Gaussian of given variances, or a mixture of Gaussians.

    beta_kj = s_k unit_j z_kj,    z_kj ~ law,    s_k ~ half-Cauchy(width), or s_k = 1

A chain draws the scales s_k given the coefficients, with the precisions of all z
integrated out, then the precisions given both. In between, the prior of the
coefficients is Gaussian. Where the model has a Gaussian prior of its own beside, it
multiplies the mixture: of a horseshoe it is the slab, which keeps large coefficients in
bounds (Piironen & Vehtari, 2017; in the form of Nishimura & Suchard, 2023, in which the
conditional laws stay those of a plain horseshoe).
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.numerics.slices import draw_by_slices
from skbayes_sg.kernels.numerics.slices import log_density as log_density_of
from skbayes_sg.kernels.priors.protocol import (
    draw_precision,
    draw_prior,
    log_density,
    log_prior_of_scale,
    n_scales,
)

WIDTH = 1.0  # of slices of log scales


class Given(NamedTuple):
    """No more than the Gaussian prior that the model has."""


class Mixture(NamedTuple):
    """A law of the coefficients, whose scale may be learned."""

    law: NamedTuple  # Normal, Laplace or Horseshoe
    unit: np.ndarray  # (p,)
    width: float  # of the prior of s; 0: s is 1
    every: int = 4  # iterations per draw of scales and precisions


@n_scales.register(Mixture)
def _(prior, n_outputs):
    return n_outputs if prior.width > 0.0 else 0


@draw_prior.register(Mixture)
def _(prior, beta, k, scale, precision, rng):
    if prior.width > 0.0:
        law = LogScale(prior, beta)
        scale[k] = math.exp(draw_by_slices(law, math.log(scale[k]), WIDTH, rng))
    for j in range(prior.unit.size):
        unit = scale[k] * prior.unit[j]
        precision[j] = draw_precision(prior.law, beta[j] / unit, rng) / unit**2


class LogScale(NamedTuple):
    """The law of u = log s given the coefficients."""

    prior: Mixture
    beta: np.ndarray  # (width,)


@log_density_of.register(LogScale)
def _(law, u):
    prior, total, shrink = law.prior, 0.0, math.exp(-u)
    for j in range(prior.unit.size):
        total += log_density(prior.law, law.beta[j] * shrink / prior.unit[j])
    return total + log_prior_of_scale(prior, u)


@log_prior_of_scale.register(Mixture)
def _(prior, u):
    ratio = math.exp(u) / prior.width
    return (1.0 - prior.unit.size) * u - math.log1p(ratio * ratio)
