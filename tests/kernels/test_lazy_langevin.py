"""Lazy steps have the law of the eager ones that they stand for."""

from typing import NamedTuple

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.capabilities.theta_blocks import block_prior, blocks_of
from skbayes_sg.kernels.coordinates import Dense, Diagonal, Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    n_parameters,
    n_rows,
)
from skbayes_sg.kernels.protocol.sampler import catch_up, init_state, step
from skbayes_sg.kernels.samplers import LazyLangevin, LeimkuhlerMatthews
from tests.probe import Scripted

WIDTH, N_BLOCKS = 2, 5


class Blocks(NamedTuple):
    """Rows y_i ~ N(theta of block owner_i, 1), and a Gaussian prior."""

    owner: np.ndarray  # (N,)
    y: np.ndarray  # (N, WIDTH)
    mean: np.ndarray  # (N_BLOCKS, WIDTH)
    precision: np.ndarray  # (WIDTH,)


@n_parameters.register(Blocks)
def _(model):
    return model.mean.size


@n_rows.register(Blocks)
def _(model):
    return model.owner.size


@add_gradient.register(Blocks)
def _(model, work, theta, idx, scale, out):
    for i in idx:
        for f in range(WIDTH):
            j = model.owner[i] * WIDTH + f
            out[j] += scale * (model.y[i, f] - theta[j])


@add_prior_gradient.register(Blocks)
def _(model, work, theta, out):
    for j in range(theta.size):
        b, f = j // WIDTH, j % WIDTH
        out[j] += model.precision[f] * (model.mean[b, f] - theta[j])


@blocks_of.register(Blocks)
def _(model, i):
    return (model.owner[i],)


@block_prior.register(Blocks)
def _(model, work, block, mean, precision):
    for f in range(WIDTH):
        mean[f] = model.mean[block, f]
        precision[f] = model.precision[f]


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    return for_kernels(
        Blocks(
            owner=np.array([0, 0, 0, 1, 1, 2, 3, 3], np.int32),  # block 4 has no data
            y=rng.normal(size=(8, WIDTH)),
            mean=rng.normal(size=(N_BLOCKS, WIDTH)),
            precision=np.array([0.7, 2.0]),
        )
    )


@pytest.fixture(scope="module")
def coordinates():
    rng = np.random.default_rng(1)
    d = N_BLOCKS * WIDTH
    return for_kernels(Diagonal(rng.normal(size=d), rng.uniform(0.5, 0.8, d)))


def eager_law(h, a, n_steps):
    """Return A and B B' of (phi - m, old) after steps that feel the prior alone."""
    A = np.array([[1.0 - a, 0.5 * np.sqrt(h)], [0.0, 0.0]])
    b = np.array([0.5 * np.sqrt(h), 1.0])
    power, covariance = np.eye(2), np.zeros((2, 2))
    for _ in range(n_steps):
        power, covariance = A @ power, A @ covariance @ A.T + np.outer(b, b)
    return power, covariance


@pytest.mark.parametrize("n_steps", [1, 2, 3, 7, 64, 1001])
@pytest.mark.parametrize("temperature", [1.0, 2.0])
def test_steps_made_together_are_those_made_one_by_one(
    n_steps, temperature, model, coordinates
):
    h, sampler = 0.9, LazyLangevin(WIDTH)

    def after(position, old, normals):
        rng = Scripted(normals)
        target = make_target(
            model, Minibatch(1), coordinates, rng, inverse_temperature=1 / temperature
        )
        state = init_state(sampler, position, Scripted())
        state.old[:], state.count[0], state.step_size[0] = old, n_steps, h
        catch_up(sampler, state, target, rng)
        assert (state.moved == n_steps).all()
        return np.concatenate([state.position, state.old])

    d = N_BLOCKS * WIDTH
    m = (model.mean.ravel() - coordinates.center) / coordinates.scale
    rest = after(m, np.zeros(d), ())
    np.testing.assert_allclose(rest, np.append(m, np.zeros(d)), atol=1e-12)
    unit = np.eye(2 * d)
    noise = (
        np.stack([after(m, np.zeros(d), row) for row in unit], axis=1) - rest[:, None]
    )
    starts = [after(m + row[:d], row[d:], ()) for row in unit]
    start = np.stack(starts, axis=1) - rest[:, None]
    precision = np.tile(model.precision, N_BLOCKS) * coordinates.scale**2
    for j in range(d):
        here = [j, d + j]
        a = 0.5 * h * precision[j] / temperature
        power, covariance = eager_law(h, a, n_steps)
        np.testing.assert_allclose(start[np.ix_(here, here)], power, atol=1e-10)
        lazy = (noise @ noise.T)[np.ix_(here, here)]
        np.testing.assert_allclose(lazy, covariance, rtol=1e-10)
    off = noise @ noise.T
    np.testing.assert_allclose(off[:d, :d], np.diag(np.diag(off[:d, :d])), atol=1e-12)


def test_without_noise_the_paths_are_the_same(model, coordinates):
    paths = []
    for sampler in (LazyLangevin(WIDTH), LeimkuhlerMatthews()):
        rng = Silent(3)
        target = make_target(model, Minibatch(2), coordinates, rng)
        state = init_state(sampler, np.ones(N_BLOCKS * WIDTH), rng)
        for t in range(20):
            step(sampler, state, target, 0.5 if t < 9 else 0.3, rng)
        catch_up(sampler, state, target, rng)
        paths.append(state.position.copy())
    np.testing.assert_allclose(*paths, rtol=1e-12)


class Silent(Scripted):
    """A generator of minibatches whose normals are zero."""

    def __init__(self, seed):
        super().__init__()
        self.random = np.random.default_rng(seed).random


def test_draws_have_the_law_of_eager_draws(model, coordinates):
    settings = dict(
        step_size=0.4, n_draws=60_000, burn_in=200, thin=3, coordinates=coordinates
    )
    lazy, eager = (
        sample(model, sampler, Minibatch(1), random_state=seed, **settings)[0]
        for seed, sampler in enumerate([LazyLangevin(WIDTH), LeimkuhlerMatthews()])
    )
    # About 10,000 effective draws: 1 % of an sd for a mean, 1.4 % for a variance.
    sd = eager.std(axis=0)
    assert np.abs((lazy.mean(axis=0) - eager.mean(axis=0)) / sd).max() < 0.06
    np.testing.assert_allclose(lazy.var(axis=0), eager.var(axis=0), rtol=0.08)
    lagged = [
        np.mean(x[1:] * x[:-1], axis=0) / x.var(axis=0)
        for x in (lazy - lazy.mean(axis=0), eager - eager.mean(axis=0))
    ]
    np.testing.assert_allclose(*lagged, atol=0.03)
    free = lazy[:, 4 * WIDTH :]  # no data: exactly the prior
    np.testing.assert_allclose(free.mean(axis=0), model.mean[4], atol=0.08)
    np.testing.assert_allclose(free.var(axis=0), 1 / model.precision, rtol=0.08)


@pytest.mark.parametrize(
    "target, gradient, coordinates",
    [
        (GaussianMean(np.zeros((4, 2)), np.eye(2)), Minibatch(1), Identity()),
        (None, Full(), Identity()),
        (None, Minibatch(2), Dense(np.zeros(10), np.eye(10))),
    ],
)
def test_parts_it_cannot_work_with(model, target, gradient, coordinates):
    with pytest.raises(ValueError, match="LazyLangevin cannot work with"):
        sample(
            target or model,
            LazyLangevin(WIDTH),
            gradient,
            step_size=0.1,
            coordinates=coordinates,
        )


def test_noise_correction_is_refused(model):
    with pytest.raises(ValueError, match="noise_correction"):
        sample(
            model,
            LazyLangevin(WIDTH),
            Minibatch(2),
            step_size=0.1,
            noise_correction=True,
        )
