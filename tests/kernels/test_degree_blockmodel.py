"""Draws of the degree-corrected blockmodel against weighted draws from the prior."""

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.cluster._graphs import neighbors
from skbayes_sg.inference.graphs import GraphDraws
from skbayes_sg.inference.mixing import standard_error
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import InTurn
from skbayes_sg.kernels.models import DegreeBlockmodel
from skbayes_sg.kernels.models.blockmodel_degrees import intensity, set_losses
from skbayes_sg.kernels.numerics.positive import draw_positive_poisson
from skbayes_sg.kernels.protocol.model import (
    init_work,
    log_likelihood,
    n_recorded,
    record,
    theta_of,
)
from skbayes_sg.kernels.samplers import Gibbs

LINKS, HIDDEN, N = [(0, 1), (0, 2), (1, 2)], [(0, 3)], 4
ALPHA, LINK, BACKGROUND = [0.8, 0.8], [2.0, 1.5], [1.0, 3.0]


def blockmodel(**settings):
    arrays = [a for some in (LINKS, HIDDEN) for a in neighbors(np.array(some), N)]
    priors = map(np.array, (ALPHA, LINK, BACKGROUND))
    return DegreeBlockmodel(*arrays, *priors, True, False)._replace(**settings)


def drawn(model, n_draws, batch_size=None):
    start = np.array([0.0, 0.0, -1.0, 0.0, 0.0], np.float32)
    draws = sample(
        model, Gibbs(), InTurn(batch_size or model.indptr.size - 1), step_size=1.0,
        start=start, burn_in=100, n_draws=n_draws, n_chains=2, random_state=0,
    )  # fmt: skip
    return draws.astype(np.float64)


def quantities(pi, activity, rates, shape):
    """Return numbers that no order of the communities changes."""
    a, b = np.array([(0, 1), (0, 3), (2, 3)]).T
    loss = -np.log1p(-np.minimum(rates, 1 - 1e-12))
    gap = (pi[:, a] * pi[:, b]) @ (loss[:, :-1] - loss[:, -1:])[:, :, None]
    chance = activity[:, a] * activity[:, b] * (loss[:, -1:] + gap[..., 0])
    together = (pi[:, a] * pi[:, b]).sum(axis=2)
    largest = np.sort(rates[:, :-1], axis=1)
    parts = [-np.expm1(-chance), together, activity / (1 + activity), largest]
    parts.append(rates[:, -1:])
    return np.concatenate([*parts, np.log(shape)], axis=1)


def by_importance(n):
    """Return means, sds and errors of posterior quantities, by n prior draws."""
    rng = np.random.default_rng(1)
    shape = rng.gamma(2.0, 5.0, (n, 1))
    rho = rng.gamma(shape, 1 / shape, (n, N))
    pi = rng.dirichlet(ALPHA, (n, N))
    theta = rho[:, :, None] * pi
    loss = np.concatenate(
        [
            rng.gamma(LINK[0], 1 / LINK[1], (n, 2)),
            rng.gamma(BACKGROUND[0], 1 / BACKGROUND[1], (n, 1)),
        ],
        axis=1,
    )
    weight = np.ones(n)
    for a in range(N):
        for b in range(a + 1, N):
            same = (theta[:, a] * theta[:, b]) @ np.eye(2)
            rate = loss[:, 2] * (rho[:, a] * rho[:, b] - same.sum(axis=1))
            rate += (same * loss[:, :2]).sum(axis=1)
            if (a, b) in LINKS:
                weight *= -np.expm1(-rate)
            elif (a, b) not in HIDDEN:
                weight *= np.exp(-rate)
    weight /= weight.sum()
    values = quantities(pi, rho, -np.expm1(-loss), shape)
    mean = weight @ values
    sd = np.sqrt(weight @ (values - mean) ** 2)
    return mean, sd, np.sqrt(weight**2 @ (values - mean) ** 2)


@pytest.mark.parametrize("batch_size", [N, 1])
def test_draws_have_the_moments_of_the_exact_posterior(batch_size):
    """Means within four standard errors of both, sds within 3 %."""
    mean, sd, error = by_importance(400_000)
    every = 3 if batch_size == 1 else 1
    draws = drawn(blockmodel(refresh_every=every), 20000, batch_size)
    parts = GraphDraws.of(draws, N, 2)
    rates = np.append(parts.link_rates, parts.background[..., None], axis=-1)
    each = parts.memberships, parts.activity, rates, parts.activity_shape
    values = np.stack([quantities(*(part[c] for part in each)) for c in (0, 1)])
    own = standard_error(values)
    assert own.max() < 0.02
    z = (values.mean(axis=(0, 1)) - mean) / np.hypot(own, error)
    assert np.abs(z).max() < 4
    if batch_size == N:
        np.testing.assert_allclose(values.std(axis=(0, 1)), sd, rtol=0.03)


def test_priors_that_are_learned_have_their_exact_laws():
    """No pair is known: Gamma(1, 1) of alpha, Gamma(2, 1/5) of s, of three nodes."""
    hidden = np.array([[0, 1], [0, 2], [1, 2]])
    nothing = np.zeros(4, np.int64), np.zeros(0, np.int32)
    model = DegreeBlockmodel(
        *nothing, *neighbors(hidden, 3), np.full(2, 0.7), np.ones(2), np.ones(2), True,
        True,
    )  # fmt: skip
    draws = GraphDraws.of(drawn(model, 20000), 3, 2)
    laws = (draws.prior[..., :1], 1.0, 1.0), (draws.activity_shape, 10.0, 50**0.5)
    for values, mean, sd in laws:
        error = standard_error(values)[0]
        assert abs(values.mean() - mean) < 4 * error < 0.2 * mean
        np.testing.assert_allclose(values.std(), sd, rtol=0.15)


def test_the_log_likelihood_is_that_of_all_known_pairs():
    model, rng = for_kernels(blockmodel()), np.random.default_rng(0)
    work, theta = init_work(model), np.array([0.3, -0.2, -2.0, 0.0, 0.0], np.float32)
    work.mass[:] = rng.gamma(1.0, 1.0, (N, 2))
    work.activity[:] = work.mass.sum(axis=1)
    work.total[:] = work.mass.sum(axis=0)
    set_losses(model, work, theta)
    value = 0.0
    for a in range(N):
        for b in range(a + 1, N):
            rate = intensity(work, a, b)
            if (a, b) in LINKS:
                value += np.log(-np.expm1(-rate))
            elif (a, b) not in HIDDEN:
                value -= rate
    found = log_likelihood(model, work, theta, np.arange(N))
    np.testing.assert_allclose(found, value, rtol=1e-5)


def test_a_record_gives_back_its_theta():
    model = for_kernels(blockmodel())
    theta = np.array([0.5, -3.0, -8.0, 0.2, 1.4], np.float32)
    out = np.zeros(n_recorded(model), np.float32)
    record(model, init_work(model), theta, out)
    np.testing.assert_allclose(theta_of(model, out), theta, atol=1e-4)


@pytest.mark.parametrize("mean", [1e-6, 0.7, 25.0])
def test_positive_poisson_numbers(mean):
    """Mean m / (1 - exp(-m)) of 20,000 draws, within four standard errors."""
    rng = np.random.default_rng(0)
    draws = np.array([draw_positive_poisson(mean, rng) for _ in range(20000)])
    expected = mean / -np.expm1(-mean)
    error = np.sqrt(expected * (1 + mean - expected) / 20000)
    assert draws.min() >= 1
    assert abs(draws.mean() - expected) <= 4 * error + 1e-4
