"""Models of known posteriors, which the tests share: each is compiled once.

Compiling one takes half a minute, so only `LINEAR` is for the quick tests.
"""

import numpy as np
import pytensor.tensor as pt
from scipy.special import gammaln

from skbayes_sg import Interval, Model, Ordered, Positive, Real, Simplex

N = 3000
RNG = np.random.default_rng(0)
COLUMNS = {
    "X": RNG.normal([1.0, -2.0], 1.0, (N, 2)),
    "y": RNG.poisson(1.5, N),
    "level": RNG.choice(3, N, p=[0.2, 0.3, 0.5]),
}


def linear_likelihood(beta, sigma, X, y):
    return -pt.log(sigma) - 0.5 * ((y - X @ beta) / sigma) ** 2


def linear_prior(beta, sigma):
    """Return the density of 1 / sigma^2 ~ Gamma(2, 1), beta ~ N(0, sigma^2 I)."""
    return -7 * pt.log(sigma) - (1 + 0.5 * (beta**2).sum()) / sigma**2


def linear_mean(beta, X):
    return X @ beta


def linear_sample(rng, beta, sigma, X):
    return X @ beta + sigma * rng.standard_normal(len(X))


LINEAR = Model(
    linear_likelihood,
    linear_prior,
    mean=linear_mean,
    sample=linear_sample,
    coords={"axis": ["east", "north"]},
    beta=Real(2, dims="axis"),
    sigma=Positive(),
)
ROWS = {"X": COLUMNS["X"]}
ROWS["y"] = ROWS["X"] @ [0.5, -1.0] + RNG.normal(0, 2.0, N)


def exact_linear_moments():
    """Return means and sds of the posterior of beta and sigma."""
    X, y = ROWS.values()
    precision = np.eye(2) + X.T @ X
    mean = np.linalg.solve(precision, X.T @ y)
    a, b = 2 + N / 2, 1 + 0.5 * (y @ y - mean @ precision @ mean)
    sd = np.sqrt(b / (a - 1) * np.diag(np.linalg.inv(precision)))
    sigma = np.sqrt(b) * np.exp(gammaln(a - 0.5) - gammaln(a))
    return np.r_[mean, sigma], np.r_[sd, np.sqrt(b / (a - 1) - sigma**2)]


SHAPE, RATE = 2.0, 1.0  # of the Gamma prior of the rate
ALPHA = np.array([1.0, 2.0, 3.0])  # of the Dirichlet prior of w


def conjugate_likelihood(mu, rate, w, X, y, level):
    gaussian = -0.5 * ((X - mu) ** 2).sum(axis=1)
    return gaussian + y * pt.log(rate) - rate + pt.log(w)[level]


def conjugate_prior(mu, rate, w):
    gamma = (SHAPE - 1) * pt.log(rate) - RATE * rate
    return -0.5 * (mu**2).sum() + gamma + ((ALPHA - 1) * pt.log(w)).sum()


CONJUGATE = Model(
    conjugate_likelihood,
    conjugate_prior,
    mu=Real(2),
    rate=Positive(),
    w=Simplex(3),
)


def exact_moments():
    """Return means and sds of the posterior of mu, rate and w, one after the other."""
    total = COLUMNS["X"].sum(axis=0)
    shape, rate = SHAPE + COLUMNS["y"].sum(), RATE + N
    alpha = ALPHA + np.bincount(COLUMNS["level"])
    whole = alpha.sum()
    share = alpha / whole
    mean = np.concatenate([total / (N + 1), [shape / rate], share])
    sd_w = np.sqrt(share * (1 - share) / (whole + 1))
    sd = np.concatenate([np.full(2, (N + 1) ** -0.5), [shape**0.5 / rate], sd_w])
    return mean, sd


def logistic_likelihood(beta, X, y):
    eta = X @ beta
    return y * eta - pt.softplus(eta)


def logistic_prior(beta):
    return -0.5 * (beta**2).sum()


LOGISTIC = Model(logistic_likelihood, logistic_prior, beta=Real(2))


def spaces_likelihood(p, cut, y):
    return -0.5 * (y - p - cut[1]) ** 2


SPACES = Model(
    spaces_likelihood,
    lambda p, cut: -0.5 * (cut**2).sum(),
    p=Interval(-1, 2),
    cut=Ordered(3),
)
