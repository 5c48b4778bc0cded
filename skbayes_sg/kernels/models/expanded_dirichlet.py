"""Probabilities of categories by positive numbers, x = theta / sum(theta).

With Gamma(a, 1) priors of theta, x has a Dirichlet(a) prior: the expanded mean of
Patterson & Teh (2013). The posterior of x is that of `DirichletMultinomial`, and draws
have x.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.positive_blocks import (
    add_gain_and_loss,
    n_simplexes,
    positive_prior,
)
from skbayes_sg.kernels.capabilities.theta_blocks import block_width, blocks_of
from skbayes_sg.kernels.numerics.vectors import total
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
    needs_refresh,
    record,
)


class ExpandedDirichlet(NamedTuple):
    """Categories of rows and the prior's shapes; theta are positive numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Minibatch
    >>> from skbayes_sg.kernels.models import ExpandedDirichlet
    >>> from skbayes_sg.kernels.samplers import SCIR
    >>> model = ExpandedDirichlet(np.array([0, 0, 0, 1, 1, 2]), np.ones(3))
    >>> options = {"step_size": 1.0, "start": np.ones(3), "random_state": 0}
    >>> draws = sample(model, SCIR(), Minibatch(6), **options)
    >>> draws.shape, bool(np.allclose(draws.sum(axis=2), 1))
    ((1, 1000, 3), True)
    """

    y: np.ndarray  # (N,) categories, 0 ... K - 1
    shape: np.ndarray  # (K,) a


@n_parameters.register(ExpandedDirichlet)
def _(model):
    return model.shape.size


@n_rows.register(ExpandedDirichlet)
def _(model):
    return model.y.size


@add_gradient.register(ExpandedDirichlet)
def _(model, work, theta, idx, scale, out):
    every = scale * idx.size / total(theta)
    for i in idx:
        out[model.y[i]] += scale / theta[model.y[i]]
    for k in range(theta.size):
        out[k] -= every


@log_likelihood.register(ExpandedDirichlet)
def _(model, work, theta, idx):
    value = -idx.size * math.log(total(theta))
    for i in idx:
        value += math.log(theta[model.y[i]])
    return value


@add_prior_gradient.register(ExpandedDirichlet)
def _(model, work, theta, out):
    for k in range(theta.size):
        out[k] += (model.shape[k] - 1.0) / theta[k] - 1.0


@log_prior.register(ExpandedDirichlet)
def _(model, work, theta):
    value = 0.0
    for k in range(theta.size):
        value += (model.shape[k] - 1.0) * math.log(theta[k]) - theta[k]
    return value


@add_gain_and_loss.register(ExpandedDirichlet)
def _(model, work, theta, idx, scale, gain, loss):
    for i in idx:
        gain[model.y[i]] += scale


@positive_prior.register(ExpandedDirichlet)
def _(model, work, shape, rate):
    for k in range(rate.size):
        shape[k] = model.shape[k]
        rate[k] = 1.0


@n_simplexes.register(ExpandedDirichlet)
def _(model):
    return 1


@blocks_of.register(ExpandedDirichlet)
def _(model, i):
    return (model.y[i],)


@block_width.register(ExpandedDirichlet)
def _(model):
    return 1


@needs_refresh.register(ExpandedDirichlet)
def _(model, t):
    return False


@record.register(ExpandedDirichlet)
def _(model, work, theta, out):
    every = total(theta)
    for k in range(out.size):
        out[k] = theta[k] / every
