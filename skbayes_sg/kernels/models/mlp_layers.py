"""Activation functions of hidden layers, applied to the rows of a chunk.

relu:     a = max(z, 0)
tanh:     a = tanh(z)
softmax:  a = exp(z) / sum over the layer's units of exp(z)

Their derivatives are functions of a, so z is not stored.
"""

import math
from typing import NamedTuple

from skbayes_sg.kernels.generic import kernel_op
from skbayes_sg.kernels.likelihoods.categorical import normalizer, share


class Relu(NamedTuple):
    """Rectified linear units."""


class Tanh(NamedTuple):
    """Hyperbolic tangents."""


class SoftmaxUnits(NamedTuple):
    """Units of a layer whose outputs sum to one."""


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
        for k in range(z.shape[1]):  # without a branch, so that it vectorizes
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
    for b in range(z.shape[0]):
        top, total = normalizer(z.T, b)
        for k in range(z.shape[1]):
            z[b, k] = share(z[b, k] - top, total)


@deactivate.register(SoftmaxUnits)
def _(activation, a, delta):
    for b in range(a.shape[0]):
        mean = 0.0
        for k in range(a.shape[1]):
            mean += a[b, k] * delta[b, k]
        for k in range(a.shape[1]):
            delta[b, k] = a[b, k] * (delta[b, k] - mean)
