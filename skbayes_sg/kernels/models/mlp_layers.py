"""Activations of hidden layers, by rows of a block.

relu:     a = max(z, 0)
tanh:     a = tanh(z)
softmax:  a = exp(z) / sum over the layer's units of exp(z)

Their derivatives are functions of a, so that z need not be kept.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import helper, kernel_op


class Relu(NamedTuple):
    """Rectified linear units."""


class Tanh(NamedTuple):
    """Hyperbolic tangents."""


class SoftmaxUnits(NamedTuple):
    """Units of a layer that share a total of one."""


LEAST = -41.0  # log of the smallest share that counts

ACTIVATIONS = {"relu": Relu, "tanh": Tanh, "softmax": SoftmaxUnits}


@kernel_op
def activate(activation, z):
    """Replace the (b, m) inputs z of a layer's units by their outputs."""
    raise NotImplementedError


@kernel_op
def deactivate(activation, a, delta):
    """Replace the (b, m) derivatives with respect to a by those with respect to z."""
    raise NotImplementedError


@activate.register(Relu)
def _(activation, z):
    half = z.dtype.type(0.5)
    for b in range(z.shape[0]):
        for k in range(z.shape[1]):  # without a choice, so that it runs in vectors
            z[b, k] = half * (z[b, k] + abs(z[b, k]))


@deactivate.register(Relu)
def _(activation, a, delta):
    zero = a.dtype.type(0.0)
    for b in range(a.shape[0]):
        for k in range(a.shape[1]):
            delta[b, k] = delta[b, k] if a[b, k] > zero else zero


@activate.register(Tanh)
def _(activation, z):
    for b in range(z.shape[0]):
        for k in range(z.shape[1]):
            z[b, k] = math.tanh(z[b, k])


@deactivate.register(Tanh)
def _(activation, a, delta):
    for b in range(a.shape[0]):
        for k in range(a.shape[1]):
            delta[b, k] *= 1.0 - a[b, k] * a[b, k]


@activate.register(SoftmaxUnits)
def _(activation, z):
    softmax_rows(z)


@deactivate.register(SoftmaxUnits)
def _(activation, a, delta):
    for b in range(a.shape[0]):
        mean = 0.0
        for k in range(a.shape[1]):
            mean += a[b, k] * delta[b, k]
        for k in range(a.shape[1]):
            delta[b, k] = a[b, k] * (delta[b, k] - mean)


@helper
def softmax_rows(z):
    """Replace each row of z by its softmax; shares below 1e-18 are zero.

    Numbers too small to be normal would come of them, with which processors are slow.
    """
    for b in range(z.shape[0]):
        top = z[b, 0]
        for k in range(1, z.shape[1]):
            top = max(top, z[b, k])
        total = 0.0
        for k in range(z.shape[1]):
            z[b, k] = 0.0 if z[b, k] - top < LEAST else math.exp(z[b, k] - top)
            total += z[b, k]
        for k in range(z.shape[1]):
            z[b, k] /= total
