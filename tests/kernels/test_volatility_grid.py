"""Stochastic volatility on a grid: a fine quadrature, differences, blocks, messages."""

import numpy as np
import pytest

from skbayes_sg.kernels.capabilities.buffers import (
    Messages,
    no_messages,
    selected,
    with_blocks,
)
from skbayes_sg.kernels.data.sequences import make_blocks
from skbayes_sg.kernels.models import GridVolatility
from skbayes_sg.kernels.models import volatility_grid as module
from skbayes_sg.kernels.models.stochastic_volatility import VolatilityPrior
from skbayes_sg.kernels.protocol.model import (
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_rows,
)

PRIOR = VolatilityPrior(20.0, 1.5, 2.5, 0.025, 0.1, 2.0)
THETA = np.array([0.8, 0.6, 0.9])
LENGTHS = [9, 5]
# Entry points run uncompiled here: the data are tiny.
write_messages = getattr(
    module.write_grid_messages, "__wrapped__", module.write_grid_messages
)


def series(n=14):
    rng = np.random.default_rng(3)
    y = 0.9 * rng.standard_normal(n) * np.exp(0.4 * rng.standard_normal(n))
    y[4] = np.nan
    y[7] = 0.0
    return y


def model_of(block_length=None, buffer_length=0, spacing=1.0, y=None):
    """Return the model on a grid with a spacing in units of sigma."""
    grid = np.arange(-8.0, 8.0, spacing * THETA[1])
    blocks = make_blocks(LENGTHS, block_length, buffer_length)
    messages = no_messages(grid.size)
    y = series() if y is None else y
    return GridVolatility(y, blocks, messages, grid, PRIOR)


def value_and_gradient(model, theta=THETA):
    g, rows = np.zeros(3), np.arange(n_rows(model))
    value = add_value_and_gradient(model, init_work(model), theta, rows, 1.0, g)
    return value, g


def anchored(model, theta):
    forward, backward = np.ones((2, n_rows(model), model.grid.size))
    write_messages(model, module.grid_work(model, 1), theta, forward, backward)
    return model._replace(messages=Messages(theta, forward, backward))


def quadrature(y, theta, n=1201):
    """Return log p(y) by dense sums over n places."""
    phi, sigma, tau = theta
    grid = np.linspace(-8, 8, n)
    width = grid[1] - grid[0]
    move = np.exp(-0.5 * ((grid[:, None] - phi * grid) / sigma) ** 2)
    move *= width / (sigma * np.sqrt(2 * np.pi))
    wide = sigma / np.sqrt(1 - phi**2)
    law = np.exp(-0.5 * (grid / wide) ** 2) * width / (wide * np.sqrt(2 * np.pi))
    value = 0.0
    for t, each in enumerate(y):
        law = move @ law if t else law
        if not np.isnan(each):
            sd = tau * np.exp(grid / 2)
            law = law * np.exp(-0.5 * (each / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
        value += np.log(law.sum())
        law = law / law.sum()
    return value


@pytest.mark.parametrize("spacing, error", [(1.0, 2e-4), (0.5, 1e-4)])
def test_sums_over_a_coarse_grid_are_the_integrals(spacing, error):
    y = series()
    expected = quadrature(y[:9], THETA) + quadrature(y[9:], THETA)
    model = model_of(spacing=spacing)
    value, _ = value_and_gradient(model)
    assert value == pytest.approx(expected, abs=error)
    alone = log_likelihood(model, init_work(model), THETA, np.arange(2))
    assert alone == pytest.approx(value, abs=1e-10)


@pytest.mark.parametrize("block_length, spacing", [(None, 1.0), (4, 1.0), (None, 2.5)])
def test_gradient_is_that_of_the_value(block_length, spacing):
    model = model_of(block_length, buffer_length=9, spacing=spacing)
    g = value_and_gradient(model)[1]
    differences = [
        (
            value_and_gradient(model, THETA + e)[0]
            - value_and_gradient(model, THETA - e)[0]
        )
        / 2e-5
        for e in 1e-5 * np.eye(3)
    ]
    np.testing.assert_allclose(g, differences, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("block_length", [1, 4])
def test_rows_add_up_with_long_buffers(block_length):
    exact = value_and_gradient(model_of())
    found = value_and_gradient(model_of(block_length, buffer_length=9))
    assert found[0] == pytest.approx(exact[0], abs=1e-10)
    np.testing.assert_allclose(found[1], exact[1], atol=1e-10)


@pytest.mark.parametrize("buffer_length", [0, 2])
def test_messages_make_rows_exact_at_the_anchor(buffer_length):
    exact = value_and_gradient(model_of())
    blocked = model_of(2, buffer_length)
    found = value_and_gradient(anchored(blocked, THETA))
    assert found[0] == pytest.approx(exact[0], abs=1e-10)
    np.testing.assert_allclose(found[1], exact[1], atol=1e-10)
    # Without messages a short buffer has a bias: the test can fail.
    assert np.abs(value_and_gradient(blocked)[1] - exact[1]).max() > 1e-3
    rows = np.array([1, 3, 5])
    some = anchored(selected(blocked, rows), THETA).messages
    whole = anchored(blocked, THETA).messages
    np.testing.assert_allclose(some.forward, whole.forward[rows], atol=1e-12)
    np.testing.assert_allclose(some.backward, whole.backward[rows], atol=1e-12)
    assert len(with_blocks(blocked, blocked.blocks).messages.forward) == 0


def test_small_sigmas_do_not_raise_the_density_of_a_coarse_grid():
    """Places that a state never leaves must not look like certain transitions."""
    model = model_of()
    rows, work = np.arange(n_rows(model)), init_work(model)
    values = [
        log_likelihood(model, work, np.array([0.999, sigma, 0.9]), rows)
        for sigma in (0.6, 0.1, 0.01)
    ]
    assert np.isfinite(values).all()
    assert max(values[1:]) < values[0] + 5.0


def test_prior_gradient():
    model, g = model_of(), np.zeros(3)
    work = init_work(model)
    add_prior_gradient(model, work, THETA, g)
    differences = [
        (log_prior(model, work, THETA + e) - log_prior(model, work, THETA - e)) / 2e-6
        for e in 1e-6 * np.eye(3)
    ]
    np.testing.assert_allclose(g, differences, rtol=1e-6)
