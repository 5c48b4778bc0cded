"""Chains on Gaussian targets have exactly the law that their step size implies.

Each comparison is within 4 Monte Carlo standard errors, of at most 1 % of the value.
"""

from functools import partial

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
from skbayes_sg.kernels.samplers import (
    BAOAB,
    SAMPLERS,
    SGHMC,
    SGLD,
    LeimkuhlerMatthews,
)
from tests.targets import (
    baoab_law,
    check_law,
    gaussian,
    gradient_covariance,
    leimkuhler_matthews_law,
    posterior,
    preconditioned_law,
    regression,
    sghmc_law,
    sgld_law,
    subsampled_law,
)

STEPS = [0.3, 0.8, 1.5, 2.5]  # h times the largest precision
LINEAR = {
    "sgld": (SGLD(), sgld_law),
    "sgld-lm": (LeimkuhlerMatthews(), leimkuhler_matthews_law),
    "sghmc": (SGHMC(0.5, 2), partial(sghmc_law, friction=0.5, n_leapfrog=2)),
    "baoab": (BAOAB(0.5), partial(baoab_law, friction=0.5)),
}


def draw(model, sampler, gradient, h, n_draws=None, seed=0, **settings):
    """Return (n_draws, d) draws of one chain that starts at the posterior mean."""
    start, _ = posterior(model)
    return sample(
        model,
        sampler,
        gradient,
        step_size=h,
        n_draws=n_draws or int(40_000 * (1 + 4 / h)),
        burn_in=200,
        start=start,
        random_state=seed,
        **settings,
    )[0]


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize("name", LINEAR)
def test_law_with_exact_gradients(name, d, h):
    sampler, law = LINEAR[name]
    model = gaussian(d)
    mean, precision = posterior(model)
    draws = draw(model, sampler, Minibatch(4), h)
    check_law(draws, mean, law(precision, np.zeros((d, d)), h))


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("d", [1, 10])
@pytest.mark.parametrize("name", LINEAR)
def test_law_with_minibatches(name, d, h):
    sampler, law = LINEAR[name]
    model = gaussian(d, spread=4.0)
    mean, precision = posterior(model)
    noise = gradient_covariance(model, 2)
    covariance = law(precision, noise, h)
    exact = np.diag(law(precision, 0 * noise, h))
    assert np.diag(covariance).max() > 1.05 * exact.max()  # the noise does matter
    check_law(draw(model, sampler, Minibatch(2), h), mean, covariance)


@pytest.mark.parametrize("h", [0.8, 2.5])
def test_law_with_fresh_momentum(h):
    model, law = gaussian(10), partial(sghmc_law, friction=0.5, n_leapfrog=3)
    mean, precision = posterior(model)
    draws = draw(model, SGHMC(0.5, 3, resample=True), Minibatch(4), h, 200_000)
    check_law(draws, mean, law(precision, 0 * precision, h, resample=True))


@pytest.mark.parametrize("h", [0.8, 2.0])
@pytest.mark.parametrize("name", ["sgrld", "sgrld-dense", "sgrhmc", "recipe"])
def test_law_of_other_linear_schemes(name, h):
    """On a Gaussian the metric is constant: a preconditioner."""
    model = gaussian(10, smallest=0.8, spread=4.0)
    mean, precision = posterior(model)
    noise = gradient_covariance(model, 2)
    diagonal = np.diag(precision)
    root = np.diag(diagonal**-0.5)
    if name == "sgrhmc":  # its friction is G^-1
        friction = np.diag(1 / diagonal)
        covariance = (
            root
            @ sghmc_law(root @ precision @ root, root @ noise @ root, h, friction)
            @ root
        )
    else:
        inverses = {
            "sgrld": np.diag(1 / diagonal),
            "sgrld-dense": np.linalg.inv(precision),
            "recipe": np.eye(10),
        }
        covariance = preconditioned_law(precision, noise, h, inverses[name])
    draws = draw(model, SAMPLERS[name](), Minibatch(2), h)
    check_law(draws, mean, covariance)


def test_oracles_have_the_closed_forms():
    """Where the precision is 1, the gradient noise V and the friction 0.6."""
    one = np.eye(1)
    for h in STEPS:
        for v in [0.0, 0.7]:
            expected = (h + h**2 * v / 4) / (1 - (1 - h / 2) ** 2)
            np.testing.assert_allclose(sgld_law(one, v * one, h), expected)
            expected = 1 + h * v / (4 - h)
            np.testing.assert_allclose(
                leimkuhler_matthews_law(one, v * one, h), expected
            )
            eps, c = h / 2, np.exp(-0.6 * h / 2)
            expected = (1 + eps * v / 1.2) / (1 - eps**2 / (4 - 1.2 * eps))
            np.testing.assert_allclose(sghmc_law(one, v * one, h, 0.6), expected)
            expected = 1 + v * eps**2 * (1 + c) / ((1 - c) * (4 - eps**2))
            np.testing.assert_allclose(baoab_law(one, v * one, h, 0.6), expected)


@pytest.mark.parametrize("h", STEPS)
@pytest.mark.parametrize("name", ["sgld-lm", "baoab"])
def test_second_order_schemes_are_exact_on_a_gaussian(name, h):
    _, precision = posterior(gaussian(10))
    law = LINEAR[name][1](precision, 0 * precision, h)
    np.testing.assert_allclose(law, np.linalg.inv(precision), atol=1e-12)


@pytest.mark.parametrize("h", [0.5, 1.5])
def test_law_with_control_variates(h):
    """Prior, N/n, mode and multiplicative gradient noise: the conjugate regression."""
    model = regression()
    mean, covariance = subsampled_law(model, 2, h)
    draws = draw(model, SGLD(), ControlVariate(2, mean), h)
    check_law(draws, mean, covariance)
