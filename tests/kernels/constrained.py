"""Constrained targets with known posteriors, and what is asked of their draws."""

import itertools
import math
from typing import NamedTuple

import numpy as np
from scipy import stats
from scipy.special import gammaln

from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.metrics import (
    metric,
    metric_diagonal,
    metric_divergence,
)
from skbayes_sg.kernels.capabilities.positive_blocks import (
    add_gain_and_loss,
    n_simplexes,
    positive_prior,
)
from skbayes_sg.kernels.capabilities.strata import leverages, row_classes
from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)
from tests.targets import batch_means


class Shapes(NamedTuple):
    """Independent densities theta^(a - 1) exp(-c theta) (1 - theta)^(b - 1).

    Gamma(a, rate c) where b = 1, Beta(a, b) where c = 0; one row, which says nothing.
    """

    a: np.ndarray  # (d,)
    b: np.ndarray  # (d,)
    c: np.ndarray  # (d,)


@n_parameters.register(Shapes)
def _(model):
    return model.a.size


@n_rows.register(Shapes)
def _(model):
    return 1


@add_gradient.register(Shapes)
def _(model, work, theta, idx, scale, out):
    pass


@log_likelihood.register(Shapes)
def _(model, work, theta, idx):
    return 0.0


@add_prior_gradient.register(Shapes)
def _(model, work, theta, out):
    for j in range(theta.size):
        out[j] += (model.a[j] - 1.0) / theta[j] - model.c[j]
        if model.b[j] != 1.0:
            out[j] -= (model.b[j] - 1.0) / (1.0 - theta[j])


@log_prior.register(Shapes)
def _(model, work, theta):
    value = 0.0
    for j in range(theta.size):
        value += (model.a[j] - 1.0) * math.log(theta[j]) - model.c[j] * theta[j]
        if model.b[j] != 1.0:
            value += (model.b[j] - 1.0) * math.log(1.0 - theta[j])
    return value


class LogRatios(NamedTuple):
    """The posterior of log ratios u of probabilities x, worked out by hand.

    log f_i = u_{y_i} - log(1 + sum exp u), where u_K = 0, and the log prior is
    a' u - sum(a) log(1 + sum exp u). The metric is (N + sum(a)) (diag(x) - x x') + I.
    """

    y: np.ndarray  # (N,)
    shape: np.ndarray  # (K,) a


@n_parameters.register(LogRatios)
def _(model):
    return model.shape.size - 1


@n_rows.register(LogRatios)
def _(model):
    return model.y.size


@helper
def ratios(u):
    """Return x without its last part."""
    return np.exp(u) / (1.0 + np.exp(u).sum())


@add_gradient.register(LogRatios)
def _(model, work, theta, idx, scale, out):
    x = ratios(theta)
    for i in idx:
        out -= scale * x
        if model.y[i] < theta.size:
            out[model.y[i]] += scale


@add_prior_gradient.register(LogRatios)
def _(model, work, theta, out):
    out += model.shape[:-1] - model.shape.sum() * ratios(theta)


@log_likelihood.register(LogRatios)
def _(model, work, theta, idx):
    value = -idx.size * math.log(1.0 + np.exp(theta).sum())
    for i in idx:
        if model.y[i] < theta.size:
            value += theta[model.y[i]]
    return value


@log_prior.register(LogRatios)
def _(model, work, theta):
    linear = (model.shape[:-1] * theta).sum()
    return linear - model.shape.sum() * math.log(1.0 + np.exp(theta).sum())


@metric.register(LogRatios)
def _(model, work, theta, idx, out):
    x, size = ratios(theta), model.y.size + model.shape.sum()
    for j in range(theta.size):
        for k in range(theta.size):
            out[j, k] = -size * x[j] * x[k]
        out[j, j] += size * x[j] + 1.0


@metric_diagonal.register(LogRatios)
def _(model, work, theta, idx, out, slope):
    # As if the metric of x were diagonal with the same numbers: that of u is the same.
    x, size = ratios(theta), model.y.size + model.shape.sum()
    out[:] = 1.0 + size * x * (1.0 - x)
    slope[:] = size * x * (1.0 - x) * (1.0 - 2.0 * x)


@metric_divergence.register(LogRatios)
def _(model, work, theta, idx, factor, out):
    # d_j G_km = size (delta_km d_j x_k - x_m d_j x_k - x_k d_j x_m)
    x, size = ratios(theta), model.y.size + model.shape.sum()
    p, d = factor.T @ factor, theta.size
    slope = np.diag(x) - np.outer(x, x)  # d_j x_k
    for k in range(d):
        out[k] = 0.0
        for m in range(d):
            for j in range(d):
                change = -x[m] * slope[j, k] - x[k] * slope[j, m]
                if k == m:
                    change += slope[j, k]
                out[k] += size * change * p[m, j]


@row_classes.register(LogRatios)
def _(model):
    return model.y


@leverages.register(LogRatios)
def _(model, mode):
    x = ratios(mode)
    return 1.0 / np.append(x, 1.0 - x.sum())[model.y] - 1.0


class InverseWishart(NamedTuple):
    """A 2 x 2 covariance matrix, theta its four numbers."""

    dof: float
    scale: np.ndarray  # (2, 2)


@n_parameters.register(InverseWishart)
def _(model):
    return 4


@n_rows.register(InverseWishart)
def _(model):
    return 1


@add_gradient.register(InverseWishart)
def _(model, work, theta, idx, scale, out):
    pass


@log_likelihood.register(InverseWishart)
def _(model, work, theta, idx):
    return 0.0


@log_prior.register(InverseWishart)
def _(model, work, theta):
    a, b, c, d = theta
    p, q, r, s = model.scale.ravel()
    det = a * d - b * c
    trace = (p * d - q * c - r * b + s * a) / det
    return -0.5 * (model.dof + 3.0) * math.log(det) - 0.5 * trace


@add_prior_gradient.register(InverseWishart)
def _(model, work, theta, out):
    a, b, c, d = theta
    p, q, r, s = model.scale.ravel()
    det = a * d - b * c
    trace = (p * d - q * c - r * b + s * a) / det
    power = 0.5 * (trace - model.dof - 3.0) / det  # of the determinant
    out[0] += power * d - 0.5 * s / det
    out[1] += -power * c + 0.5 * r / det
    out[2] += -power * b + 0.5 * q / det
    out[3] += power * a - 0.5 * p / det


class Mixture(NamedTuple):
    """Rows of unknown component; theta are the components' weights, unnormalized."""

    density: np.ndarray  # (N, K) of each row in each component
    shape: np.ndarray  # (K,) of the prior


class MixtureWork(NamedTuple):
    """The component of each row."""

    component: np.ndarray  # (N,)


@init_work.register(Mixture)
def _(model):
    return MixtureWork(np.zeros(model.density.shape[0], np.int64))


@n_parameters.register(Mixture)
def _(model):
    return model.shape.size


@n_rows.register(Mixture)
def _(model):
    return model.density.shape[0]


@draw_local.register(Mixture)
def _(model, work, theta, idx, rng):
    for i in idx:
        total = 0.0
        for k in range(theta.size):
            total += theta[k] * model.density[i, k]
        left, k = rng.random() * total, 0
        while k < theta.size - 1 and left > theta[k] * model.density[i, k]:
            left -= theta[k] * model.density[i, k]
            k += 1
        work.component[i] = k


@add_gain_and_loss.register(Mixture)
def _(model, work, theta, idx, scale, gain, loss):
    for i in idx:
        gain[work.component[i]] += scale


@n_simplexes.register(Mixture)
def _(model):
    return 1


@positive_prior.register(Mixture)
def _(model, work, shape, rate):
    for k in range(shape.size):
        shape[k] = model.shape[k]
        rate[k] = 1.0


@add_gradient.register(Mixture)
def _(model, work, theta, idx, scale, out):
    pass


@add_prior_gradient.register(Mixture)
def _(model, work, theta, out):
    pass


class Topics(NamedTuple):
    """Words, each of one of several topics; theta are the topics, unnormalized."""

    words: np.ndarray  # (N,) 0 ... W - 1
    shape: np.ndarray  # (K, W) of the prior


class TopicsWork(NamedTuple):
    """The topic of each word."""

    topic: np.ndarray  # (N,)
    weight: np.ndarray  # (K,) buffer


@init_work.register(Topics)
def _(model):
    topic = np.zeros(model.words.size, np.int64)
    return TopicsWork(topic, np.zeros(len(model.shape)))


@n_parameters.register(Topics)
def _(model):
    return model.shape.size


@n_rows.register(Topics)
def _(model):
    return model.words.size


@n_simplexes.register(Topics)
def _(model):
    return model.shape.shape[0]


@draw_local.register(Topics)
def _(model, work, theta, idx, rng):
    parts = theta.reshape(model.shape.shape)
    for i in idx:
        for k in range(len(parts)):
            work.weight[k] = parts[k, model.words[i]] / parts[k].sum()
        left, k = rng.random() * work.weight.sum(), 0
        while k < len(parts) - 1 and left > work.weight[k]:
            left -= work.weight[k]
            k += 1
        work.topic[i] = k


@add_gain_and_loss.register(Topics)
def _(model, work, theta, idx, scale, gain, loss):
    for i in idx:
        gain[work.topic[i] * model.shape.shape[1] + model.words[i]] += scale


@positive_prior.register(Topics)
def _(model, work, shape, rate):
    shape[:] = model.shape.reshape(-1)
    rate[:] = 1.0


@add_gradient.register(Topics)
def _(model, work, theta, idx, scale, out):
    pass


@add_prior_gradient.register(Topics)
def _(model, work, theta, out):
    pass


def topic_products(model):
    """Return E(phi_1 phi_2) of two topics, (W,), by enumeration of all topics."""
    total, sums = 0.0, 0.0
    for topics in itertools.product(range(2), repeat=model.words.size):
        b = model.shape.copy()
        np.add.at(b, (np.array(topics), model.words), 1.0)
        weight = np.exp(np.sum(gammaln(b)) - np.sum(gammaln(b.sum(axis=1))))
        total += weight
        sums += weight * np.prod(b / b.sum(axis=1, keepdims=True), axis=0)
    return sums / total


def check_moments(draws, laws, tolerance=0.0):
    """Assert mean and variance of each coordinate, frozen scipy laws, within 4 MCSE."""
    for x, law in zip(draws.T, laws, strict=True):
        for values, expected in ((x, law.mean()), ((x - law.mean()) ** 2, law.var())):
            average, error = batch_means(values)
            assert error < 0.05 * abs(expected), "too few draws"
            assert abs(average - expected) < 4 * error + tolerance * abs(expected)


def beta_marginals(shapes):
    """Return the laws of the parts of a Dirichlet."""
    return [stats.beta(b, np.sum(shapes) - b) for b in shapes]
