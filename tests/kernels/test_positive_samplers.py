"""Samplers of positive and simplex parameters, on posteriors that are Gamma, Dirichlet.

The toy is that of the SCIR paper: 1000 rows of 10 categories, shapes 0.1.
"""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import integrate, stats

from skbayes_sg import sample
from skbayes_sg.inference.positive_blocks import counts_step
from skbayes_sg.kernels.capabilities.positive_blocks import add_gain_and_loss
from skbayes_sg.kernels.coordinates import Diagonal, Identity
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import DirichletMultinomial, ExpandedDirichlet
from skbayes_sg.kernels.numerics.vectors import copy_to
from skbayes_sg.kernels.protocol.model import record
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    catch_up,
    check_parts,
    init_state,
    relaxation,
    stable_step,
    step,
    suited_to,
)
from skbayes_sg.kernels.samplers import (
    SCIR,
    ConstantMassCIR,
    ExpandedMean,
    FrozenCIR,
    FrozenCountsCIR,
)
from skbayes_sg.kernels.samplers.cir import LazySCIR
from tests.kernels.constrained import (
    Mixture,
    Shapes,
    Topics,
    check_moments,
    topic_products,
)
from tests.probe import target_of
from tests.targets import batch_means

SPARSE = np.array([800, 100, 100, 0, 0, 0, 0, 0, 0, 0])
DENSE = np.full(10, 100)
HSIEH = np.array([10_000, 10, 10, 0, 0, 0, 0, 0, 0, 0, 0])
SHAPE = 0.1


def toy(counts, kind=ExpandedDirichlet):
    return kind(np.repeat(np.arange(len(counts)), counts), np.full(len(counts), SHAPE))


def draw(sampler, counts, h, batch_size=None, kind=ExpandedDirichlet, **options):
    """Return draws about as far apart as the sampler forgets, (n_draws, K)."""
    batch_size = batch_size or counts.sum()
    lengths = {"n_draws": 20_000, "thin": max(1, round(4 / h)), "burn_in": 200}
    return sample(
        toy(counts, kind),
        sampler,
        Minibatch(batch_size),
        step_size=h,
        start=counts + SHAPE,
        random_state=0,
        **(lengths | options),
    )[0]


def check_dirichlet(draws, counts):
    """Assert the marginals of full and of empty parts: KS tests at 0.1 %."""
    b = counts + SHAPE
    for k in (0, 1, len(b) - 1):
        law = stats.beta(b[k], b.sum() - b[k])
        # Below 1e-290 the smallest parts are all alike.
        x = draws[draws[:, k] > 1e-280, k]
        assert len(x) > 0.9 * len(draws)
        low = law.cdf(1e-280)
        uniform = (law.cdf(x) - low) / (1 - low)
        assert stats.kstest(uniform, "uniform").pvalue > 1e-3, f"part {k}"


@pytest.mark.parametrize("h", [0.5, 4.0, 40.0])
@pytest.mark.parametrize("counts", [SPARSE, DENSE, HSIEH])
@pytest.mark.parametrize("sampler", [SCIR(), ConstantMassCIR(1001.0)])
def test_exact_counts_give_the_exact_law_at_every_step(sampler, counts, h):
    n_draws = 4000 if h < 1 else 20_000
    check_dirichlet(draw(sampler, counts, h, n_draws=n_draws), counts)


def test_a_mass_far_from_the_truth_is_as_exact():
    check_dirichlet(draw(ConstantMassCIR(30.0), SPARSE, 4.0), SPARSE)


@pytest.mark.parametrize(
    ("sampler", "h"),
    [(SCIR(), 4.0), (ConstantMassCIR(1001.0), 4.0), (FrozenCountsCIR(), 0.5)],
)
def test_another_prior_is_rejected(sampler, h):
    """Shapes of 0.13 in place of 0.1: the empty parts tell them apart."""
    model = toy(SPARSE)
    draws = sample(
        model._replace(shape=1.3 * model.shape),
        sampler,
        Minibatch(1000),
        step_size=h,
        n_draws=20_000,
        start=SPARSE + SHAPE,
        random_state=0,
    )[0]
    with pytest.raises(AssertionError, match="part"):
        check_dirichlet(draws, SPARSE)


def test_the_absolute_value_is_rejected():
    """SG-RLD as published: empty parts are several times too large, at any h."""
    draws = sample(
        toy(SPARSE),
        ExpandedMean(),
        Full(),
        step_size=1e-3,
        n_draws=10_000,
        thin=10,
        burn_in=2000,
        start=SPARSE + SHAPE,
        random_state=0,
    )[0]
    with pytest.raises(AssertionError):
        check_dirichlet(draws, SPARSE)
    empty = draws[:, 3:].mean() / (SHAPE / (1000 + 10 * SHAPE))
    assert 3.0 < empty < 6.0


class Unnormalized(ExpandedDirichlet):
    """The same model, of which theta itself is recorded."""


@record.register(Unnormalized)
def _(model, work, theta, out):
    copy_to(theta, out)


@pytest.mark.parametrize(("h", "batch_size"), [(1.0, 10), (0.1, 10), (1.0, 100)])
def test_noisy_counts_inflate_the_variance_as_foreseen(h, batch_size):
    """Var theta = b + tanh(h / 4) Var b, within 5 %; means are right."""
    draws = draw(SCIR(), DENSE, h, batch_size, Unnormalized)
    n, total, b = batch_size, DENSE.sum(), DENSE[0] + SHAPE
    share = DENSE[0] / total
    noise = total**2 / n * share * (1 - share) * (total - n) / (total - 1)
    predicted = b + np.tanh(h / 4) * noise
    assert predicted > 1.1 * b
    assert abs(draws.var(axis=0).mean() / predicted - 1) < 0.05
    mean, error = batch_means(draws.mean(axis=1))
    assert abs(mean - b) < 4 * error


def test_automatic_step_keeps_the_inflation():
    """From a pair trick: within 25 % of the step that the exact variance gives."""
    h = counts_step(
        toy(DENSE), SCIR(), Minibatch(100), DENSE + SHAPE, tolerance=0.1, random_state=0
    )
    noise = 1000**2 / 100 * 0.1 * 0.9 * 900 / 999 / (100 + SHAPE)
    assert accurate_step(SCIR(), noise, 0.1) == pytest.approx(
        4 * np.arctanh(0.1 / noise)
    )
    exact = accurate_step(SCIR(), noise, 0.1)
    assert 0.6 * exact < h <= exact  # it minds the worst of ten noisy measurements
    assert stable_step(SCIR()) == np.inf
    assert relaxation(SCIR(), 0.1) == 20.0


def test_untouched_parts_move_lazily_and_have_their_law():
    """Most steps touch none of the rare parts: their law is exact all the same."""
    assert suited_to(SCIR(), toy(SPARSE)) == LazySCIR(1)
    assert suited_to(SCIR(), Mixture(np.ones((2, 2)), np.ones(2))) == SCIR()
    draws = draw(SCIR(), SPARSE, 0.5, 5, Unnormalized)
    for k in (3, 9):
        x = draws[draws[:, k] > 1e-280, k]
        assert stats.kstest(x, stats.gamma(SHAPE).cdf).pvalue > 1e-3


def test_the_natural_split_is_exact_at_every_step():
    """The drift of SG-RLD, with exact counts: no part near zero is too large."""
    for h, thin in ((0.002, 50), (0.5, 1)):
        options = {"n_draws": 5000, "thin": thin}
        check_dirichlet(draw(FrozenCountsCIR(), SPARSE, h, **options), SPARSE)


def inflation(h, shape=SHAPE):
    """Return the mean of tanh(c h / 4), c = 1 + N / S, over the law of the sum S."""
    law = stats.gamma(10 * shape)

    def integrand(log_s):
        s = np.exp(log_s)
        return np.tanh((1 + 1000 / s) * h / 4) * law.pdf(s) * s

    return integrate.quad(integrand, -40, 5, limit=500)[0]


def test_automatic_step_of_the_natural_split():
    """Its rate is 1 + N / S, and the sum S of theta has the law Gamma(1)."""
    options = {"tolerance": 0.1, "random_state": 0}
    start = (DENSE + SHAPE) / 1001
    parts = toy(DENSE), FrozenCountsCIR(), Minibatch(100), start
    noise = 1000**2 / 100 * 0.1 * 0.9 * 900 / 999 / (100 + SHAPE)
    h = counts_step(*parts, **options)
    assert 0.06 < inflation(h) * noise <= 0.105  # the worst of ten noisy measurements
    # On a short chain the sum stays at 1.
    scir = counts_step(toy(DENSE), SCIR(), *parts[2:], **options)
    assert scir / counts_step(*parts, n_steps=10, **options) == pytest.approx(
        1001, rel=0.01
    )
    assert stable_step(FrozenCountsCIR()) == stable_step(FrozenCIR(1.0)) == np.inf


@pytest.mark.parametrize(
    ("sampler", "total", "n_steps"),
    [(SCIR(), 1001.0, np.inf), (FrozenCountsCIR(), 1.0, 20_000)],
)
def test_automatic_steps_keep_their_word(sampler, total, n_steps):
    """Ten rows of a thousand: variances are 10 to 40 % too large, 30 were allowed.

    Of 8 chains and 10 parts: an error of 4 %. The rule minds the part that is worst.
    """
    start = total * (DENSE + SHAPE) / 1001
    parts = toy(DENSE), sampler, Minibatch(10)
    options = {"tolerance": 0.3, "n_steps": n_steps, "random_state": 0}
    draws = sample(
        *parts,
        step_size=counts_step(*parts, start, **options),
        n_draws=1700,
        burn_in=3000,
        thin=10,
        n_chains=8,
        start=start,
        random_state=0,
    )
    exact = stats.beta(100 + SHAPE, 900 + 9 * SHAPE).var()
    assert 1.1 < np.mean((draws - 0.1) ** 2) / exact < 1.4


def test_untouched_parts_are_left_alone_until_they_are_read(uncompiled):
    """A lazy step costs what its minibatch touches."""
    target = target_of(toy(np.array([1, 0, 0])), Minibatch(1))
    rng = np.random.default_rng(0)
    sampler = suited_to(SCIR(), target.model)
    state = init_state(sampler, np.ones(3), rng)
    step(sampler, state, target, 1.0, rng)
    assert state.position[0] != 1.0
    np.testing.assert_array_equal(state.position[1:], 1.0)
    catch_up(sampler, state, target, rng)
    assert (state.position != 1.0).all()


def test_tiny_shapes_by_gradients():
    """Gamma(1e-4): 1 in 22 draws is above 1e-200, and a chain comes back from 1e-300.

    4 binomial standard errors of 20,000 nearly independent draws.
    """
    model = Shapes(np.full(2, 1e-4), np.ones(2), np.ones(2))
    draws = sample(
        model,
        FrozenCIR(1e-4),
        Full(),
        step_size=8.0,
        n_draws=10_000,
        burn_in=10,
        start=np.full(2, 1e-300),
        random_state=0,
    )[0]
    assert np.isfinite(draws).all() and (draws > 0).all()
    share = stats.gamma(1e-4).sf(1e-200)
    error = np.sqrt(share * (1 - share) / draws.size)
    assert abs((draws > 1e-200).mean() - share) < 4 * error


@pytest.mark.parametrize("sampler", [SCIR(), ConstantMassCIR(3.0)])
def test_tiny_shapes(sampler):
    """Shapes of 1e-4 and a few rows: no NaN, no part that is stuck."""
    model = ExpandedDirichlet(np.array([0, 0, 1]), np.full(4, 1e-4))
    draws = sample(
        model,
        sampler,
        Minibatch(3),
        step_size=4.0,
        n_draws=20_000,
        start=np.full(4, 1e-300),
        random_state=0,
    )[0]
    assert np.isfinite(draws).all() and (draws >= 0).all()
    check_moments(draws[:, :1], [stats.beta(2.0001, 1.0002)])


# Any gradient
def gamma_draws(sampler, h):
    """Draws of Gamma(0.3, rate 2) and Gamma(3, rate 2)."""
    model = Shapes(np.array([0.3, 3.0]), np.ones(2), np.full(2, 2.0))
    return sample(
        model,
        sampler,
        Full(),
        step_size=h,
        n_draws=50_000,
        thin=max(1, round(2 / h)),
        burn_in=100,
        start=np.ones(2),
        random_state=0,
    )[0]


GAMMAS = [stats.gamma(0.3, scale=0.5), stats.gamma(3.0, scale=0.5)]


@pytest.mark.parametrize("h", [0.2, 2.0])
def test_frozen_steps_are_exact_where_the_rate_is_known(h):
    check_moments(gamma_draws(FrozenCIR(0.3, 2.0), h), GAMMAS)


def test_frozen_steps_are_of_first_order_elsewhere():
    """With a rate of 1 in place of 2, the error falls as h, and nothing is negative."""
    errors = []
    for h in (0.8, 0.2):
        draws = gamma_draws(FrozenCIR(0.1, 1.0), h)
        assert (draws > 0).all()
        errors.append(draws[:, 1].var() / GAMMAS[1].var() - 1)
    assert 0.1 < errors[0]
    assert abs(errors[1] / errors[0] - 1 / 4) < 0.1


# Latent variables
@pytest.mark.parametrize("sampler", [SCIR(), ConstantMassCIR(9.0)])
def test_one_simplex_with_latent_variables(sampler):
    """The product of two weights given 8 rows of unknown component, by quadrature.

    The counts of one simplex have a constant sum, so that SCIR, too, is exact.
    """
    density = np.array([[0.7, 0.3]] * 5 + [[0.3, 0.7]] * 3)
    model = Mixture(density, np.full(2, 0.5))

    def unnormalized(x):
        return x**-0.5 * (1 - x) ** -0.5 * np.prod(density @ [x, 1 - x])

    total, product = (
        integrate.quad(f, 0, 1)[0]
        for f in (unnormalized, lambda x: x * (1 - x) * unnormalized(x))
    )
    draws = sample(
        model,
        sampler,
        Minibatch(8),
        step_size=0.5,
        n_draws=200_000,
        thin=8,
        burn_in=100,
        start=np.full(2, 4.0),
        random_state=0,
    )[0]
    x = draws[:, 0] / draws.sum(axis=1)
    mean, error = batch_means(x * (1 - x))
    assert error < 0.005 * product / total
    assert abs(mean - product / total) < 4 * error


TOPICS = Topics(
    np.array([0, 0, 0, 1, 1, 2, 0, 1]),
    np.array([[1.0, 0.2, 0.2], [0.2, 0.2, 1.0]]),
)


def check_topics(sampler, h, n_draws=100_000):
    """Assert products of the parts of two topics, given 8 words of unknown topic."""
    draws = sample(
        TOPICS,
        sampler,
        Minibatch(8),
        step_size=h,
        n_draws=n_draws,
        thin=8,
        burn_in=100,
        start=np.full(6, 2.0),
        random_state=0,
    )[0].reshape(-1, 2, 3)
    phi = draws / draws.sum(axis=2, keepdims=True)
    mean, error = batch_means(phi.prod(axis=1)[:, :2])
    expected = topic_products(TOPICS)[:2]
    assert (error < 0.01 * expected).all(), "too few draws"
    assert (np.abs(mean - expected) < 4 * error).all()


@pytest.mark.parametrize(
    ("sampler", "h"), [(ConstantMassCIR(5.4), 0.5), (FrozenCountsCIR(), 0.1)]
)
def test_several_simplexes_with_latent_variables(sampler, h):
    """Constant mass is exact at every h, frozen steps are as h falls."""
    check_topics(sampler, h)


@pytest.mark.parametrize(
    ("h", "n_draws"),
    [(0.5, 100_000), pytest.param(0.1, 400_000, marks=pytest.mark.long)],
)
def test_a_mass_that_remembers_counts_is_rejected(h, n_draws):
    """SCIR as published: an error of 8 % that no step size removes."""
    with pytest.raises(AssertionError, match="^assert"):
        check_topics(SCIR(), h, n_draws)


# Refusals
OPTIONS = {"step_size": 0.1, "n_draws": 2}


@pytest.mark.parametrize(
    "sampler", [SCIR(), ConstantMassCIR(1.0), FrozenCIR(1.0), FrozenCountsCIR()]
)
def test_refusals(sampler):
    model, ones = toy(SPARSE), np.ones(10)
    with pytest.raises(ValueError, match="start must be positive"):
        sample(model, sampler, Minibatch(10), **OPTIONS)
    coordinates = Diagonal(np.zeros(10), ones)
    with pytest.raises(ValueError, match="use no preconditioner, not Diagonal"):
        sample(model, sampler, Minibatch(10), coordinates=coordinates, **OPTIONS)


class Rates(NamedTuple):
    """A model of counts that are no probabilities."""


@add_gain_and_loss.register(Rates)
def _(model, work, theta, idx, scale, gain, loss):
    pass


def test_gains_are_needed():
    with pytest.raises(ValueError, match="FrozenCIR works with gradients alone"):
        sample(toy(SPARSE, DirichletMultinomial), SCIR(), Minibatch(10), **OPTIONS)
    with pytest.raises(ValueError, match="use Minibatch, of all rows for exact counts"):
        sample(toy(SPARSE), SCIR(), Full(), **OPTIONS)
    with pytest.raises(ValueError, match="needs a model of probabilities"):
        check_parts(FrozenCountsCIR(), Rates(), Minibatch(10), Identity())
    with pytest.raises(ValueError, match="mass=0.0 must be positive"):
        sample(toy(SPARSE), ConstantMassCIR(0.0), Minibatch(10), **OPTIONS)
    with pytest.raises(ValueError, match="must be positive"):
        sample(toy(SPARSE), FrozenCIR(0.0), Full(), **OPTIONS)
