"""Targets: the posterior and its gradients in the form in which samplers use them."""

from typing import NamedTuple

import numba
import numpy as np
from numba.extending import overload

from skbayes_sg.kernels.generic import OPTIONS, entry_point, helper
from skbayes_sg.kernels.protocol.coordinates import pull_back, to_theta
from skbayes_sg.kernels.protocol.gradient import estimate
from skbayes_sg.kernels.separate import (
    address_of,
    call_address,
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
    estimate: int  # the address of `estimate`, compiled for these parts
    theta: np.ndarray  # (d,) buffer: the last located parameters
    g: np.ndarray  # (d,) buffer: the gradient at theta
    noise: NamedTuple  # GradientNoise


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


def estimate_by(address, gradient, memory, model, work, theta, rng, out):
    """Call `estimate`; compiled code calls the function at `address` instead."""
    estimate(gradient, memory, model, work, theta, rng, out)


@overload(estimate_by, jit_options=OPTIONS)
def _(address, gradient, memory, model, work, theta, rng, out):
    def by_address(address, gradient, memory, model, work, theta, rng, out):
        call_address(address, (gradient, memory, model, work, theta, rng, out))

    return by_address


@entry_point
def _estimate(gradient, memory, model, work, theta, rng, out):
    estimate(*without_refcounts((gradient, memory, model, work, theta, rng, out)))


def address_of_estimate(gradient, memory, model, work, theta, rng, out):
    """Return the address of `estimate`, compiled for these types.

    Zero without the compiler, and for generators other than numpy's, which numba cannot
    compile.
    """
    if numba.config.DISABLE_JIT or not isinstance(rng, np.random.Generator):
        return 0
    return address_of(_estimate, gradient, memory, model, work, theta, rng, out)


@helper
def locate(target, position):
    """Return theta of `position`, in the target's buffer."""
    to_theta(target.coordinates, position, target.theta)
    return target.theta


@helper
def gradient_at(target, position, rng, out):
    """Write a fresh estimate of the gradient at `position` to `out`."""
    theta = locate(target, position)
    estimate_by(
        target.estimate,
        target.gradient,
        target.memory,
        target.model,
        target.work,
        theta,
        rng,
        target.g,
    )
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
    """Update the estimate of the gradient's variance with a fresh pair of gradients."""
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
