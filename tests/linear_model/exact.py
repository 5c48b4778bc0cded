"""Posteriors of regressions without the package: quadrature and importance sampling."""

import numpy as np
from scipy import optimize, stats

VAGUE = 1e-3


class Posterior:
    """Mean and sd of all parameters in the order of `samples_`."""

    def __init__(self, draws, weights):
        self.mean = weights @ draws
        self.sd = np.sqrt(weights @ (draws - self.mean) ** 2)

    def check(self, samples, error=0.1, ratio=0.06):
        """Compare draws: means in posterior sds, sds by their ratio."""
        flat = samples.reshape(-1, samples.shape[-1])
        assert np.abs((flat.mean(axis=0) - self.mean) / self.sd).max() < error
        assert np.abs(flat.std(axis=0) / self.sd - 1).max() < ratio


def linear(X, y, prior_variance=10.0, n_draws=40_000, seed=0):
    """Linear regression of unknown noise: exact draws, the precision by quadrature.

    Targets are standardized, X is given as it is, with an intercept of variance 100.
    """
    rng, n = np.random.default_rng(seed), len(y)
    center, scale = y.mean(), y.std()
    A, z = np.column_stack([X, np.ones(n)]), (y - center) / scale
    precision = np.append(np.full(X.shape[1], 1 / prior_variance), 1e-6)
    t = np.linspace(-6, 12, 4001)
    log_p, terms = np.empty_like(t), []
    for i, tau in enumerate(np.exp(t)):
        P = tau * A.T @ A + np.diag(precision)
        m = np.linalg.solve(P, tau * A.T @ z)
        fit = tau * (z - A @ m) @ (z - A @ m) + m @ (precision * m)
        log_p[i] = 0.5 * n * t[i] - 0.5 * fit - 0.5 * np.linalg.slogdet(P)[1]
        log_p[i] += VAGUE * (t[i] - tau)
        terms.append((m, P))
    p = np.exp(log_p - log_p.max())
    rows = []
    for i in rng.choice(len(t), n_draws, p=p / p.sum()):
        m, P = terms[i]
        root = np.linalg.cholesky(P)
        beta = m + np.linalg.solve(root.T, rng.standard_normal(len(m)))
        rows.append([*(scale * beta), scale * np.exp(-0.5 * t[i])])
    draws = np.array(rows)
    draws[:, -2] += center
    return Posterior(draws, np.full(n_draws, 1 / n_draws))


class Moments(Posterior):
    """A posterior whose means and sds are known."""

    def __init__(self, mean, sd):
        self.mean, self.sd = mean, sd


def learned_variance(X, y):
    """Linear regression, coefficients N(0, s^2), s half-Cauchy(1): exact moments.

    A mixture of Gaussians over a grid of the logarithms of s and of the precision.
    """
    (n, p), center, scale = X.shape, y.mean(), y.std()
    A, z = np.column_stack([X, np.ones(n)]), (y - center) / scale
    gram, b, rows = A.T @ A, A.T @ z, []
    for u in np.linspace(-6, 5, 90):
        prior = np.append(np.full(p, np.exp(-2 * u)), 0.01)
        for t in np.linspace(-4, 11, 110):
            tau = np.exp(t)
            P = tau * gram + np.diag(prior)
            inverse = np.linalg.inv(P)
            m = tau * inverse @ b
            fit = n * t - tau * z @ z + tau * b @ m - np.linalg.slogdet(P)[1]
            log_p = 0.5 * (fit + np.log(prior).sum()) + VAGUE * (t - tau)
            log_p += u - np.log1p(np.exp(2 * u))
            noise = np.array([np.exp(-0.5 * t), np.exp(u)])
            square = np.append(np.diag(inverse) + m**2, noise**2)
            rows.append([log_p, *m, *noise, *square])
    log_p, parts = (rows := np.array(rows))[:, 0], rows[:, 1:]
    p_each = np.exp(log_p - log_p.max())
    mean, square = np.split(p_each / p_each.sum() @ parts, 2)
    sd = scale * np.sqrt(square - mean**2)
    mean = scale * mean
    mean[p] += center
    return Moments(mean, sd)


def poisson(X, y, exposure, prior_variance=10.0):
    rate = np.log(y.sum() / exposure.sum())

    def density(theta):
        eta = X @ theta[:-1] + theta[-1] + np.log(exposure)
        return stats.poisson.logpmf(y, np.exp(eta)).sum() + _normal(
            theta, rate, prior_variance
        )

    return importance(density, np.append(np.zeros(X.shape[1]), rate))


def negative_binomial(X, y, prior_variance=10.0):
    rate = np.log(y.mean())

    def density(theta):
        beta, u = theta[:-1], theta[-1]
        mu, r = np.exp(X @ beta[:-1] + beta[-1]), np.exp(-u)
        value = stats.nbinom.logpmf(y, r, r / (r + mu)).sum() + u - np.exp(u)
        return value + _normal(beta, rate, prior_variance)

    def natural(draws):
        return np.column_stack([draws[:, :-1], np.exp(draws[:, -1])])

    start = np.append(np.zeros(X.shape[1]), [rate, 0.0])
    return importance(density, start, natural)


def robust(X, y, df=None, prior_variance=10.0):
    center = np.sort(y)[(len(y) - 1) // 2]
    scale = 1.4826 * np.sort(np.abs(y - center))[(len(y) - 1) // 2]
    z, p = (y - center) / scale, X.shape[1]

    def density(theta):
        beta, t = theta[: p + 1], theta[p + 1]
        nu = df or 2 + np.exp(theta[-1])
        law = stats.t(nu, X @ beta[:-1] + beta[-1], np.exp(-0.5 * t))
        value = law.logpdf(z).sum() + VAGUE * (t - np.exp(t))
        if df is None:
            value += 2 * theta[-1] - 0.1 * np.exp(theta[-1])
        return value + _normal(beta, 0.0, prior_variance)

    def natural(draws):
        beta = scale * draws[:, : p + 1]
        beta[:, -1] += center
        noise = [scale * np.exp(-0.5 * draws[:, p + 1])]
        noise += [] if df else [2 + np.exp(draws[:, -1])]
        return np.column_stack([beta, *noise])

    start = np.zeros(p + 2 + int(df is None))
    return importance(density, start, natural)


def _normal(beta, center, prior_variance):
    squares = (beta[:-1] ** 2).sum() / prior_variance + (beta[-1] - center) ** 2 / 100
    return -0.5 * squares


def importance(density, start, natural=lambda draws: draws, n_draws=8_000, seed=0):
    """Importance sampling from a heavy-tailed law at the mode; its weights are tame."""
    rng, d = np.random.default_rng(seed), len(start)
    mode = optimize.minimize(lambda t: -density(t), start, method="BFGS").x
    steps, H = 1e-4 * np.eye(d), np.empty((d, d))
    for i in range(d):
        for j in range(d):
            a, b = steps[i], steps[j]
            H[i, j] = density(mode + a + b) - density(mode + a - b)
            H[i, j] += density(mode - a - b) - density(mode - a + b)
    law = stats.multivariate_t(mode, np.linalg.inv(-H / 4e-8), df=5, seed=rng)
    for _ in range(2):  # again with the moments of the first weighted draws
        draws = law.rvs(n_draws).reshape(n_draws, d)
        log_w = np.array([density(each) for each in draws]) - law.logpdf(draws)
        weights = np.exp(log_w - log_w.max())
        weights /= weights.sum()
        mean = weights @ draws
        cov = (draws - mean).T @ (weights[:, None] * (draws - mean))
        law = stats.multivariate_t(mean, 1.1 * cov, df=5, seed=rng)
    assert 1 / np.sum(weights**2) > 0.3 * n_draws
    return Posterior(natural(draws), weights)
