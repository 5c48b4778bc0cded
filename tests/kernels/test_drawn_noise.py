"""Parameters of likelihoods that are drawn between steps."""

import numpy as np
from scipy import stats

from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.models.glm_drawn_noise import (
    DrawnNoiseGLM,
    draw_noise,
    places_of_noise,
)
from skbayes_sg.kernels.models.glm_noise import has_few_rows
from skbayes_sg.kernels.priors import Mixture, Normal
from skbayes_sg.kernels.protocol.model import init_work, n_parameters
from tests.kernels.examples import noisy_glm
from tests.targets import batch_means


@entry_point
def draws_of(model, work, theta, rng, out):
    for i in range(out.shape[0]):
        draw_noise(model, work, theta, rng)
        out[i] = theta[theta.size - out.shape[1] :]


def test_noise_has_its_law_given_coefficients():
    """Precisions of two outputs are Gamma: 4 MCSE of 20,000 draws, about 1 %."""
    plain = noisy_glm("linear")
    model = DrawnNoiseGLM(*plain._replace(prior=Mixture(Normal(), np.ones(3), 1.0)))
    assert not has_few_rows(model)
    places = places_of_noise(model)
    np.testing.assert_array_equal(places, [8] * 4 + [9] * 4 + [8, 9])
    theta, out = np.linspace(-0.5, 0.5, n_parameters(model)), np.empty((20_000, 2))
    draws_of(model, init_work(model), theta, np.random.default_rng(0), out)
    coef = theta[:8].reshape(2, 4)
    eta = coef[:, :3] @ np.asarray(model.rows).T + coef[:, 3:] + model.offsets
    squares = (model.y.reshape(2, 20) - eta) ** 2 @ model.weights
    shape = model.likelihood.shape + 0.5 * model.weights.sum()
    for k in range(2):
        rate = model.likelihood.rate + 0.5 * squares[k]
        law = stats.gamma(shape, scale=1 / rate)
        tau = np.exp(out[:, k])
        for values, expected in ((tau, law.mean()), (tau**2, law.moment(2))):
            mean, error = batch_means(values)
            assert error < 0.02 * expected
            assert abs(mean - expected) < 4 * error
