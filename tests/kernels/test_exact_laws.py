"""Chains on Gaussian targets have exactly the law that their step size implies.

Each comparison is within 4 Monte Carlo standard errors, of at most 1 % of the value.
"""

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.samplers import SGLD, LeimkuhlerMatthews
from tests.targets import (
    check_law,
    gaussian,
    gradient_covariance,
    leimkuhler_matthews_law,
    posterior,
    regression,
    sgld_law,
    subsampled_law,
)

STEPS = [0.3, 0.8, 1.5, 2.5]  # h times the largest precision
LINEAR = [
    (SGLD(), sgld_law),
    (LeimkuhlerMatthews(), leimkuhler_matthews_law),
]
IDS = [type(sampler).__name__ for sampler, _ in LINEAR]


def draw(model, sampler, gradient, h, n_draws=400_000, seed=0, **settings):
    """Return (n_draws, d) draws of one chain that starts at the posterior mean."""
    start, _ = posterior(model)
    return sample(
        model,
        sampler,
        gradient,
        step_size=h,
        n_draws=n_draws,
        burn_in=200,
        start=start,
        random_state=seed,
        **settings,
    )[0]


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize(("sampler", "law"), LINEAR, ids=IDS)
def test_law_with_exact_gradients(sampler, law, d, h):
    model = gaussian(d)
    mean, precision = posterior(model)
    draws = draw(model, sampler, Minibatch(4), h)
    check_law(draws, mean, law(precision, np.zeros((d, d)), h))


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize(("sampler", "law"), LINEAR, ids=IDS)
def test_law_with_minibatches(sampler, law, d, h):
    model = gaussian(d, spread=4.0)
    mean, precision = posterior(model)
    noise = gradient_covariance(model, 2)
    covariance = law(precision, noise, h)
    exact = np.diag(law(precision, 0 * noise, h))
    assert np.diag(covariance).max() > 1.05 * exact.max()  # the noise does matter
    check_law(draw(model, sampler, Minibatch(2), h), mean, covariance)


def test_oracles_have_the_closed_forms():
    """The variance of SGLD and LM where the precision is 1 and V the gradient noise."""
    one = np.eye(1)
    for h in STEPS:
        for v in [0.0, 0.7]:
            expected = (h + h**2 * v / 4) / (1 - (1 - h / 2) ** 2)
            np.testing.assert_allclose(sgld_law(one, v * one, h), expected)
            expected = 1 + h * v / (4 - h)
            np.testing.assert_allclose(
                leimkuhler_matthews_law(one, v * one, h), expected
            )


@pytest.mark.parametrize("h", STEPS)
def test_leimkuhler_matthews_is_exact_on_a_gaussian(h):
    _, precision = posterior(gaussian(10))
    law = leimkuhler_matthews_law(precision, 0 * precision, h)
    np.testing.assert_allclose(law, np.linalg.inv(precision), atol=1e-12)


@pytest.mark.parametrize("h", [0.5, 1.5])
def test_law_with_control_variates(h):
    """Prior, N/n, mode and multiplicative gradient noise: the conjugate regression."""
    model = regression()
    mean, covariance = subsampled_law(model, 2, h)
    draws = draw(model, SGLD(), ControlVariate(2, mean), h)
    check_law(draws, mean, covariance)
