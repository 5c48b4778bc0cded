"""The Gaussian test target: the mean of Gaussian rows with a known precision matrix.

    y_i ~ N(theta, (Lambda / N)^-1) for i = 1 ... N,    flat prior

The posterior is N(mean of y, Lambda^-1), independent of the spread of the rows, which
only affects the variance of minibatch gradients. theta is the mean itself, (d,).
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian,
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    is_log_concave,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)


class GaussianMean(NamedTuple):
    """The rows and the posterior precision."""

    y: np.ndarray  # (N, d)
    precision: np.ndarray  # (d, d) Lambda


@n_parameters.register(GaussianMean)
def _(model):
    return model.y.shape[1]


@n_rows.register(GaussianMean)
def _(model):
    return model.y.shape[0]


@add_gradient.register(GaussianMean)
def _(model, work, theta, idx, scale, out):
    share = scale / model.y.shape[0]
    for i in idx:
        for j in range(theta.size):
            for m in range(theta.size):
                out[j] += share * model.precision[j, m] * (model.y[i, m] - theta[m])


@log_likelihood.register(GaussianMean)
def _(model, work, theta, idx):
    total = 0.0
    for i in idx:
        for j in range(theta.size):
            for m in range(theta.size):
                left, right = model.y[i, j] - theta[j], model.y[i, m] - theta[m]
                total -= 0.5 * left * model.precision[j, m] * right
    return total / model.y.shape[0]


@add_hessian.register(GaussianMean)
def _(model, work, theta, idx, scale, out):
    out += scale * idx.size / model.y.shape[0] * model.precision


@add_hessian_diagonal.register(GaussianMean)
def _(model, work, theta, idx, scale, out):
    out += scale * idx.size / model.y.shape[0] * np.diag(model.precision)


@add_prior_gradient.register(GaussianMean)
def _(model, work, theta, out):
    pass


@log_prior.register(GaussianMean)
def _(model, work, theta):
    return 0.0


@add_prior_hessian_diagonal.register(GaussianMean)
def _(model, work, theta, out):
    pass


@is_log_concave.register(GaussianMean)
def _(model):
    return True
