"""Four planted errors are rejected by the very checks that the package passes."""

from typing import NamedTuple

import numpy as np
import pytest

from skbayes_sg.kernels.capabilities.anchors import add_difference
from skbayes_sg.kernels.data.minibatch import draw_minibatch
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_prior_gradient, n_rows
from skbayes_sg.kernels.protocol.sampler import init_state, step
from skbayes_sg.kernels.protocol.target import gradient_at
from skbayes_sg.kernels.samplers import SGLD
from tests.kernels.test_exact_laws import draw
from tests.targets import check_law, gaussian, posterior, regression, subsampled_law

N_DRAWS = 100_000


class LoudSGLD(NamedTuple):
    """SGLD with noise of 1.2 times the sd."""


class NoPrior(NamedTuple):
    """Control variates without the prior."""

    control: ControlVariate


class Unscaled(NamedTuple):
    """Control variates without the factor N/n."""

    control: ControlVariate


class Flipped(NamedTuple):
    """Control variates of the wrong sign: g(mode) + prior - differences."""

    control: ControlVariate


@init_state.register(LoudSGLD)
def _(sampler, position, rng):
    return init_state(SGLD(), position, rng)


@step.register(LoudSGLD)
def _(sampler, state, target, h, rng):
    phi, g = state.position, state.g
    gradient_at(target, phi, rng, g)
    for j in range(phi.size):
        phi[j] += 0.5 * h * g[j] + 1.2 * np.sqrt(h) * rng.standard_normal()


def _prepare(gradient, model):
    return gradient._replace(control=prepare(gradient.control, model))


def _init_memory(gradient, model, theta, rng):
    return init_memory(gradient.control, model, theta, rng)


for mutant in (NoPrior, Unscaled, Flipped):
    prepare.register(mutant)(_prepare)
    init_memory.register(mutant)(_init_memory)


@estimate.register(NoPrior)
def _(gradient, memory, model, work, theta, rng, out):
    control = gradient.control
    idx = draw_minibatch(memory.permutation, control.batch_size, rng)
    out[:] = control.likelihood
    scale = n_rows(model) / idx.size
    add_difference(model, work, theta, control.anchor, idx, scale, out)


@estimate.register(Unscaled)
def _(gradient, memory, model, work, theta, rng, out):
    control = gradient.control
    idx = draw_minibatch(memory.permutation, control.batch_size, rng)
    out[:] = control.likelihood
    add_prior_gradient(model, work, theta, out)
    add_difference(model, work, theta, control.anchor, idx, 1.0, out)


@estimate.register(Flipped)
def _(gradient, memory, model, work, theta, rng, out):
    control = gradient.control
    idx = draw_minibatch(memory.permutation, control.batch_size, rng)
    out[:] = control.likelihood
    add_prior_gradient(model, work, theta, out)
    scale = n_rows(model) / idx.size
    add_difference(model, work, theta, control.anchor, idx, -scale, out)


def check_regression(sampler, wrap=lambda gradient: gradient):
    """Check the law of SGLD with control variates on the conjugate regression."""
    model, h = regression(), 1.0
    mean, covariance = subsampled_law(model, 2, h)
    gradient = wrap(ControlVariate(2, mean))
    draws = draw(model, sampler, gradient, h, N_DRAWS)
    check_law(draws, mean, covariance)


def test_the_check_accepts_what_is_right():
    check_regression(SGLD())


def test_too_much_noise_is_rejected():
    with pytest.raises(AssertionError, match="wrong variance"):
        check_regression(LoudSGLD())


@pytest.mark.parametrize("mutant", [NoPrior, Unscaled, Flipped])
def test_wrong_gradient_is_rejected(mutant):
    with pytest.raises(AssertionError, match="wrong"):
        check_regression(SGLD(), mutant)


def test_a_biased_minibatch_is_rejected():
    """The same minibatch at every step: its posterior is not that of all rows."""
    model = gaussian(1, spread=1.5)
    subset = model._replace(y=model.y[:2])
    mean, precision = posterior(model)
    draws = draw(subset, SGLD(), Minibatch(2), 1.0, N_DRAWS)
    with pytest.raises(AssertionError, match="wrong mean"):
        check_law(draws, mean, np.linalg.inv(precision) / 0.75)
