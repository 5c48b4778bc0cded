"""Regressions with random priors on few rows: their noise is drawn between steps, too.

With about as many coefficients as rows, the precision of the noise is uncertain, and
may be many times as large at one draw as at another. A step that suits the one is
unstable at the other. So each parameter of the likelihood is drawn given all others,
which costs a few passes over the rows, together with the prior; steps leave it alone,
and their coordinates follow it.
"""

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
from skbayes_sg.kernels.protocol.coordinates import follow
from skbayes_sg.kernels.protocol.model import (
    init_work,
    log_likelihood,
    n_parameters,
    n_rows,
    refresh,
)
from skbayes_sg.kernels.protocol.target import locate

FEW = 10  # rows per coefficient
WIDTH = 0.5  # of slices


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


@helper
def draw_noise(model, work, theta, rng):
    """Draw the parameters of the likelihood, one after the other."""
    for j in range(n_coefficients(model), theta.size):
        law = NoiseLaw(model, work, theta, j)
        theta[j] = draw_by_slices(law, float(theta[j]), WIDTH, rng)


def draws_noise(model):
    """Whether rows are so few that the noise is to be drawn between steps."""
    n, p = shape_rows(model.rows)
    return n <= FEW * (p + int(model.intercept)) and n * p <= MAX_NUMBERS


def places_of_noise(model):
    """Return where in theta the log precision is, for each parameter, (d,)."""
    end, d = n_coefficients(model), n_parameters(model)
    width = end // model.n_outputs
    return np.append(end + np.arange(end) // width, np.arange(end, d))
