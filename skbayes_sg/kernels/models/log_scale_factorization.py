"""Matrix factorization in which the sampler moves the prior of the rows, too.

    theta = (rows of users and items, m and log lambda of users, those of items)
    m_f | lambda_f ~ N(0, 1 / lambda_f),    lambda_f ~ Gamma(shape, rate_f)

The precisions go through the map `Exp`, with its Jacobian. Everything else, what is
recorded included, is as in `matrix_factorization`.
"""

import math

import numpy as np

from skbayes_sg.kernels.capabilities.curvature import add_prior_hessian_diagonal
from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
    unconstrain,
)
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.maps import Exp
from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_conditionals import (
    draw_links_and_noise,
)
from skbayes_sg.kernels.models.matrix_factorization_draws import record_all, unpack_of
from skbayes_sg.kernels.models.matrix_factorization_rows import (
    add_row_prior_gradient,
    add_row_prior_hessian,
    as_matrix,
    row_log_prior,
    side_moments,
    width,
)
from skbayes_sg.kernels.protocol.model import (
    add_prior_gradient,
    log_prior,
    n_parameters,
    record,
    refresh,
    theta_of,
)
from skbayes_sg.kernels.protocol.target import locate


class LogScaleFactorization(MatrixFactorization):
    """The same data and priors, with m and log lambda as part of theta."""


@n_parameters.register(LogScaleFactorization)
def _(model):
    return (model.n_users + model.n_items + 4) * width(model)


@add_prior_gradient.register(LogScaleFactorization)
def _(model, work, theta, out):
    q, end = width(model), model.n_users + model.n_items
    x, g = as_matrix(theta, q), as_matrix(out, q)
    read_hyper(model, work, x)
    add_row_prior_gradient(model, work, x, g)
    for side in range(2):
        count = side_moments(model, work, x, side)
        slope = work.moments[1]  # of the log density in lambda
        for f in range(q):
            m, inverse = work.hyper[side, 0, f], work.hyper[side, 1, f]
            g[end + 2 * side, f] += inverse * (work.moments[0, f] - m)
            power = 0.5 * (count + 1) + model.prior.shape - 1.0
            decay = 0.5 * (work.moments[1, f] + m * m) + model.prior.rate[f]
            slope[f] = power / inverse - decay
        k = end + 2 * side + 1
        add_pulled_back(Exp(q), x[k], work.hyper[side, 1], slope, 1.0, g[k])


@log_prior.register(LogScaleFactorization)
def _(model, work, theta):
    q, end = width(model), model.n_users + model.n_items
    x = as_matrix(theta, q)
    read_hyper(model, work, x)
    value = row_log_prior(model, work, x)
    for side in range(2):
        m, inverse = work.hyper[side, 0], work.hyper[side, 1]
        for f in range(q):
            value += (model.prior.shape - 0.5) * math.log(inverse[f])
            value -= inverse[f] * (0.5 * m[f] * m[f] + model.prior.rate[f])
        value += log_jacobian(Exp(q), x[end + 2 * side + 1], inverse)
    return value


@add_prior_hessian_diagonal.register(LogScaleFactorization)
def _(model, work, theta, out):
    q, n = width(model), model.n_users
    x, diagonal, end = as_matrix(theta, q), as_matrix(out, q), n + model.n_items
    read_hyper(model, work, x)
    add_row_prior_hessian(model, work, diagonal)
    for side in range(2):
        side_moments(model, work, x, side)
        size = n if side == 0 else model.n_items
        for f in range(q):
            m, inverse = work.hyper[side, 0, f], work.hyper[side, 1, f]
            decay = 0.5 * (work.moments[1, f] + m * m) + model.prior.rate[f]
            diagonal[end + 2 * side, f] += inverse * (size + 1)
            diagonal[end + 2 * side + 1, f] += inverse * decay


@refresh.register(LogScaleFactorization)
def _(model, target, position, rng):
    x = as_matrix(locate(target, position), width(model))
    read_hyper(model, target.work, x)
    draw_links_and_noise(model, target.work, x, target.inverse_temperature, rng)


@record.register(LogScaleFactorization)
def _(model, work, theta, out):
    read_hyper(model, work, as_matrix(theta, width(model)))
    record_all(model, work, theta, out)


@theta_of.register(LogScaleFactorization)
def _(model, draw):
    n, q = model.n_users + model.n_items, width(model)
    hyper = unpack_of(model, draw).hyper.copy()
    hyper[:, 1] = unconstrain(Exp(q), hyper[:, 1])
    theta = np.concatenate([draw[: n * q], hyper.ravel()])
    return np.ascontiguousarray(theta, model.y.dtype)


@helper
def read_hyper(model, work, x):
    """Bring the work up to date with m and log lambda, the last rows of theta."""
    hyper, mean, n = work.hyper, work.mean, model.n_users
    tail = x[n + model.n_items :]
    for i in range(mean.shape[0]):
        side = 0 if i < n else 1
        for f in range(mean.shape[1]):
            mean[i, f] += tail[2 * side, f] - hyper[side, 0, f]
    for side in range(2):
        for f in range(mean.shape[1]):
            hyper[side, 0, f] = tail[2 * side, f]
        constrain(Exp(mean.shape[1]), tail[2 * side + 1], hyper[side, 1])
