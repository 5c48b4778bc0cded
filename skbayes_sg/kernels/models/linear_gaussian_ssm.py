"""Linear Gaussian state-space models, whose rows are blocks of sequences.

    x_t = A x_(t-1) + N(0, Q),    y_t = c + C x_t + N(0, R),    x_1 ~ N(0, G)

C is given and G the stationary covariance, G = A G A' + Q. The parameters are c (m,),
then A, Q (d, d) and R (m, m) by rows. With M = sum E (x_t - A x_(t-1)) (...)' over the
points of a block given its window (Fisher's identity),

    g_A = Q^-1 sum E (x_t - A x_(t-1)) x_(t-1)',    g_Q = Q^-1 (M - n Q) Q^-1 / 2

and alike for c and R. At the first point of a sequence, the gradient in G is pulled
back to A and Q. Priors: c ~ N(c_0, V), A_ij ~ N(0, v) among stable matrices, and
inverse Wishart laws of Q and R.
"""

from typing import NamedTuple

import numpy as np

from skbayes_sg.kernels.capabilities.buffers import (
    Messages,
    select_messages,
    selected,
)
from skbayes_sg.kernels.data.sequences import (
    Blocks,
    longest_window,
    select_blocks,
)
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.kalman import init_buffers, init_states, init_system
from skbayes_sg.kernels.models.linear_gaussian_ssm_rows import (
    LINKED,
    SSMWork,
    add_row,
    filter_row,
    finish_sums,
    set_parameters,
)
from skbayes_sg.kernels.numerics.small_matrices import (
    invert_covariance,
    multiply,
    small_helper,
)
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)


class InverseWishart(NamedTuple):
    """Density |S|^-(nu + d + 1)/2 exp(-tr(scale S^-1) / 2) of a covariance matrix."""

    freedom: float  # nu
    scale: np.ndarray  # (d, d)


class LinearGaussianSSM(NamedTuple):
    """The posterior of c, A, Q and R."""

    X: np.ndarray  # (T, m), NaN for missing values
    blocks: Blocks
    messages: Messages  # mean and covariance of a state, by rows
    C: np.ndarray  # (m, d)
    level_mean: np.ndarray  # (m,) c_0
    level_precision: np.ndarray  # (m,) of independent numbers
    transition_precision: float  # 1 / v
    state_prior: InverseWishart
    noise_prior: InverseWishart


@n_parameters.register(LinearGaussianSSM)
def _(model):
    m, d = model.C.shape
    return m + 2 * d * d + m * m


@n_rows.register(LinearGaussianSSM)
def _(model):
    return model.blocks.first.size


@init_work.register(LinearGaussianSSM)
def _(model):
    m, d = model.C.shape
    system, states = init_system(m, d), init_states(longest_window(model.blocks), d)
    system.C[:] = model.C
    k = max(m, d)
    shapes = [(4, d, d), (3,), (m,), (m, m), (m,), (m, m), (6, k, k)]
    shapes += [(n_parameters(model),), (n_parameters(model),), (1,)]
    work = SSMWork(system, states, init_buffers(m, d), *map(np.zeros, shapes))
    for function in LINKED:
        function.link(model, work)
    return work


@selected.register(LinearGaussianSSM)
def _(model, rows, factor=1.0):
    return model._replace(
        blocks=select_blocks(model.blocks, rows, factor),
        messages=select_messages(model.messages, rows),
    )


@helper
def _sum_rows(model, work, theta, idx):
    """Write the gradient of the rows in `idx` to ``work.g``; return log p of them."""
    copy_to(theta, work.x)
    set_parameters(model, work, 0)
    value = 0.0
    for i in idx:
        add_row(model, work, np.int64(i))
        value += work.value[0]
    finish_sums(model, work, 0)
    return value


@add_gradient.register(LinearGaussianSSM)
def _(model, work, theta, idx, scale, out):
    _sum_rows(model, work, theta, idx)
    scale *= model.blocks.weight
    for j in range(out.size):
        out[j] += scale * work.g[j]


@add_value_and_gradient.register(LinearGaussianSSM)
def _(model, work, theta, idx, scale, out):
    value = _sum_rows(model, work, theta, idx)
    scale *= model.blocks.weight
    for j in range(out.size):
        out[j] += scale * work.g[j]
    return scale * value


@log_likelihood.register(LinearGaussianSSM)
def _(model, work, theta, idx):
    copy_to(theta, work.x)
    set_parameters(model, work, 0)
    value = 0.0
    for i in idx:
        filter_row(model, work, np.int64(i))
        value += work.value[0]
    return model.blocks.weight * value


@add_prior_gradient.register(LinearGaussianSSM)
def _(model, work, theta, out):
    m, d = model.C.shape
    for i in range(m):
        out[i] -= model.level_precision[i] * (theta[i] - model.level_mean[i])
    q, r = m + d * d, m + 2 * d * d
    for j in range(m, q):
        out[j] -= model.transition_precision * theta[j]
    _add_wishart_slope(model.state_prior, work.square, theta[q:r], out[q:r])
    _add_wishart_slope(model.noise_prior, work.square, theta[r:], out[r:])


@log_prior.register(LinearGaussianSSM)
def _(model, work, theta):
    m, d = model.C.shape
    value = 0.0
    for i in range(m):
        away = theta[i] - model.level_mean[i]
        value -= 0.5 * model.level_precision[i] * away * away
    q, r = m + d * d, m + 2 * d * d
    for j in range(m, q):
        value -= 0.5 * model.transition_precision * theta[j] ** 2
    value += _log_wishart(model.state_prior, work.square, theta[q:r])
    return value + _log_wishart(model.noise_prior, work.square, theta[r:])


@small_helper
def _log_wishart(prior, square, x):
    d = prior.scale.shape[0]
    inverse, root = square[0, :d, :d], square[1, :d, :d]
    log_det = invert_covariance(x.reshape(d, d), root, inverse)
    value = -0.5 * (prior.freedom + d + 1.0) * log_det
    for i in range(d):
        for j in range(d):
            value -= 0.5 * prior.scale[i, j] * inverse[j, i]
    return value


@small_helper
def _add_wishart_slope(prior, square, x, out):
    d = prior.scale.shape[0]
    inverse, root = square[0, :d, :d], square[1, :d, :d]
    invert_covariance(x.reshape(d, d), root, inverse)
    multiply(inverse, prior.scale, root)
    for i in range(d):
        for j in range(d):
            total = -(prior.freedom + d + 1.0) * inverse[i, j]
            for k in range(d):
                total += root[i, k] * inverse[k, j]
            out[i * d + j] += 0.5 * total
