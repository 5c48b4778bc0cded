"""Small components that use what the protocol has room for, each against its law."""

import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from skbayes_sg import sample
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.capabilities.local_variables import draw_local
from skbayes_sg.kernels.capabilities.positive_blocks import (
    add_gain_and_loss,
    positive_prior,
)
from skbayes_sg.kernels.capabilities.strata import choose_rows
from skbayes_sg.kernels.gradients import (
    ChosenByModel,
    ControlVariate,
    Full,
    Minibatch,
)
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    add_value_and_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    record,
    theta_of,
)
from skbayes_sg.kernels.protocol.sampler import init_state, step
from skbayes_sg.kernels.samplers import SCIR, SGLD

N_DRAWS = 20_000


class Mixture(NamedTuple):
    """y_i = theta + s_i + noise, with unknown signs s_i = +-1 as local variables."""

    y: np.ndarray  # (N,)


class MixtureWork(NamedTuple):
    signs: np.ndarray  # (N,)


@n_parameters.register(Mixture)
def _(model):
    return 1


@n_rows.register(Mixture)
def _(model):
    return model.y.size


@init_work.register(Mixture)
def _(model):
    return MixtureWork(np.zeros(model.y.size))


@draw_local.register(Mixture)
def _(model, work, theta, idx, rng):
    for i in idx:
        odds = math.exp(-2.0 * (model.y[i] - theta[0]))  # of -1 against +1
        work.signs[i] = 1.0 if rng.random() * (1.0 + odds) < 1.0 else -1.0


@add_gradient.register(Mixture)
def _(model, work, theta, idx, scale, out):
    for i in idx:
        out[0] += scale * (model.y[i] - work.signs[i] - theta[0])


@add_prior_gradient.register(Mixture)
def _(model, work, theta, out):
    out[0] -= theta[0]


class Precision(NamedTuple):
    """N(0, 1 / lambda) rows; theta = log lambda, and lambda is what is recorded."""

    y: np.ndarray  # (N,)
    rate: float  # of the Gamma(1, rate) prior of lambda


@n_parameters.register(Precision)
def _(model):
    return 1


@n_rows.register(Precision)
def _(model):
    return model.y.size


@add_value_and_gradient.register(Precision)
def _(model, work, theta, idx, scale, out):
    value, precision = 0.0, math.exp(theta[0])
    for i in idx:
        square = 0.5 * precision * model.y[i] ** 2
        out[0] += scale * (0.5 - square)
        value += scale * (0.5 * theta[0] - square)
    return value


@add_gradient.register(Precision)
def _(model, work, theta, idx, scale, out):
    add_value_and_gradient(model, work, theta, idx, scale, out)


@log_likelihood.register(Precision)
def _(model, work, theta, idx):
    return add_value_and_gradient(model, work, theta, idx, 1.0, np.zeros(1))


@add_prior_gradient.register(Precision)
def _(model, work, theta, out):
    out[0] += 1.0 - model.rate * math.exp(theta[0])  # with the Jacobian


@log_prior.register(Precision)
def _(model, work, theta):
    return theta[0] - model.rate * math.exp(theta[0])


@record.register(Precision)
def _(model, work, theta, out):
    out[0] = math.exp(theta[0])


@theta_of.register(Precision)
def _(model, draw):
    return np.log(draw)


class Heavy(NamedTuple):
    """GaussianMean whose first row is drawn half of the time."""

    inner: GaussianMean


@n_parameters.register(Heavy)
def _(model):
    return n_parameters(model.inner)


@n_rows.register(Heavy)
def _(model):
    return n_rows(model.inner)


@add_gradient.register(Heavy)
def _(model, work, theta, idx, scale, out):
    add_gradient(model.inner, work, theta, idx, scale, out)


@add_prior_gradient.register(Heavy)
def _(model, work, theta, out):
    pass


@choose_rows.register(Heavy)
def _(model, work, rng, idx, scale):
    n = n_rows(model)
    for b in range(idx.size):
        first = rng.random() < 0.5
        idx[b] = 0 if first else 1 + int(rng.random() * (n - 1))
        scale[b] = (2.0 if first else 2.0 * (n - 1)) / idx.size


class Reflected(NamedTuple):
    """Any Langevin sampler, followed by a reflection at zero."""

    sampler: NamedTuple


@init_state.register(Reflected)
def _(sampler, position, rng):
    return init_state(sampler.sampler, position, rng)


@step.register(Reflected)
def _(sampler, state, target, h, rng):
    step(sampler.sampler, state, target, h, rng)
    for j in range(state.position.size):
        state.position[j] = abs(state.position[j])


class Counts(NamedTuple):
    """Poisson counts of rate theta_j with Gamma(a, b) priors: a positive block."""

    y: np.ndarray  # (N, d)
    shape: float
    rate: float


@n_parameters.register(Counts)
def _(model):
    return model.y.shape[1]


@n_rows.register(Counts)
def _(model):
    return model.y.shape[0]


@positive_prior.register(Counts)
def _(model, work, shape, rate):
    shape[:] = model.shape
    rate[:] = model.rate


@add_gain_and_loss.register(Counts)
def _(model, work, theta, idx, scale, gain, loss):
    for i in idx:
        for j in range(gain.size):
            gain[j] += scale * model.y[i, j]
            loss[j] += scale


def quadrature(log_density, low, high):
    """Return mean and sd of a density on a line."""
    x = np.linspace(low, high, 4001)
    values = np.array([log_density(t) for t in x])
    p = np.exp(values - values.max())
    p /= p.sum()
    mean = p @ x
    return mean, math.sqrt(p @ (x - mean) ** 2)


def test_local_variables_are_integrated_out():
    """SGLD with the noise of drawn signs; 20,000 draws, about 1,000 effective."""
    rng = np.random.default_rng(0)
    y = rng.choice([-1.0, 1.0], 30) + 0.3 + rng.standard_normal(30)
    model = Mixture(y)

    def log_density(t):
        return (
            -0.5 * t**2
            + np.logaddexp(-0.5 * (y - 1 - t) ** 2, -0.5 * (y + 1 - t) ** 2).sum()
        )

    mean, sd = quadrature(log_density, -3, 3)
    for gradient in (Full(), Minibatch(15)):
        draws = sample(
            model,
            SGLD(),
            gradient,
            step_size=0.004,
            burn_in=1000,
            thin=4,
            n_draws=N_DRAWS,
            random_state=1,
        )
        assert abs(draws.mean() - mean) < 0.2 * sd
        assert abs(draws.std() / sd - 1) < 0.15


def test_differences_refuse_local_variables():
    with pytest.raises(ValueError, match="draws local variables for each of them"):
        sample(
            Mixture(np.zeros(5)),
            SGLD(),
            ControlVariate(2, np.zeros(1)),
            step_size=0.1,
            n_draws=1,
        )


def test_a_fused_value_and_gradient_serves_both_and_draws_come_back():
    y = np.random.default_rng(0).standard_normal(50)
    model = Precision(y, rate=1.0)
    g, theta = np.empty(1), np.array([0.3])
    value = log_posterior(model, init_work(model), theta, g)
    log_p = 26 * 0.3 - math.exp(0.3) * (1 + 0.5 * y @ y)
    assert value == pytest.approx(log_p)
    assert g[0] == pytest.approx(26 - math.exp(0.3) * (1 + 0.5 * y @ y))
    exact = stats.gamma(26, scale=1 / (1 + 0.5 * y @ y))
    draws = sample(
        *(model, SGLD(), Full()), step_size=0.005, n_draws=N_DRAWS, thin=5,
        start=np.zeros(1), burn_in=500, random_state=0,
    )  # fmt: skip
    assert draws.mean() == pytest.approx(exact.mean(), rel=0.02)
    assert draws.std() == pytest.approx(exact.std(), rel=0.05)
    np.testing.assert_allclose(np.exp(theta_of(model, draws[0, 5])), draws[0, 5])
    assert n_recorded(model) == 1
    mode = find_mode(model, n_iter=20_000, random_state=0)
    assert np.exp(mode)[0] == pytest.approx(26 / (1 + 0.5 * y @ y), rel=0.05)


def test_rows_that_the_model_chooses_give_unbiased_gradients():
    """With the full Gaussian law, at a step so small that noise adds 2 %."""
    y = np.random.default_rng(0).normal(size=(20, 2))
    model = Heavy(GaussianMean(y, np.eye(2)))
    draws = sample(
        *(model, SGLD(), ChosenByModel(10)), step_size=0.02, n_draws=N_DRAWS, thin=10,
        burn_in=1000, random_state=0,
    )[0]  # fmt: skip
    # Correlation time 100 steps: 2,000 effective draws, errors of 0.022 and 1.6 %.
    np.testing.assert_allclose(draws.mean(axis=0), y.mean(axis=0), atol=0.09)
    np.testing.assert_allclose(draws.std(axis=0), 1.0, atol=0.08)
    with pytest.raises(ValueError, match="does not choose its own rows"):
        sample(model.inner, SGLD(), ChosenByModel(2), step_size=0.1)


def test_a_step_may_be_followed_by_a_reflection():
    """The half-normal law: 4,000 effective draws, errors of 1 % and 1.2 %."""
    model = GaussianMean(np.zeros((5, 1)), np.eye(1))
    draws = sample(
        *(model, Reflected(SGLD()), Full()), step_size=0.02, n_draws=N_DRAWS, thin=20,
        start=np.ones(1), burn_in=1000, random_state=0,
    )[0]  # fmt: skip
    exact = stats.halfnorm()
    assert draws.min() >= 0
    assert draws.mean() == pytest.approx(exact.mean(), rel=0.05)
    assert draws.std() == pytest.approx(exact.std(), rel=0.05)


@pytest.mark.parametrize("h", [0.05, 5.0])
def test_positive_blocks_have_exact_transitions(h):
    """Conjugate Gamma posteriors at any step size, 20,000 draws thinned to 2,000."""
    y = np.random.default_rng(0).poisson([0.0, 3.0], (12, 2)).astype(float)
    model = Counts(y, 0.5, 1.0)
    draws = sample(
        *(model, SCIR(), Minibatch(12)), step_size=h, n_draws=2000, thin=20,
        start=np.ones(2), burn_in=100, random_state=0, scale=np.ones(2),
    )[0]  # fmt: skip
    for j in range(2):
        exact = stats.gamma(0.5 + y[:, j].sum(), scale=1 / 13)
        assert stats.kstest(draws[:, j], exact.cdf).pvalue > 1e-3
