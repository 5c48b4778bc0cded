"""The proximal form of a constraint, MYULA (Brosse, Durmus, Moulines & Pereyra, 2017).

    log p(theta) - |theta - P theta|^2 / (2 lambda)

The density has a Gaussian skirt of width sqrt(lambda) around the region, and every
sampler and gradient estimator works with it: the constraint is part of the prior, of
curvature 1 / lambda, so steps are stable up to h = 4 lambda / (1 + lambda curvature).
Draws are recorded projected.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.regions import project
from skbayes_sg.kernels.capabilities.row_blocks import in_blocks, rows_per_term
from skbayes_sg.kernels.generic import wrapped_by
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    check_model,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    parameter_dtype,
    record,
)
from skbayes_sg.kernels.walls import check_walls


class Proximal(NamedTuple):
    """A model whose parameters are drawn back to a region.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Full
    >>> from skbayes_sg.kernels.models import GaussianMean, Proximal
    >>> from skbayes_sg.kernels.regions import Ball
    >>> from skbayes_sg.kernels.samplers import SGLD
    >>> inside = GaussianMean(np.zeros((1, 2)), precision=np.eye(2))
    >>> model = Proximal(inside, Ball(np.zeros(2), 1.0), 0.01)
    >>> draws = sample(model, SGLD(), Full(), step_size=0.01, random_state=0)
    >>> bool((np.linalg.norm(draws, axis=2) <= 1.0 + 1e-12).all())
    True
    """

    model: NamedTuple
    region: NamedTuple
    smoothing: float  # lambda


class ProximalWork(NamedTuple):
    """The work of the model inside, and a buffer."""

    inner: NamedTuple
    nearest: np.ndarray  # (d,) P theta


@wrapped_by.register(Proximal)
def _(component):
    return component.model


@n_parameters.register(Proximal)
def _(model):
    return n_parameters(model.model)


@n_rows.register(Proximal)
def _(model):
    return n_rows(model.model)


@parameter_dtype.register(Proximal)
def _(model):
    return parameter_dtype(model.model)


@init_work.register(Proximal)
def _(model):
    if not model.smoothing > 0:
        raise ValueError(f"smoothing={model.smoothing} must be positive")
    d, dtype = n_parameters(model), parameter_dtype(model)
    return ProximalWork(init_work(model.model), np.zeros(d, dtype))


@check_model.register(Proximal)
def _(model):
    check_walls(model.model, model.region)


@add_gradient.register(Proximal)
def _(model, work, theta, idx, scale, out):
    add_gradient(model.model, work.inner, theta, idx, scale, out)


@log_likelihood.register(Proximal)
def _(model, work, theta, idx):
    return log_likelihood(model.model, work.inner, theta, idx)


@add_prior_gradient.register(Proximal)
def _(model, work, theta, out):
    add_prior_gradient(model.model, work.inner, theta, out)
    project(model.region, theta, work.nearest)
    for j in range(theta.size):
        out[j] -= (theta[j] - work.nearest[j]) / model.smoothing


@log_prior.register(Proximal)
def _(model, work, theta):
    value = log_prior(model.model, work.inner, theta)
    project(model.region, theta, work.nearest)
    for j in range(theta.size):
        value -= 0.5 * (theta[j] - work.nearest[j]) ** 2 / model.smoothing
    return value


@draw_local.register(Proximal)
def _(model, work, theta, idx, rng):
    draw_local(model.model, work.inner, theta, idx, rng)


@rows_per_term.register(Proximal)
def _(model):
    return rows_per_term(model.model)


@in_blocks.register(Proximal)
def _(model, order):
    return model._replace(model=in_blocks(model.model, order))


@record.register(Proximal)
def _(model, work, theta, out):
    project(model.region, theta, out)
