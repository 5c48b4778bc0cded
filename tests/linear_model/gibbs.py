"""Gibbs samplers of linear regressions with random priors or bounds, as references."""

import numpy as np
from scipy.special import ndtr, ndtri

from tests.linear_model.exact import VAGUE


def random_prior(X, y, prior, variance, n_draws=60_000, seed=0):
    """Return draws of coefficients, intercept, noise sd and scale, of a long chain.

    The horseshoe by auxiliary variables (Makalic & Schmidt, 2016), which the package
    does not use.
    """
    rng, (n, p) = np.random.default_rng(seed), X.shape
    A, z, (center, scale) = *_standardized(X, y), (y.mean(), y.std())
    gram, b, learns = A.T @ A, A.T @ z, variance == "learn"
    width = 1 / np.sqrt(n) if prior == "horseshoe" else 1.0
    slab = 1 / variance if prior == "horseshoe" else 0.0
    lam2, own, local = np.ones(p), np.ones(p), np.ones(p)  # variances: s2 lam2
    s2, aux, tau, rows = 1.0, 1.0, 1.0, []
    for _ in range(n_draws + 1000):
        Q = tau * gram + np.diag(np.append(1 / local + slab, 0.01))
        root = np.linalg.cholesky(Q)
        mean = np.linalg.solve(Q, tau * b)
        theta = mean + np.linalg.solve(root.T, rng.standard_normal(p + 1))
        beta = theta[:-1]
        tau = _noise(A, z, theta, rng)
        if prior == "horseshoe":
            lam2 = _inverse_gamma(1.0, 1 / own + beta**2 / (2 * s2), rng)
            own = _inverse_gamma(1.0, 1 + 1 / lam2, rng)
            rate = 1 / aux + 0.5 * np.sum(beta**2 / lam2)
            s2 = _inverse_gamma(0.5 * (p + 1), rate, rng)
            aux = _inverse_gamma(1.0, 1 / width**2 + 1 / s2, rng)
            local = s2 * lam2
        elif prior == "normal":
            rate = 1 / aux + 0.5 * beta @ beta
            s2 = _inverse_gamma(0.5 * (p + 1), rate, rng)
            aux = _inverse_gamma(1.0, 1 + 1 / s2, rng)
            local = np.full(p, s2)
        else:
            if learns:
                s2 = _laplace_variance(np.abs(beta).sum(), p, rng)
            else:
                s2 = variance
            lam = 2 / s2
            local = 1 / rng.wald(np.sqrt(lam) / np.abs(beta), lam)
        rows.append([*theta, 1 / np.sqrt(tau), np.sqrt(s2)])
    draws = scale * np.array(rows[1000:])
    draws[:, p] += center
    return draws


def bounded(X, y, low, high, prior_variance=10.0, n_draws=20_000, seed=0):
    """Return draws of coefficients, intercept and noise sd, coefficients in bounds."""
    rng, p = np.random.default_rng(seed), X.shape[1]
    A, z, (center, scale) = *_standardized(X, y), (y.mean(), y.std())
    gram, b, rows, tau = A.T @ A, A.T @ z, [], 1.0
    low, high = np.append(low / scale, -np.inf), np.append(high / scale, np.inf)
    theta = np.clip(np.zeros(p + 1), low, high)
    uniform = rng.random((n_draws + 500, p + 1))
    for each in uniform:
        Q = tau * gram + np.diag(np.append(np.full(p, 1 / prior_variance), 0.01))
        for j in range(p + 1):
            sd = Q[j, j] ** -0.5
            mean = theta[j] + (tau * b[j] - Q[j] @ theta) * sd**2
            ends = ndtr([(low[j] - mean) / sd, (high[j] - mean) / sd])
            flip = ends[0] > 0.5  # quantiles of the far tail lose no digits below
            if flip:
                ends = ndtr([(mean - high[j]) / sd, (mean - low[j]) / sd])
            q = ndtri(ends[0] + (ends[1] - ends[0]) * each[j])
            theta[j] = mean - sd * q if flip else mean + sd * q
        tau = _noise(A, z, theta, rng)
        rows.append([*theta, 1 / np.sqrt(tau)])
    draws = scale * np.array(rows[500:])
    draws[:, p] += center
    return draws


def _standardized(X, y):
    return np.column_stack([X, np.ones(len(y))]), (y - y.mean()) / y.std()


def _noise(A, z, theta, rng):
    rest = z - A @ theta
    return rng.gamma(VAGUE + 0.5 * len(z)) / (VAGUE + 0.5 * rest @ rest)


def _inverse_gamma(shape, rate, rng):
    return rate / rng.gamma(shape, size=np.shape(rate))


def _laplace_variance(total, p, rng):
    u = np.linspace(-8, 8, 4001)
    log_p = (1 - p) * u - np.sqrt(2) * total * np.exp(-u) - np.log1p(np.exp(2 * u))
    weights = np.exp(log_p - log_p.max())
    return np.exp(2 * rng.choice(u, p=weights / weights.sum()))
