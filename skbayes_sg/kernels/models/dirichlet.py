"""Probabilities of categories, theta = x on the simplex, with a Dirichlet posterior.

    p(x | y) = Dirichlet(a + n),    n_k the number of rows i with y_i = k

The metric is the information that the rows and the prior have on average,

    G_kk = (N + sum(a)) / x_k.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.maps import is_log_concave_through
from skbayes_sg.kernels.capabilities.metrics import (
    metric,
    metric_diagonal,
    metric_divergence,
)
from skbayes_sg.kernels.capabilities.strata import leverages, row_classes
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.maps import AdditiveLogRatio
from skbayes_sg.kernels.numerics.vectors import total
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)


class DirichletMultinomial(NamedTuple):
    """Categories of rows and the prior's shapes; theta is on the simplex.

    Examples
    --------
    >>> import numpy as np
    >>> from skbayes_sg import sample
    >>> from skbayes_sg.kernels.gradients import Minibatch
    >>> from skbayes_sg.kernels.models import DirichletMultinomial, mirrored
    >>> from skbayes_sg.kernels.samplers import SGLD
    >>> model = DirichletMultinomial(np.array([0, 0, 0, 1, 1, 2]), np.ones(3))
    >>> options = {"step_size": 0.1, "random_state": 0}
    >>> draws = sample(mirrored(model, "entropic"), SGLD(), Minibatch(3), **options)
    >>> draws.shape, bool(np.allclose(draws.sum(axis=2), 1))
    ((1, 1000, 3), True)
    """

    y: np.ndarray  # (N,) categories, 0 ... K - 1
    shape: np.ndarray  # (K,) a


@n_parameters.register(DirichletMultinomial)
def _(model):
    return model.shape.size


@n_rows.register(DirichletMultinomial)
def _(model):
    return model.y.size


@add_gradient.register(DirichletMultinomial)
def _(model, work, theta, idx, scale, out):
    for i in idx:
        out[model.y[i]] += scale / theta[model.y[i]]


@log_likelihood.register(DirichletMultinomial)
def _(model, work, theta, idx):
    value = 0.0
    for i in idx:
        value += math.log(theta[model.y[i]])
    return value


@add_prior_gradient.register(DirichletMultinomial)
def _(model, work, theta, out):
    for k in range(theta.size):
        out[k] += (model.shape[k] - 1.0) / theta[k]


@log_prior.register(DirichletMultinomial)
def _(model, work, theta):
    value = 0.0
    for k in range(theta.size):
        value += (model.shape[k] - 1.0) * math.log(theta[k])
    return value


@is_log_concave_through.register(DirichletMultinomial)
def _(model, map_):
    return isinstance(map_, AdditiveLogRatio)


@metric.register(DirichletMultinomial)
def _(model, work, theta, idx, out):
    out[:] = 0.0
    for k in range(theta.size):
        out[k, k] = _information(model) / theta[k]


@metric_diagonal.register(DirichletMultinomial)
def _(model, work, theta, idx, out, slope):
    for k in range(theta.size):
        out[k] = _information(model) / theta[k]
        slope[k] = -out[k] / theta[k]


@metric_divergence.register(DirichletMultinomial)
def _(model, work, theta, idx, factor, out):
    for k in range(theta.size):
        out[k] = 0.0
        for c in range(len(factor)):
            out[k] -= _information(model) * (factor[c, k] / theta[k]) ** 2


@helper
def _information(model):
    return model.y.size + total(model.shape)


@row_classes.register(DirichletMultinomial)
def _(model):
    return model.y


@leverages.register(DirichletMultinomial)
def _(model, mode):
    return 1.0 / mode[model.y] - 1.0
