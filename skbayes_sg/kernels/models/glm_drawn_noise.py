"""Regressions with random priors on few rows: their noise is drawn between steps, too.

With about as many coefficients as rows, the precision of the noise is uncertain, and
may be many times as large at one draw as at another. A step that suits the one is
unstable at the other. So each parameter of the likelihood is drawn given all others,
which costs a few passes over the rows, together with the prior; steps leave it alone,
and their coordinates follow it.

Given the coefficients, their scale and the noise hardly move: 60 coefficients tell
their scale to 9 %, of which the posterior may allow any between 0.1 and 1. So both are
drawn a second time, given the *position* of the chain instead, in coordinates whose
center and units are about the mean and the sds of the coefficients under each scale and
noise: theta moves along. Where the log likelihood is quadratic, the position says
nothing of either, and draws are all but independent. (Interweaving, Yu & Meng, 2011.)
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.data.rows import shape_rows
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.likelihoods.protocol import noise_log_prior
from skbayes_sg.kernels.models.glm import GLM, n_coefficients, noise_of
from skbayes_sg.kernels.models.glm_noise import MAX_NUMBERS
from skbayes_sg.kernels.models.glm_priors import ShrunkGLM, draw_priors
from skbayes_sg.kernels.numerics.slices import draw_by_slices, log_density
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.priors.protocol import log_prior_of_scale
from skbayes_sg.kernels.protocol.coordinates import carry, follow
from skbayes_sg.kernels.protocol.model import (
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    refresh,
)
from skbayes_sg.kernels.protocol.target import locate

FEW = 10  # rows per coefficient
WIDTH = 0.5  # of slices
CARRIED = 1.5  # width of slices where coefficients move along


class DrawnNoiseGLM(ShrunkGLM):
    """A GLM whose first noise parameter of each output is the log of a precision."""

    __slots__ = ()
    __annotations__ = GLM.__annotations__


class NoiseLaw(NamedTuple):
    """The law of a parameter of the likelihood given all others."""

    model: DrawnNoiseGLM
    work: NamedTuple
    theta: np.ndarray  # (d,) changed in place
    j: int


@log_density.register(NoiseLaw)
def _(law, u):
    law.theta[law.j] = u
    value = log_likelihood(law.model, law.work, law.theta, law.work.every_row)
    return value + noise_log_prior(law.model.likelihood, noise_of(law.model, law.theta))


@init_work.register(DrawnNoiseGLM)
def _(model):
    every_row = np.arange(n_rows(model), dtype=INDEX)
    return init_work.dispatch(ShrunkGLM)(model)._replace(every_row=every_row)


@refresh.register(DrawnNoiseGLM)
def _(model, target, position, rng):
    copy_to(locate(target, position), target.g)  # theta may be the position itself
    draw_noise(model, target.work, target.g, rng)
    draw_priors(model, target.work, target.g, rng)
    follow(target.coordinates, target.work.precision, target.g, position)
    for k in range(model.n_outputs):
        law = carried_law(model, target, position, k, rng)
        draw_by_slices(law, 0.0, CARRIED, rng)


@helper
def draw_noise(model, work, theta, rng):
    """Draw the parameters of the likelihood, one after the other."""
    for j in range(n_coefficients(model), theta.size):
        law = NoiseLaw(model, work, theta, j)
        theta[j] = draw_by_slices(law, float(theta[j]), WIDTH, rng)


class CarriedLaw(NamedTuple):
    """The law of the scale or the noise of output k given the position.

    At u, their logarithms are `scale` + u `along` and `noise` + u `across`.
    """

    model: DrawnNoiseGLM
    work: NamedTuple  # its scale and precisions are changed in place
    coordinates: NamedTuple  # too
    theta: np.ndarray  # (d,) too
    position: np.ndarray  # (d,)
    k: int
    scale: float
    noise: float
    along: float
    across: float


@helper
def carried_law(model, target, position, k, rng):
    """Return the law of one of the two, by chance: their spreads may differ greatly."""
    scale, along, across = 0.0, 0.0, 2.0  # a precision is the square of a scale
    if target.work.scale.size > 0:
        scale = math.log(target.work.scale[k])
        if rng.random() < 0.5:
            along, across = 1.0, 0.0
    parts = model, target.work, target.coordinates, target.g, position, k
    noise = float(target.g[n_coefficients(model) + k])
    return CarriedLaw(*parts, scale, noise, along, across)


@log_density.register(CarriedLaw)
def _(law, u):
    model, work, theta, end = law.model, law.work, law.theta, n_coefficients(law.model)
    theta[end + law.k] = law.noise + u * law.across
    value = 0.0
    if work.scale.size > 0:
        log_scale = law.scale + u * law.along
        change = (work.scale[law.k] / math.exp(log_scale)) ** 2
        width = end // model.n_outputs
        for j in range(law.k * width, (law.k + 1) * width):
            work.precision[j] *= change
        work.scale[law.k] = math.exp(log_scale)
        value = log_prior_of_scale(model.prior, log_scale)
    value += carry(law.coordinates, work.precision, theta, law.position)
    value += log_likelihood(model, work, theta, work.every_row)
    return value + log_prior(model, work, theta)


def draws_noise(model):
    """Whether rows are so few that the noise is to be drawn between steps."""
    n, p = shape_rows(model.rows)
    return n <= FEW * (p + int(model.intercept)) and n * p <= MAX_NUMBERS


def places_of_noise(model):
    """Return where in theta the log precision is, for each parameter, (d,)."""
    end, d = n_coefficients(model), n_parameters(model)
    width = end // model.n_outputs
    return np.append(end + np.arange(end) // width, np.arange(end, d))
