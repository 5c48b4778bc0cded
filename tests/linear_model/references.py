"""References for posteriors of regressions of any shape, without the package.

Linear regressions are conjugate given the precision of the noise, which one integral is
left for; robust ones of few rows have a Gibbs sampler. Others have long Hamiltonian
chains, a hundred side by side in plain NumPy, whitened by their own covariance; on many
rows, which make the posterior nearly Gaussian, importance sampling.
"""

import numpy as np
from scipy import optimize, special, stats

from tests.linear_model.exact import VAGUE, Posterior

CHAINS, DRAWS, LEAPFROG, STEP = 100, 250, 8, 0.25
MANY, POINTS = 1000, 10_000  # rows from which points are weighted, and how many


class Family:
    """Log density of theta = (coefficients, intercept, noise), and natural draws."""

    n_noise = 0

    def __init__(self, X, y, prior_variance):
        self.A = np.column_stack([X, np.ones(len(y))])
        self.y, self.precision = self.targets(y), np.full(self.A.shape[1], 0.01)
        self.precision[:-1] = 1.0 / prior_variance

    def value_and_gradient(self, theta):
        """Return log p, (chains,), and its gradient, (chains, d)."""
        end = self.A.shape[1]
        beta, noise = theta[:, :end], theta[:, end:]
        eta = beta @ self.A.T
        value = self.terms(eta, noise).sum(axis=1)
        value -= 0.5 * (beta**2) @ self.precision
        g = np.empty_like(theta)
        g[:, :end] = self.score(eta, noise) @ self.A - self.precision * beta
        for j in range(noise.shape[1]):
            ends = []
            for step in (1e-5, -1e-5):
                moved = noise.copy()
                moved[:, j] += step
                terms = self.terms(eta, moved).sum(axis=1)
                ends.append(terms + self.noise_prior(moved))
            g[:, end + j] = (ends[0] - ends[1]) / 2e-5
        return value + self.noise_prior(noise), g

    def noise_prior(self, noise):
        return 0.0


class Counts(Family):
    def targets(self, y):
        self.rate = np.log(y.mean())
        return y

    def natural(self, theta):
        theta = theta.copy()
        theta[:, self.A.shape[1] - 1] += self.rate
        theta[:, self.A.shape[1] :] = np.exp(theta[:, self.A.shape[1] :])
        return theta


class Poisson(Counts):
    def terms(self, eta, noise):
        return self.y * eta - np.exp(eta + self.rate)

    def score(self, eta, noise):
        return self.y - np.exp(eta + self.rate)


class NegativeBinomial(Counts):
    n_noise = 1

    def terms(self, eta, noise):
        r, z = np.exp(-noise), eta + self.rate
        rising = special.gammaln(r + self.y) - special.gammaln(r) - self.y * np.log(r)
        return rising + self.y * z - (r + self.y) * np.log1p(np.exp(z) / r)

    def score(self, eta, noise):
        mu = np.exp(eta + self.rate)
        return (self.y - mu) / (1.0 + np.exp(noise) * mu)

    def noise_prior(self, noise):
        return noise[:, 0] - np.exp(noise[:, 0])


class Numbers(Family):
    n_noise = 1

    def targets(self, y):
        self.center, self.scale = self.location(y)
        return (y - self.center) / self.scale

    def natural(self, theta):
        end = self.A.shape[1]
        theta = theta.copy()
        theta[:, :end] *= self.scale
        theta[:, end - 1] += self.center
        theta[:, end] = self.scale * np.exp(-0.5 * theta[:, end])
        return theta

    def noise_prior(self, noise):
        return VAGUE * (noise[:, 0] - np.exp(noise[:, 0]))


class Robust(Numbers):
    """Student's t of 4 degrees of freedom."""

    def location(self, y):
        center = np.sort(y)[(len(y) - 1) // 2]
        return center, 1.4826 * np.sort(np.abs(y - center))[(len(y) - 1) // 2]

    def terms(self, eta, noise):
        return 0.5 * noise - 2.5 * np.log1p(np.exp(noise) * (self.y - eta) ** 2 / 4.0)

    def score(self, eta, noise):
        tau, error = np.exp(noise), self.y - eta
        return 5.0 * tau * error / (4.0 + tau * error**2)


FAMILIES = {
    "poisson": Poisson,
    "negative binomial": NegativeBinomial,
    "robust": Robust,
}


def linear(X, y, prior_variance, n_levels=20_001):
    """Return exact means and sds: a mixture of Gaussians over precisions of noise."""
    A, n = np.column_stack([X, np.ones(len(y))]), len(y)
    center, scale = y.mean(), y.std()
    prior = np.append(np.full(X.shape[1], 1 / prior_variance), 0.01)
    z = (y - center) / scale
    # In coordinates theta = prior^-1/2 V u all precisions tau have independent u.
    _, d, V = np.linalg.svd(A / np.sqrt(prior), full_matrices=True)
    d = np.append(d, np.zeros(V.shape[0] - len(d)))
    b = V @ (A.T @ z / np.sqrt(prior))
    t = np.linspace(-10.0, 25.0, n_levels)
    tau = np.exp(t)[:, None]
    precision = 1.0 + tau * d**2  # of u
    mean = tau * b / precision
    log_p = (0.5 * n + VAGUE) * t - (VAGUE + 0.5 * z @ z) * tau[:, 0]
    log_p += 0.5 * np.sum(tau * b * mean - np.log(precision), axis=1)
    weights = np.exp(log_p - log_p.max())
    weights /= weights.sum()
    assert max(weights[0], weights[-1]) < 1e-9
    root = V.T / np.sqrt(prior)[:, None]
    means = mean @ root.T
    variance = weights @ (1.0 / precision) @ (root**2).T
    noise = np.exp(-0.5 * t)
    found = Posterior(scale * np.column_stack([means, noise]), weights)
    found.sd = np.sqrt(found.sd**2 + scale**2 * np.append(variance, 0.0))
    found.mean[-2] += center
    return found


def robust(X, y, prior_variance, n_draws=30_000, df=4.0, seed=0):
    """Return means and sds for few rows, by a Gibbs sampler.

    Chains in the coefficients do not get through the narrow part. Given the precisions
    of the rows, of which Student's law is a mixture, the noise is drawn on a grid with
    the coefficients integrated out.
    """
    rng, n = np.random.default_rng(seed), len(y)
    center, scale = Robust.location(None, y)
    z, A = (y - center) / scale, np.column_stack([X, np.ones(n)])
    root = np.sqrt(np.append(np.full(X.shape[1], 1 / prior_variance), 0.01))
    t = np.linspace(-6.0, 14.0, 500)
    tau, rows, own = np.exp(t)[:, None], [], np.ones(n)
    for _ in range(n_draws + 500):
        w = np.sqrt(own)
        _, d, V = np.linalg.svd(w[:, None] * A / root, full_matrices=True)
        d = np.append(d, np.zeros(V.shape[0] - len(d)))
        b = V @ (A.T @ (own * z) / root)
        precision = 1.0 + tau * d**2
        mean = tau * b / precision
        log_p = (0.5 * n + VAGUE) * t - (VAGUE + 0.5 * own @ z**2) * tau[:, 0]
        log_p += 0.5 * np.sum(tau * b * mean - np.log(precision), axis=1)
        mass = np.cumsum(np.exp(log_p - log_p.max()))
        i = np.searchsorted(mass, mass[-1] * rng.random())
        u = mean[i] + rng.standard_normal(len(d)) / np.sqrt(precision[i])
        beta = V.T @ u / root
        own = rng.gamma(0.5 * (df + 1), 2 / (df + np.exp(t[i]) * (z - A @ beta) ** 2))
        rows.append([*(scale * beta), scale * np.exp(-0.5 * t[i])])
    draws = np.array(rows[500:])
    draws[:, -2] += center
    return Posterior(draws, np.full(n_draws, 1 / n_draws))


def reference(name, X, y, prior_variance=10.0, seed=0):
    """Return the `Posterior` of a family on data, in the order of `samples_`."""
    if name == "linear":
        return linear(X, y, prior_variance)
    if name == "robust" and len(y) <= X.shape[1] + 1:
        return robust(X, y, prior_variance)
    family, rng = FAMILIES[name](X, y, prior_variance), np.random.default_rng(seed)
    d = X.shape[1] + 1 + family.n_noise
    # Not the joint mode: with more features than rows, the noise has its at zero.
    start = optimize.minimize(
        lambda beta: -family.value_and_gradient(_padded(beta, d))[0][0],
        np.zeros(d - family.n_noise),
        jac=lambda beta: (
            -family.value_and_gradient(_padded(beta, d))[1][0, : len(beta)]
        ),
    ).x
    theta = np.repeat(_padded(start, d), CHAINS, axis=0)
    if len(y) >= MANY:
        return _weighted(family, theta[0], rng)
    covariance = np.linalg.pinv(_hessian(family, theta[0]), hermitian=True)
    factor, kept, step = _root(covariance), [], STEP
    theta = theta + rng.standard_normal(theta.shape) @ factor.T
    for t in range(2 * DRAWS):
        theta, accepted = _trajectory(family, theta, factor, step, rng)
        if t < DRAWS:
            step *= np.exp(0.1 * (accepted - 0.85))
            if t % 50 == 49:
                factor = _root(np.cov(theta.T))
        else:
            kept.append(theta)
    draws = np.concatenate(kept)
    return Posterior(family.natural(draws), np.full(len(draws), 1 / len(draws)))


def _weighted(family, start, rng):
    """Return the posterior by importance sampling about its mode, in two rounds."""
    mean = optimize.minimize(
        lambda theta: -family.value_and_gradient(theta[None])[0][0],
        start,
        jac=lambda theta: -family.value_and_gradient(theta[None])[1][0],
    ).x
    covariance = np.linalg.inv(_hessian(family, mean))
    for _ in range(2):
        law = stats.multivariate_t(mean, 1.2 * covariance, df=7, seed=rng)
        theta = law.rvs(POINTS)
        parts = np.array_split(theta, POINTS // 100)
        log_p = [family.value_and_gradient(part)[0] for part in parts]
        log_w = np.concatenate(log_p) - law.logpdf(theta)
        weights = np.exp(log_w - log_w.max())
        weights /= weights.sum()
        mean, covariance = weights @ theta, np.cov(theta.T, aweights=weights)
    assert 1 / np.sum(weights**2) > 0.5 * POINTS
    return Posterior(family.natural(theta), weights)


def _padded(beta, d):
    return np.append(beta, np.zeros(d - len(beta)))[None]


def _hessian(family, theta):
    ends = theta + 1e-4 * np.eye(len(theta)), theta - 1e-4 * np.eye(len(theta))
    up, down = (family.value_and_gradient(end)[1] for end in ends)
    H = (down - up) / 2e-4
    return 0.5 * (H + H.T)


def _root(covariance):
    values, vectors = np.linalg.eigh(covariance)
    return vectors * np.sqrt(np.maximum(np.abs(values), 1e-12 * values[-1]))


def _trajectory(family, theta, factor, step, rng):
    """Return the next states of all chains, and the share that moved."""
    value, g = family.value_and_gradient(theta)
    rho = rng.standard_normal(theta.shape)
    energy = value - 0.5 * (rho**2).sum(axis=1)
    new, eps = theta, step * rng.uniform(0.7, 1.3)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        for _ in range(LEAPFROG):
            rho = rho + 0.5 * eps * g @ factor
            new = new + eps * rho @ factor.T
            new_value, g = family.value_and_gradient(new)
            rho = rho + 0.5 * eps * g @ factor
        change = new_value - 0.5 * (rho**2).sum(axis=1) - energy
    moves = np.log(rng.random(len(theta))) < np.nan_to_num(change, nan=-np.inf)
    return np.where(moves[:, None], new, theta), moves.mean()
