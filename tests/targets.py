"""Targets whose posteriors, and whose chains' stationary laws, are known exactly.

Symbols: Lambda the posterior precision, V the covariance of a gradient estimate, h the
step size, eps = h/2 the step of the schemes with momentum, C their friction.
"""

import itertools
from typing import NamedTuple

import numpy as np
from scipy.linalg import solve_discrete_lyapunov

from skbayes_sg.kernels.gradients import Full
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)


# Posteriors in closed form
def gaussian(d, n_rows=4, smallest=0.5, largest=1.0, spread=0.5, seed=0):
    """Return a target with precisions from `smallest` to `largest`, far from zero."""
    rng = np.random.default_rng(seed)
    rotation = np.linalg.qr(rng.standard_normal((d, d)))[0]
    eigenvalues = np.linspace(largest, smallest, d)
    precision = rotation * eigenvalues @ rotation.T
    y = 10.0 + spread * rng.standard_normal((n_rows, d))
    return GaussianMean(y, (precision + precision.T) / 2)


def posterior(model):
    """Return the posterior mean and precision of a Gaussian or regression target."""
    if isinstance(model, GaussianMean):
        return model.y.mean(axis=0), model.precision
    prior = model.prior_precision * np.eye(model.x.shape[1])
    precision = model.x.T @ model.x + prior
    return np.linalg.solve(precision, model.x.T @ model.y), precision


def gradient_covariance(model, batch_size):
    """Return V of a minibatch without replacement on a `GaussianMean`."""
    n = model.y.shape[0]
    rows = np.atleast_2d(np.cov(model.y, rowvar=False))
    return model.precision @ rows @ model.precision * (1 / batch_size - 1 / n)


class Regression(NamedTuple):
    """Normal regression with unit variance and prior N(0, 1 / prior_precision)."""

    x: np.ndarray  # (N, p)
    y: np.ndarray  # (N,)
    prior_precision: float


@n_parameters.register(Regression)
def _(model):
    return model.x.shape[1]


@n_rows.register(Regression)
def _(model):
    return model.x.shape[0]


@add_gradient.register(Regression)
def _(model, work, theta, idx, scale, out):
    for i in idx:
        residual = model.y[i]
        for j in range(theta.size):
            residual -= model.x[i, j] * theta[j]
        for j in range(theta.size):
            out[j] += scale * residual * model.x[i, j]


@add_prior_gradient.register(Regression)
def _(model, work, theta, out):
    for j in range(theta.size):
        out[j] -= model.prior_precision * theta[j]


@log_likelihood.register(Regression)
def _(model, work, theta, idx):
    total = 0.0
    for i in idx:
        residual = model.y[i]
        for j in range(theta.size):
            residual -= model.x[i, j] * theta[j]
        total -= 0.5 * residual**2
    return total


@log_prior.register(Regression)
def _(model, work, theta):
    total = 0.0
    for j in range(theta.size):
        total -= 0.5 * model.prior_precision * theta[j] ** 2
    return total


def regression(n_rows=6, p=2, prior_precision=0.6, seed=0):
    """Return a conjugate regression whose largest posterior precision is 1."""
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n_rows, p))
    x *= np.sqrt(1.0 - prior_precision) / np.linalg.norm(x, 2)
    y = x @ np.full(p, 30.0) + rng.standard_normal(n_rows)
    return Regression(x, y, prior_precision)


class NoisyFull(NamedTuple):
    """The exact gradient plus normal noise of a known variance."""

    variance: float


class Quartic(NamedTuple):
    """Independent coordinates with density exp(-theta^4 / 4): far from Gaussian."""

    nothing: np.ndarray  # (1, d)


@n_parameters.register(Quartic)
def _(model):
    return model.nothing.shape[1]


@n_rows.register(Quartic)
def _(model):
    return 1


@add_gradient.register(Quartic)
def _(model, work, theta, idx, scale, out):
    for j in range(theta.size):
        out[j] -= theta[j] ** 3


@add_prior_gradient.register(Quartic)
def _(model, work, theta, out):
    pass


@init_memory.register(NoisyFull)
def _(gradient, model, theta, rng):
    return init_memory(Full(), model, theta, rng)


@estimate.register(NoisyFull)
def _(gradient, memory, model, work, theta, rng, out):
    estimate(Full(), memory, model, work, theta, rng, out)
    for j in range(out.size):
        out[j] += np.sqrt(gradient.variance) * rng.standard_normal()


# Stationary covariances of linear schemes, by the discrete Lyapunov equation
def sgld_law(precision, noise, h):
    """Return the covariance of theta <- theta + h/2 g + sqrt(h) xi."""
    eye = np.eye(len(precision))
    return solve_discrete_lyapunov(
        eye - 0.5 * h * precision, h * eye + 0.25 * h**2 * noise
    )


def leimkuhler_matthews_law(precision, noise, h):
    """Return the covariance of theta <- theta + h/2 g + sqrt(h) (xi + xi') / 2."""
    eye, zero = np.eye(len(precision)), np.zeros_like(precision)
    half = 0.5 * np.sqrt(h) * eye
    a = np.block([[eye - 0.5 * h * precision, half], [zero, zero]])
    b = np.block([[half], [eye]])
    q = b @ b.T
    q[: len(eye), : len(eye)] += 0.25 * h**2 * noise
    return solve_discrete_lyapunov(a, q)[: len(eye), : len(eye)]


def sghmc_law(precision, noise, h, friction, n_leapfrog=1, resample=False):
    """Return the covariance of theta for drifts eps rho and kicks eps (g - C rho)."""
    d, eps = len(precision), 0.5 * h
    eye, zero = np.eye(d), np.zeros((d, d))
    drift = np.block([[eye, eps * eye], [zero, eye]])
    kick = np.block([[eye, zero], [-eps * precision, (1 - eps * friction) * eye]])
    one = kick @ drift
    added = np.block([[zero, zero], [zero, h * friction * eye + eps**2 * noise]])
    fresh = np.block([[zero, zero], [zero, eye]])
    a = np.eye(2 * d) - fresh if resample else np.eye(2 * d)
    q = fresh if resample else 0.0 * fresh
    for _ in range(n_leapfrog):
        a, q = one @ a, one @ q @ one.T + added
    return solve_discrete_lyapunov(a, q)[:d, :d]


def baoab_law(precision, noise, h, friction):
    """Return the covariance of theta for kick, half drift, damping, half drift."""
    d, eps = len(precision), 0.5 * h
    eye, zero = np.eye(d), np.zeros((d, d))
    c = np.exp(-eps * friction)
    kick = np.block([[eye, zero], [-eps * precision, eye]])
    drift = np.block([[eye, 0.5 * eps * eye], [zero, eye]])
    damp = np.block([[eye, zero], [zero, c * eye]])
    late = drift @ np.block([[zero], [np.sqrt(1 - c**2) * eye]])
    early = drift @ damp @ drift @ np.block([[zero], [eps * eye]])
    q = late @ late.T + early @ noise @ early.T
    return solve_discrete_lyapunov(drift @ damp @ drift @ kick, q)[:d, :d]


def preconditioned_law(precision, noise, h, inverse):
    """Return the covariance of theta <- theta + h/2 P g + sqrt(h) N(0, P)."""
    a = np.eye(len(precision)) - 0.5 * h * inverse @ precision
    q = h * inverse + 0.25 * h**2 * inverse @ noise @ inverse
    return solve_discrete_lyapunov(a, q)


def subsampled_law(model, batch_size, h):
    """Return mean and covariance of SGLD with control variates at a regression's mode.

    A minibatch multiplies the distance from the mode by a random matrix A_S, so
    Sigma = E A_S Sigma A_S' + h I: a linear equation, solved by enumeration.
    """
    mean, _ = posterior(model)
    n, p = model.x.shape
    operator = np.zeros((p * p, p * p))
    batches = list(itertools.combinations(range(n), batch_size))
    for batch in batches:
        x = model.x[list(batch)]
        precision = n / batch_size * x.T @ x + model.prior_precision * np.eye(p)
        a = np.eye(p) - 0.5 * h * precision
        operator += np.kron(a, a) / len(batches)
    vector = np.linalg.solve(np.eye(p * p) - operator, h * np.eye(p).ravel())
    return mean, vector.reshape(p, p)


# Comparison of draws with a law
def batch_means(values, n_batches=50):
    """Return the mean of `values` along axis 0 and its Monte Carlo standard error."""
    usable = len(values) // n_batches * n_batches
    means = values[:usable].reshape(n_batches, -1, *values.shape[1:]).mean(axis=1)
    return means.mean(axis=0), means.std(axis=0, ddof=1) / np.sqrt(n_batches)


def check_law(draws, mean, covariance, tolerance=0.0, precision=0.01):
    """Assert the means and variances of (n_draws, d) draws, within 4 MCSE.

    `tolerance` is the relative error allowed in a variance beyond that (and, in sds, in
    a mean); `precision` the largest relative Monte Carlo error of a meaningful test.
    """
    for name, values, expected, unit in (
        ("mean", draws, mean, np.sqrt(np.diag(covariance))),
        ("variance", (draws - mean) ** 2, np.diag(covariance), np.diag(covariance)),
    ):
        average, error = batch_means(values)
        wrong = np.abs(average - expected) > 4 * error + tolerance * unit
        assert not wrong.any(), f"wrong {name}: {average}, expected {expected}"
        blunt = error > precision * np.abs(expected)
        assert not blunt.any(), f"too few draws: the {name} has errors {error}"
