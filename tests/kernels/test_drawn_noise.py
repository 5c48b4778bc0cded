"""Parameters of likelihoods, and scales of priors, that are drawn between steps."""

import math

import numpy as np
from scipy import stats

from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.following import following
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models.glm import n_coefficients
from skbayes_sg.kernels.models.glm_drawn_noise import (
    CARRIED,
    DrawnNoiseGLM,
    carried_law,
    draw_noise,
    places_of_noise,
)
from skbayes_sg.kernels.models.glm_noise import has_few_rows
from skbayes_sg.kernels.numerics.slices import draw_by_slices
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


@entry_point
def carried_draws(target, position, rng, out):
    model, end = target.model, n_coefficients(target.model)
    for i in range(out.shape[0]):
        for j in range(end):
            position[j] = rng.standard_normal()
        for k in range(model.n_outputs):
            law = carried_law(model, target, position, k, rng)
            draw_by_slices(law, 0.0, CARRIED, rng)
            out[i, k, 0] = math.log(target.work.scale[k])
            out[i, k, 1] = target.g[end + k]


def exact_moments(model, k, width):
    """Return means and sds of log scale and log precision of output k, on a grid."""
    X, n = np.asarray(model.rows), len(model.weights)
    A = np.column_stack([X, np.ones(n)])
    z = model.y.reshape(-1, n)[k] - model.offsets
    gram, b = A.T @ (model.weights[:, None] * A), A.T @ (model.weights * z)
    slab = model.prior_precision.reshape(-1, A.shape[1])[k]
    u, t = np.linspace(-9, 7, 81), np.linspace(-7, 7, 71)
    log_p = np.empty((u.size, t.size))
    for i, j in np.ndindex(log_p.shape):
        tau = np.exp(t[j])
        P = tau * gram + np.diag(slab)
        P[:-1, :-1] += np.exp(-2 * u[i]) * np.eye(X.shape[1])
        fit = tau * model.weights @ z**2 - tau**2 * b @ np.linalg.solve(P, b)
        log_p[i, j] = model.weights.sum() * t[j] - fit - np.linalg.slogdet(P)[1]
        log_p[i, j] += 2 * (model.likelihood.shape * t[j] - model.likelihood.rate * tau)
    log_prior = (1 - X.shape[1]) * u - np.log1p(np.exp(2 * u) / width**2)
    log_p = 0.5 * log_p + log_prior[:, None]
    p = np.exp(log_p - log_p.max())
    p /= p.sum()
    mean = np.array([p.sum(axis=1) @ u, p.sum(axis=0) @ t])
    square = np.array([p.sum(axis=1) @ u**2, p.sum(axis=0) @ t**2])
    return mean, np.sqrt(square - mean**2)


def test_scale_and_noise_have_their_law_given_the_position():
    """Of N(0, I), as positions are: means within 4 MCSE, sds within 4 % (4 errors)."""
    plain, width = noisy_glm("linear", n=6, p=8), 0.5
    prior = Mixture(Normal(), np.ones(8), width)
    model = DrawnNoiseGLM(*plain._replace(prior=prior))
    end, n = n_coefficients(model), len(model.weights)
    A = np.column_stack([np.asarray(model.rows), np.ones(n)])
    information, pull = np.zeros((end + 2, end + 2)), np.zeros(end + 2)
    for k in range(2):
        here = slice(9 * k, 9 * (k + 1))
        z = model.y.reshape(2, n)[k] - model.offsets
        information[here, here] = A.T @ (model.weights[:, None] * A)
        pull[here] = A.T @ (model.weights * z)
    given = np.append(model.prior_precision, np.zeros(2))
    places, start = places_of_noise(model), np.zeros(end + 2)
    precision = init_work(model).precision
    coordinates = following(start, information, given, precision, places, pull)
    rng, out = np.random.default_rng(0), np.empty((10_000, 2, 2))
    target = make_target(model, Full(), coordinates, rng)
    carried_draws(target, np.zeros(end + 2), rng, out)
    for k in range(2):
        exact, sd = exact_moments(model, k, width)
        for values, right, spread in zip(out[:, k].T, exact, sd, strict=True):
            mean, error = batch_means(values)
            assert error < 0.03 * spread
            assert abs(mean - right) < 4 * error
            assert abs(values.std() / spread - 1) < 0.04
