"""Logistic regression, for two classes and for more.

two:  log f = y eta - log(1 + e^eta),     y in {0, 1}
K:    log f = eta_y - log sum_k e^eta_k,  y in {0, ..., K - 1}
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper
from skbayes_sg.kernels.models.glm import curvature, log_density, score
from skbayes_sg.kernels.numerics.exponential import exp


class Logistic(NamedTuple):
    """The Bernoulli family with logit link: one output."""


class Softmax(NamedTuple):
    """The categorical family: one output per class."""


@score.register(Logistic)
def _(family, eta, y, out):
    one = eta.dtype.type(1.0)
    for b in range(y.size):
        out[0, b] = y[b] - one / (one + exp(-eta[0, b]))


@log_density.register(Logistic)
def _(family, eta, y, out):
    for b in range(y.size):
        z = eta[0, b]
        out[b] = y[b] * z - max(z, 0.0) - math.log1p(math.exp(-abs(z)))


@curvature.register(Logistic)
def _(family, eta, k, m, out):
    for b in range(out.size):
        p = 1.0 / (1.0 + math.exp(-eta[0, b]))
        out[b] = p * (1.0 - p)


@score.register(Softmax)
def _(family, eta, y, out):
    n_classes = eta.shape[0]
    for b in range(y.size):
        top, total = _normaliser(eta, b)
        for k in range(n_classes):
            out[k, b] = -math.exp(eta[k, b] - top) / total
        out[int(y[b]), b] += 1.0


@log_density.register(Softmax)
def _(family, eta, y, out):
    for b in range(y.size):
        top, total = _normaliser(eta, b)
        out[b] = eta[int(y[b]), b] - top - math.log(total)


@curvature.register(Softmax)
def _(family, eta, k, m, out):
    for b in range(out.size):
        top, total = _normaliser(eta, b)
        p_k = math.exp(eta[k, b] - top) / total
        p_m = math.exp(eta[m, b] - top) / total
        out[b] = p_k * (int(k == m) - p_m)


@helper
def _normaliser(eta, b):
    top = eta[0, b]
    for k in range(1, eta.shape[0]):
        top = max(top, eta[k, b])
    total = 0.0
    for k in range(eta.shape[0]):
        total += math.exp(eta[k, b] - top)
    return top, total
