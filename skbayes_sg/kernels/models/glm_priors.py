"""Random priors of a GLM: what a chain draws of them, and what diagnostics see.

Every few iterations a chain draws the scales and precisions of the coefficients, see
`priors.mixture`, and its coordinates follow. A step that begins in other coordinates
than the last one has an error of its own, so the next draw waits until the chain has
forgotten it: drawn every second iteration, sds were up to 7 % too large.

Diagnostics need the log density of theta given the recorded scales alone: precisions
are integrated out.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.generic import entry_point, helper
from skbayes_sg.kernels.models.glm import GLM, n_coefficients
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.priors.horseshoe import Horseshoe
from skbayes_sg.kernels.priors.protocol import (
    draw_prior,
    log_density,
    n_scales,
    slope,
)
from skbayes_sg.kernels.protocol.coordinates import follow
from skbayes_sg.kernels.protocol.model import (
    init_work,
    is_log_concave,
    n_parameters,
    n_recorded,
    n_rows,
    needs_refresh,
    parameter_dtype,
    refresh,
    theta_of,
    work_at,
)
from skbayes_sg.kernels.protocol.target import locate


class ShrunkGLM(GLM):
    """A GLM whose `prior` is a `Mixture`; its fields are those of `GLM`."""

    __slots__ = ()
    __annotations__ = GLM.__annotations__


@init_work.register(ShrunkGLM)
def _(model):
    work, unit = init_work.dispatch(GLM)(model), model.prior.unit
    precision = np.zeros(n_parameters(model))
    coefficients = precision[: n_coefficients(model)].reshape(model.n_outputs, -1)
    coefficients[:, : unit.size] = 1.0 / unit**2
    return work._replace(precision=precision, scale=np.ones(model.n_outputs))


@is_log_concave.register(ShrunkGLM)
def _(model):
    return False


@needs_refresh.register(ShrunkGLM)
def _(model, t):
    return t % model.prior.every == 0


@refresh.register(ShrunkGLM)
def _(model, target, position, rng):
    copy_to(locate(target, position), target.g)  # theta may be the position itself
    draw_priors(model, target.work, target.g, rng)
    follow(target.coordinates, target.work.precision, target.g, position)


@helper
def draw_priors(model, work, theta, rng):
    """Draw scales and precisions of the coefficients of all outputs."""
    width = n_coefficients(model) // model.n_outputs
    for k in range(work.scale.size):
        here = slice(k * width, (k + 1) * width)
        draw_prior(model.prior, theta[here], k, work.scale, work.precision[here], rng)


@n_recorded.register(ShrunkGLM)
def _(model):
    return n_parameters(model) + n_scales(model.prior, model.n_outputs)


class IntegratedGLM(NamedTuple):
    """A GLM with a random prior, given its scales; for diagnostics."""

    model: GLM


@n_parameters.register(IntegratedGLM)
def _(model):
    return n_parameters(model.model)


@n_rows.register(IntegratedGLM)
def _(model):
    return n_rows(model.model)


@parameter_dtype.register(IntegratedGLM)
def _(model):
    return parameter_dtype(model.model)


@theta_of.register(IntegratedGLM)
def _(model, draw):
    return theta_of(model.model, draw)


@work_at.register(IntegratedGLM)
def _(model, draw):
    inner = model.model
    work = init_work(inner)
    count, units = n_scales(inner.prior, inner.n_outputs), inner.units
    if count:
        scale = np.asarray(draw[-count:], np.float64)
        work.scale[:] = scale / units.scale if units.scale.size else scale
    return work


@log_posterior.register(IntegratedGLM)
def _(model, work, theta, out):
    inner, width = model.model, n_coefficients(model.model) // model.model.n_outputs
    if isinstance(inner.prior.law, Horseshoe):
        raise ValueError(
            'ksd() and check() are not for prior="horseshoe", whose density is '
            "infinite at zero: gradients there have no variance; use summary()"
        )
    value = log_posterior(inner, work._replace(precision=np.empty(0)), theta, out)
    for k in range(inner.n_outputs):
        here = slice(k * width, (k + 1) * width)
        value += _add_prior(inner.prior, theta[here], work.scale[k], out[here])
    return value


@entry_point
def _add_prior(prior, beta, scale, out):
    value = 0.0
    for j in range(prior.unit.size):
        unit = scale * prior.unit[j]
        value += log_density(prior.law, beta[j] / unit)
        out[j] += slope(prior.law, beta[j] / unit) / unit
    return value
