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
from skbayes_sg.kernels.ops import (
    add_gradient,
    add_prior_gradient,
    estimate,
    init_memory,
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
