"""Targets: the posterior and its gradients in the form in which samplers use them."""

from typing import NamedTuple

import numba
import numpy as np
from numba.extending import overload

from skbayes_sg.kernels.generic import (
    OPTIONS,
    entry_point,
    helper,
    implements,
)
from skbayes_sg.kernels.protocol.coordinates import pull_back, to_theta
from skbayes_sg.kernels.protocol.gradient import estimate
from skbayes_sg.kernels.protocol.model import needs_refresh, record, refresh
from skbayes_sg.kernels.separate import (
    address_of,
    call_address,
    load,
    stored,
    without_refcounts,
)


class Target(NamedTuple):
    """A posterior over positions with noisy gradients, and the buffers of one chain."""

    model: NamedTuple
    work: NamedTuple
    gradient: NamedTuple
    memory: NamedTuple
    coordinates: NamedTuple
    inverse_temperature: float
    theta: np.ndarray  # (d,) buffer: the last located parameters
    g: np.ndarray  # (d,) buffer: the gradient at theta
    noise: NamedTuple  # GradientNoise
    estimate: NamedTuple  # ByAddress: `estimate`, compiled for these parts


class HiddenTarget(NamedTuple):
    """A target for samplers that only need gradients.

    Its type does not depend on the types of the model and the gradient estimator, so
    that a sampler's loop is compiled once for all of them.
    """

    coordinates: NamedTuple
    inverse_temperature: float
    theta: np.ndarray
    g: np.ndarray
    noise: NamedTuple
    estimate: NamedTuple  # ByAddress, all three
    record: NamedTuple
    refresh: NamedTuple


class ByAddress(NamedTuple):
    """The address of a compiled function, and its stored first argument."""

    address: int  # zero if there is no function
    memory: np.ndarray  # see `stored`


class GradientNoise(NamedTuple):
    """Running estimate of the gradient's variance V, per coordinate of the position.

    It uses that for two independent estimates at the same position, of any estimator,
    V = E (g1 - g2)^2 / 2.
    """

    variance: np.ndarray  # (d,) V, the running estimate
    removed: np.ndarray  # (d,) V if noise correction is on, else 0
    count: np.ndarray  # (1,) measurements so far
    pair: np.ndarray  # (2, d) buffer
    corrects: bool


class Parts(NamedTuple):
    """The components of an estimate of the gradient."""

    gradient: NamedTuple
    memory: NamedTuple
    model: NamedTuple
    work: NamedTuple


NOTHING = ByAddress(0, np.empty(0, np.int64))
ALWAYS = -1  # passed instead of the number of an iteration


def estimate_for(target, theta, rng):
    """Write an estimate of the gradient at `theta` to the buffer of the target."""
    parts = target.gradient, target.memory, target.model, target.work
    estimate(*parts, theta, rng, target.g)


@overload(estimate_for, jit_options=OPTIONS)
def _(target, theta, rng):
    def by_address(target, theta, rng):
        code = target.estimate
        call_address(code.address, code.memory, (theta, rng, target.g))

    return by_address


@entry_point
def _estimate(memory, theta, rng, out):
    theta, rng, out = without_refcounts((theta, rng, out))
    parts = load(memory)
    estimate(parts.gradient, parts.memory, parts.model, parts.work, theta, rng, out)


@entry_point
def _record(memory, theta, out):
    theta, out = without_refcounts((theta, out))
    parts = load(memory)
    record(parts.model, parts.work, theta, out)


@entry_point
def _refresh(memory, position, t, rng):
    position, rng = without_refcounts((position, rng))
    target = load(memory)
    if t == ALWAYS or needs_refresh(target.model, t):
        refresh(target.model, target, position, rng)


def compiled_estimate(gradient, memory, model, work, theta, rng, out):
    """Return `estimate` compiled for these components.

    Returns `NOTHING` without the compiler, and for generators other than numpy's, which
    compiled code does not support.
    """
    if numba.config.DISABLE_JIT or not isinstance(rng, np.random.Generator):
        return NOTHING
    parts = Parts(gradient, memory, model, work)
    return ByAddress(address_of(_estimate, parts, theta, rng, out), stored(parts))


def hidden(target, rng, draws):
    """Return a `HiddenTarget` that writes rows of `draws`, if it can be compiled."""
    if target.estimate.address == 0 or not draws.flags.c_contiguous:
        return target
    parts = Parts(target.gradient, target.memory, target.model, target.work)
    write, update = NOTHING, NOTHING
    if record.dispatch(type(target.model)) is not record.dispatch(object):
        address = address_of(_record, parts, target.theta, draws.reshape(-1)[:0])
        write = ByAddress(address, target.estimate.memory)
    if implements(refresh, target.model):
        address = address_of(_refresh, target, target.theta, 0, rng)
        update = ByAddress(address, stored(target))
    shared = {name: getattr(target, name) for name in HiddenTarget._fields[:6]}
    return HiddenTarget(**shared, record=write, refresh=update)


@helper
def locate(target, position):
    """Return theta of `position`, in the target's buffer."""
    to_theta(target.coordinates, position, target.theta)
    return target.theta


@helper
def gradient_at(target, position, rng, out):
    """Write a new estimate of the gradient at `position` to `out`."""
    theta = locate(target, position)
    estimate_for(target, theta, rng)
    pull_back(target.coordinates, target.g, out)
    if target.inverse_temperature != 1.0:
        for j in range(out.size):
            out[j] *= target.inverse_temperature


@helper
def noise_sd(target, j, variance, c):
    """Return the sd of the noise to inject into coordinate j.

    A step that adds ``c * g`` already contains noise of variance c^2 V from the
    minibatch. With noise correction it is subtracted, but not below zero.
    """
    if not target.noise.corrects:
        return np.sqrt(variance)  # independent of j, so compilers compute it once
    return np.sqrt(max(variance - c * c * target.noise.removed[j], 0.0))


@helper
def measure_noise(target, position, rng):
    """Update the estimate of the gradient's variance with a new pair of gradients."""
    noise = target.noise
    for k in range(2):
        gradient_at(target, position, rng, noise.pair[k])
    noise.count[0] += 1.0
    weight = max(1.0 / noise.count[0], 0.01)  # a mean, later an exponential average
    for j in range(position.size):
        half = 0.5 * (noise.pair[0, j] - noise.pair[1, j]) ** 2
        noise.variance[j] += weight * (half - noise.variance[j])
        if noise.corrects:
            noise.removed[j] = noise.variance[j]
