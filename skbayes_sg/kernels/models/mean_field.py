"""The Gaussian with independent coordinates that is closest to a posterior.

    maximize E log p(mu + s z | data) + sum_j log s_j,    z ~ N(0, I),    s = exp(rho)

(Kucukelbir, Tran, Ranganath, Gelman & Blei, 2017). A model of (mu, rho) whose gradient
estimates draw z, so that an optimizer in the one loop of all chains maximizes it.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
)


class MeanField(NamedTuple):
    """The model whose posterior is to be approximated."""

    model: NamedTuple


class MeanFieldWork(NamedTuple):
    """The work of the model inside, and buffers."""

    inner: NamedTuple
    z: np.ndarray  # (d,)
    x: np.ndarray  # (d,) mu + s z
    g: np.ndarray  # (d,) the gradient there


@n_parameters.register(MeanField)
def _(model):
    return 2 * n_parameters(model.model)


@n_rows.register(MeanField)
def _(model):
    return n_rows(model.model)


@parameter_dtype.register(MeanField)
def _(model):
    return parameter_dtype(model.model)


@init_work.register(MeanField)
def _(model):
    d, dtype = n_parameters(model.model), parameter_dtype(model.model)
    return MeanFieldWork(init_work(model.model), *np.zeros((3, d), dtype))


@draw_local.register(MeanField)
def _(model, work, theta, idx, rng):
    for j in range(work.z.size):
        work.z[j] = rng.standard_normal()


@helper
def _locate(work, theta):
    d = work.z.size
    for j in range(d):
        work.x[j] = theta[j] + math.exp(theta[d + j]) * work.z[j]
        work.g[j] = 0.0


@helper
def _add_pulled_back(work, theta, out):
    d = work.z.size
    for j in range(d):
        out[j] += work.g[j]
        out[d + j] += work.g[j] * math.exp(theta[d + j]) * work.z[j]


@add_gradient.register(MeanField)
def _(model, work, theta, idx, scale, out):
    _locate(work, theta)
    add_gradient(model.model, work.inner, work.x, idx, scale, work.g)
    _add_pulled_back(work, theta, out)


@add_prior_gradient.register(MeanField)
def _(model, work, theta, out):
    # At the last z, which theta hardly depends on: one step ago it was drawn.
    _locate(work, theta)
    add_prior_gradient(model.model, work.inner, work.x, work.g)
    _add_pulled_back(work, theta, out)
    for j in range(work.z.size, theta.size):
        out[j] += 1.0  # the entropy
