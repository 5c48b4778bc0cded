"""Densities of minibatches of pairs of nodes, and their gradients."""

import math

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.blockmodel_chances import link_probability
from skbayes_sg.kernels.models.blockmodel_pairs import (
    PairBlockmodel,
    is_linked,
    unpack,
)
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    log_likelihood,
    log_prior,
)


@helper
def _probability(x, y, rate):
    return min(max(link_probability(x, y, rate), 1e-12), 1.0 - 1e-12)


@add_gradient.register(PairBlockmodel)
def _(model, work, theta, idx, scale, out):
    n, k = model.indptr.size - 1, model.alpha.size
    x, y, rate = work.rows[0], work.rows[1], work.rows[2]
    unpack(model, theta, n, rate)
    for row in idx:
        a, b = row // n, row % n
        mass_a, mass_b = unpack(model, theta, a, x), unpack(model, theta, b, y)
        p = _probability(x[:-1], y[:-1], rate)
        factor = scale / p if is_linked(model, a, b) else -scale / (1.0 - p)
        rest, last = 1.0, rate[k]
        for j in range(k + 1):
            w = rest
            if j < k:
                gap, w = rate[j] - last, x[j] * y[j]
                rest -= w
                out[a * k + j] += factor * (last + y[j] * gap - p) / mass_a
                out[b * k + j] += factor * (last + x[j] * gap - p) / mass_b
            place = n * k + 2 * j
            total = theta[place] + theta[place + 1]
            out[place] += factor * w * (1.0 - rate[j]) / total
            out[place + 1] -= factor * w * rate[j] / total


@log_likelihood.register(PairBlockmodel)
def _(model, work, theta, idx):
    n, value = model.indptr.size - 1, 0.0
    x, y, rate = work.rows[0], work.rows[1], work.rows[2]
    unpack(model, theta, n, rate)
    for row in idx:
        unpack(model, theta, row // n, x)
        unpack(model, theta, row % n, y)
        p = _probability(x[:-1], y[:-1], rate)
        value += math.log(p if is_linked(model, row // n, row % n) else 1.0 - p)
    return value


@helper
def _shape(model, j):
    """Return the shape of the Gamma prior of parameter j."""
    k, size = model.alpha.size, (model.indptr.size - 1) * model.alpha.size
    if j < size:
        return model.alpha[j % k]
    prior = model.link_prior if j < size + 2 * k else model.background_prior
    return prior[(j - size) % 2]


@add_prior_gradient.register(PairBlockmodel)
def _(model, work, theta, out):
    for j in range(theta.size):
        out[j] += (_shape(model, j) - 1.0) / theta[j] - 1.0


@log_prior.register(PairBlockmodel)
def _(model, work, theta):
    value = 0.0
    for j in range(theta.size):
        value += (_shape(model, j) - 1.0) * math.log(theta[j]) - theta[j]
    return value
