"""Draws of the blockmodel's kernels against enumeration of all communities."""

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.cluster._graphs import neighbors
from skbayes_sg.inference.graphs import GraphDraws, link_moments
from skbayes_sg.inference.mixing import standard_error
from skbayes_sg.kernels.capabilities.strata import choose_rows
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import ChosenByModel, InTurn
from skbayes_sg.kernels.models import Blockmodel, PairBlockmodel
from skbayes_sg.kernels.models.blockmodel import set_rates
from skbayes_sg.kernels.models.blockmodel_chances import link_probability, mean_ratio
from skbayes_sg.kernels.models.blockmodel_events import contains, draw_events
from skbayes_sg.kernels.models.blockmodel_rates import _drawn_rate
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    record,
    theta_of,
)
from skbayes_sg.kernels.samplers import ExpandedMean, Gibbs
from tests.cluster.exact import Enumerated

LINKS, HIDDEN, N = {(0, 1), (0, 2), (1, 2)}, {(0, 3)}, 4
ALPHA, RATES = [0.4, 0.9], [(2.0, 1.0), (1.0, 3.0)]


def blockmodel(**settings):
    pairs = [np.array(sorted(some)) for some in (LINKS, HIDDEN)]
    arrays = [array for some in pairs for array in neighbors(some, N)]
    priors = np.array(ALPHA), *map(np.array, RATES)
    return Blockmodel(*arrays, *priors, True, False)._replace(**settings)


def drawn(model, n_draws, batch_size=None, **settings):
    batch_size = n_rows(model) if batch_size is None else batch_size
    start = np.array([0.0, 0.0, -1.0, 0.0], np.float32)
    draws = sample(
        model, Gibbs(), InTurn(batch_size), step_size=1.0, start=start, burn_in=100,
        n_draws=n_draws, n_chains=2, random_state=0, **settings,
    )  # fmt: skip
    return draws.astype(np.float64)


def test_draws_have_the_moments_of_the_exact_posterior():
    """Means within four standard errors, sds within 3 %: dense, so with many events."""
    exact = Enumerated(N, LINKS, HIDDEN, ALPHA, RATES)
    draws = drawn(blockmodel(), 20000)
    mean, sd = map(np.append, exact.memberships(), exact.rates())
    values = draws[..., : N * 2 + 3]
    error = standard_error(values)
    assert error.max() < 0.01
    assert np.all(np.abs(values.mean(axis=(0, 1)) - mean) < 4 * error)
    np.testing.assert_allclose(values.std(axis=(0, 1)), sd, rtol=0.03)
    pairs = np.array([[0, 1], [0, 3], [2, 3]])
    some = GraphDraws.of(draws[:, ::5], N, 2)
    links, _ = link_moments(some, np.full(4000, 1 / 4000), pairs)
    expected = [exact.link(a, b) for a, b in pairs]
    np.testing.assert_allclose(links, expected, atol=0.01)


def test_nodes_in_turn_have_the_same_law():
    exact = Enumerated(N, LINKS, HIDDEN, ALPHA, RATES)
    draws = drawn(blockmodel(refresh_every=3), 20000, batch_size=1)[..., : N * 2 + 3]
    mean = np.append(exact.memberships()[0], exact.rates()[0])
    error = standard_error(draws)
    assert np.all(np.abs(draws.mean(axis=(0, 1)) - mean) < 4 * error)


def test_events_have_their_intensities():
    """Poisson(d) events of each pair without a link: over 4,000 draws, error 1.6 %."""
    model = for_kernels(blockmodel())
    work, rng = init_work(model), np.random.default_rng(0)
    work.pi[:] = rng.dirichlet([1.0, 1.0], N)
    set_rates(model, work, np.array([1.0, 2.0, -1.0, 0.0]))
    counts = np.zeros((N, N))
    for _ in range(4000):
        draw_events(model, work, rng)
        ends = work.other[: 2 * work.n_events[0]].reshape(-1, 2)
        np.add.at(counts, (ends[:, 0], ends[:, 1]), 1)
    counts = counts + counts.T
    expected = np.zeros((N, N))
    for a, b in [(1, 3), (2, 3)]:
        d = mean_ratio(work.pi[a], work.pi[b], work.rate, work.loss)
        expected[a, b] = expected[b, a] = 4000 * d
    assert counts[expected == 0].sum() == 0
    z = (counts - expected)[expected > 0] / np.sqrt(expected[expected > 0])
    assert np.abs(z).max() < 4


def test_rates_have_their_conditional_law():
    """2,000 slices from far away, against quadrature with all pairs of the events."""
    model = for_kernels(blockmodel())
    work, rng = init_work(model), np.random.default_rng(0)
    work.pi[:] = rng.dirichlet([1.0, 1.0], N)
    theta = np.array([3.0, 2.0, 0.0, 0.0])
    set_rates(model, work, theta)
    while work.n_events[0] < 2:
        draw_events(model, work, rng)
    ends = work.other[: 2 * work.n_events[0]].reshape(-1, 2)

    def log_law(logit):
        set_rates(model, work, np.array([logit, *theta[1:]]))
        value = 5 * np.log(work.rate[0]) - 7 * work.loss[0]
        for a, b in ends:
            d = mean_ratio(work.pi[a], work.pi[b], work.rate, work.loss)
            value += np.log(d)
        return value

    grid = np.linspace(-6, 6, 600)
    density = np.exp([log_law(x) for x in grid])
    mean = np.average(grid, weights=density)
    sd = np.sqrt(np.average((grid - mean) ** 2, weights=density))
    set_rates(model, work, theta)
    for e, (a, b) in enumerate(ends):
        work.chance[e] = link_probability(work.pi[a], work.pi[b], work.rate)
        work.geometric[e] = link_probability(work.pi[a], work.pi[b], work.loss)
    logit, draws = theta[0], []
    for _ in range(2000):
        logit = _drawn_rate(work, 0, logit, 5.0, 7.0, rng)
        draws.append(logit)
    assert abs(np.mean(draws) - mean) < 0.1 * sd
    np.testing.assert_allclose(np.std(draws), sd, rtol=0.06)
    np.testing.assert_allclose(work.rate[0], 1 / (1 + np.exp(-logit)))


def test_lists_are_searched_between_their_ends():
    values = np.array([1, 3, 2, 4, 0], np.int32)
    assert contains(values, 0, 2, 3) and contains(values, 2, 4, 4)
    assert not contains(values, 0, 2, 2)  # which begins the next list
    assert not contains(values, 4, 5, 5) and not contains(values, 2, 2, 2)


def test_a_record_gives_back_its_theta():
    model = for_kernels(blockmodel())
    theta = np.array([0.5, -3.0, -8.0, 0.0], np.float32)
    out = np.zeros(n_recorded(model), np.float32)
    record(model, init_work(model), theta, out)
    np.testing.assert_allclose(theta_of(model, out), theta, atol=1e-5)
    np.testing.assert_allclose(out[-2:], ALPHA, rtol=1e-6)


@pytest.mark.parametrize("alpha", [0.2, 2.0])
def test_a_learned_prior_has_its_exact_law(alpha):
    """One pair without any data but its prior: the Gamma(1, 1) law of alpha itself."""
    hidden = np.array([[0, 1], [0, 2], [1, 2]])
    nothing = np.zeros(4, np.int64), np.zeros(0, np.int32)
    rates = np.ones(2), np.ones(2)
    model = Blockmodel(
        *nothing, *neighbors(hidden, 3), np.full(2, alpha), *rates, True, True
    )
    draws = drawn(model, 20000)[..., -1:]
    error = standard_error(draws)[0]
    assert abs(draws.mean() - 1.0) < 4 * error < 0.2
    np.testing.assert_allclose(draws.std(), 1.0, rtol=0.15)


def pair_model():
    model = blockmodel()
    return for_kernels(
        PairBlockmodel(*(getattr(model, name) for name in PairBlockmodel._fields))
    )


PAIRS = np.array([a * N + b for a, b in [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]])


def test_gradients_of_pairs_are_those_of_the_log_density():
    model, rng = pair_model(), np.random.default_rng(1)
    work, theta = init_work(model), rng.standard_gamma(2.0, n_parameters(model))
    out = np.zeros(theta.size)
    add_gradient(model, work, theta, PAIRS, 1.0, out)
    add_prior_gradient(model, work, theta, out)

    def density(x):
        return log_likelihood(model, work, x, PAIRS) + log_prior(model, work, x)

    steps = 1e-5 * np.eye(theta.size)
    slopes = [(density(theta + s) - density(theta - s)) / 2e-5 for s in steps]
    np.testing.assert_allclose(out, slopes, rtol=1e-5, atol=1e-6)


def test_stratified_pairs_are_unbiased():
    """Mean factor of each pair over 4,000 minibatches of 4: one, with error 3 %."""
    model, rng = pair_model(), np.random.default_rng(0)
    idx, scale, total = np.zeros(4, np.int32), np.zeros(4), np.zeros(N * N)
    for _ in range(4000):
        choose_rows(model, init_work(model), rng, idx, scale)
        np.add.at(total, idx, scale / 4000)
    np.testing.assert_allclose(total[PAIRS], 1.0, rtol=0.1)
    assert total.sum() == pytest.approx(total[PAIRS].sum())  # no hidden ones


def test_langevin_steps_of_pairs_find_the_posterior():
    """The paper's sampler with its missing factor: means within 0.03."""
    exact, model = Enumerated(N, LINKS, HIDDEN, [2.0, 3.0], RATES), pair_model()
    draws = sample(
        model._replace(alpha=np.array([2.0, 3.0])), ExpandedMean(), ChosenByModel(4),
        step_size=0.05, start=np.ones(n_parameters(model)), burn_in=1000, thin=20,
        n_draws=4000, n_chains=2, random_state=0,
    )  # fmt: skip
    found = draws[..., : N * 2 + 3].mean(axis=(0, 1))
    mean = np.append(exact.memberships()[0], exact.rates()[0])
    np.testing.assert_allclose(found, mean, atol=0.03)
