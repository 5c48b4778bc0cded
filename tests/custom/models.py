"""Models of known posteriors, which the tests share: each is compiled once."""

import numpy as np
import pytensor.tensor as pt

from skbayes_sg import Interval, Model, Ordered, Positive, Real, Simplex

N = 3000
RNG = np.random.default_rng(0)
COLUMNS = {
    "X": RNG.normal([1.0, -2.0], 1.0, (N, 2)),
    "y": RNG.poisson(1.5, N),
    "level": RNG.choice(3, N, p=[0.2, 0.3, 0.5]),
}
SHAPE, RATE = 2.0, 1.0  # of the Gamma prior of the rate
ALPHA = np.array([1.0, 2.0, 3.0])  # of the Dirichlet prior of w


def conjugate_likelihood(mu, rate, w, X, y, level):
    gaussian = -0.5 * ((X - mu) ** 2).sum(axis=1)
    return gaussian + y * pt.log(rate) - rate + pt.log(w)[level]


def conjugate_prior(mu, rate, w):
    gamma = (SHAPE - 1) * pt.log(rate) - RATE * rate
    return -0.5 * (mu**2).sum() + gamma + ((ALPHA - 1) * pt.log(w)).sum()


def mean(rate, y):
    return rate + 0 * y


def sample(rng, rate, y):
    return rng.poisson(rate, len(y))


CONJUGATE = Model(
    conjugate_likelihood,
    conjugate_prior,
    mean=mean,
    sample=sample,
    coords={"axis": ["east", "north"]},
    mu=Real(2, dims="axis"),
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
