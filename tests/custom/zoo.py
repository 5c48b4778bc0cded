"""PyMC models that are taken apart by rows, and models that cannot be."""

import warnings

import numpy as np
import pymc as pm
import pytensor.tensor as pt

N = 60
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
GROUP = RNG.integers(5, size=N)
Y = X @ [1.0, -1.0, 0.5] + RNG.normal(size=N)
BINARY = (Y > 0).astype(int)
COUNT = RNG.poisson(2.0, N)
LEVEL = RNG.integers(4, size=N)


def linear():
    beta, sigma = pm.Normal("beta", 0, 2, shape=3), pm.HalfNormal("sigma", 1)
    pm.Normal("y", pt.dot(X, beta), sigma, observed=Y)


def dims_and_data():
    x = pm.Data("x", X, dims=("row", "feature"))
    beta = pm.Normal("beta", 0, 2, dims="feature")
    mu = pm.Deterministic("mu", x @ beta, dims="row")
    pm.Bernoulli("y", logit_p=mu, observed=BINARY, dims="row")


dims_and_data.coords = {"row": np.arange(N), "feature": ["a", "b", "c"]}


def standardized_inside():
    beta = pm.Normal("beta", 0, 2, shape=3)
    z = (X - X.mean(axis=0)) / pt.as_tensor(X).std(axis=0)
    pm.Normal("y", z @ beta, 1, observed=Y)


def uniform_bounds():
    mu, sigma = pm.Uniform("mu", -5, 5), pm.Uniform("sigma", 0.01, 10)
    pm.Normal("y", mu, sigma, observed=Y)


def mixture():
    w = pm.Dirichlet("w", np.ones(2))
    ordered = pm.distributions.transforms.ordered
    mu = pm.Normal("mu", [-1, 1], 2, transform=ordered, shape=2)
    pm.NormalMixture("y", w, mu, 1.0, observed=Y)


def categorical():
    beta = pm.Normal("beta", 0, 2, shape=(3, 4))
    pm.Categorical("y", logit_p=X @ beta, observed=LEVEL)


def poisson_with_offset():
    beta = pm.Normal("beta", 0, 2, shape=3)
    pm.Poisson("y", pt.exp(X @ beta + np.log(GROUP + 1.0)), observed=COUNT)


def negative_binomial():
    mu, alpha = pm.HalfNormal("mu", 5), pm.Exponential("alpha", 1)
    pm.NegativeBinomial("y", mu=mu, alpha=alpha, observed=COUNT)


def normal_rows_with_lkj():
    chol, _, _ = pm.LKJCholeskyCov(
        "chol", n=3, eta=2, sd_dist=pm.Exponential.dist(1.0), compute_corr=True
    )
    pm.MvNormal("y", np.zeros(3), chol=chol, observed=X)


def ordered_logistic():
    ordered = pm.distributions.transforms.ordered
    cut = pm.Normal("cut", [-1, 0, 1], 2, transform=ordered, shape=3)
    beta = pm.Normal("beta", 0, 1, shape=3)
    pm.OrderedLogistic("y", eta=X @ beta, cutpoints=cut, observed=LEVEL)


def censored():
    mu = pm.Normal("mu", 0, 2)
    law = pm.Normal.dist(mu, 1)
    pm.Censored("y", law, lower=None, upper=1.0, observed=np.minimum(Y, 1.0))


def custom_dist():
    mu = pm.Normal("mu", 0, 2)
    pm.CustomDist("y", mu, logp=lambda y, mu: -pt.abs(y - mu), observed=Y)


def potential_as_prior():
    beta = pm.Normal("beta", 0, 2, shape=3)
    pm.Potential("sum_to_zero", -10 * beta.sum() ** 2)
    pm.Normal("y", X @ beta, 1, observed=Y)


def two_observed():
    mu, rate = pm.Normal("mu", 0, 2), pm.Exponential("rate", 1)
    pm.Normal("y", mu, 1, observed=Y)
    pm.Poisson("count", rate, observed=COUNT)


def varying_slopes():
    mu, tau = pm.Normal("mu", 0, 2, shape=2), pm.HalfNormal("tau", 1, shape=2)
    a, b = (pm.Normal(name, mu[k], tau[k], shape=5) for k, name in enumerate("ab"))
    pm.Normal("y", a[GROUP] + b[GROUP] * X[:, 0], 1, observed=Y)


def student():
    nu = pm.Gamma("nu", 2, 0.1)
    pm.StudentT("y", nu=nu, mu=0, sigma=pm.HalfNormal("sigma", 1), observed=Y)


def multinomial():
    share = pm.Dirichlet("share", np.ones(4))
    trials = np.eye(4, dtype=int)[LEVEL] + np.eye(4, dtype=int)[GROUP % 4]
    pm.Multinomial("y", n=2, p=share, observed=trials)


def square_design():
    beta = pm.Normal("beta", 0, 2, shape=N)
    pm.Normal("y", RNG.normal(size=(N, N)) @ beta, 1, observed=Y)


def with_initial_values():
    mu = pm.Normal("mu", 0, 2, initval=0.5)
    sigma = pm.HalfNormal("sigma", 1, initval=2.0)
    pm.Normal("y", mu, sigma, observed=Y)


def latent_through_an_index():
    z = pm.Normal("z", 0, 1, shape=N)
    pm.Normal("y", z[np.arange(N)[::-1]], 1, observed=Y)


def missing_values():
    mu = pm.Normal("mu", 0, 2)
    with warnings.catch_warnings():  # that values are imputed
        warnings.simplefilter("ignore")
        pm.Normal("y", mu + X[:, 0], 1, observed=np.where(GROUP == 0, np.nan, Y))


ACCEPTED = [
    *(linear, dims_and_data, standardized_inside, uniform_bounds, mixture),
    *(categorical, poisson_with_offset, negative_binomial, normal_rows_with_lkj),
    *(ordered_logistic, censored, custom_dist, potential_as_prior, two_observed),
    *(varying_slopes, student, multinomial, with_initial_values),
]
WITH_WARNING = [square_design, missing_values]


def _eta():
    return np.sign(X) @ pm.Normal("beta", 0, 2, shape=3)


def bernoulli_of_logits():
    pm.Bernoulli("y", logit_p=_eta(), observed=BINARY)


def bernoulli_of_sigmoid():
    pm.Bernoulli("y", p=pm.math.sigmoid(_eta()), observed=BINARY)


def binomial_of_logits():
    pm.Binomial("y", n=5, logit_p=_eta(), observed=np.minimum(COUNT, 5))


def logs_of_sigmoids():
    eta = _eta()

    def logp(y, eta):
        p = pt.sigmoid(eta)
        return pt.where(pt.eq(y, 1), pt.log(p), pt.log(1 - p))

    pm.CustomDist("y", eta, logp=logp, observed=BINARY)


LOGITS = [
    *(bernoulli_of_logits, bernoulli_of_sigmoid, binomial_of_logits, logs_of_sigmoids),
    categorical,
]


def likelihood_as_potential():
    mu = pm.Normal("mu", 0, 2)
    pm.Potential("y", -0.5 * ((Y - mu) ** 2).sum())


def potential_of_rows():
    mu = pm.Normal("mu", 0, 2)
    pm.Potential("more", -0.5 * ((Y - mu) ** 2).sum())
    pm.Normal("y", mu, 1, observed=Y)


def latent_of_rows():
    z = pm.Normal("z", 0, 1, shape=N)
    pm.Normal("y", z, 1, observed=Y)


def autoregression():
    rho = pm.Normal("rho", 0, 1, shape=1)
    pm.AR("y", rho, sigma=1, init_dist=pm.Normal.dist(0, 1), observed=Y)


def random_walk():
    sigma = pm.HalfNormal("sigma", 1)
    start = pm.Normal.dist(0, 1)
    pm.GaussianRandomWalk("y", sigma=sigma, init_dist=start, observed=Y)


def lags_by_hand():
    rho = pm.Normal("rho", 0, 1)
    y = pt.as_tensor(Y)
    mu = pt.concatenate([[0.0], rho * y[:-1]]) + rho * y.mean()
    pm.Normal("y", mu - mu.mean(), 1, observed=Y)


def gaussian_process():
    length = pm.HalfNormal("length", 1)
    gp = pm.gp.Marginal(cov_func=pm.gp.cov.ExpQuad(1, length))
    gp.marginal_likelihood("y", X=X[:, :1], y=Y, sigma=1.0)


def total_size():
    mu = pm.Normal("mu", 0, 2)
    pm.Normal("y", mu, 1, observed=Y, total_size=10 * N)


def minibatch():
    mu = pm.Normal("mu", 0, 2)
    pm.Normal("y", mu, 1, observed=pm.Minibatch(Y, batch_size=10), total_size=N)


def entries_that_are_no_rows():
    beta = pm.Normal("beta", 0, 2)
    pm.Normal("y", (beta * np.linspace(0, 1, N)).sum(), 1, observed=Y)


def discrete():
    k = pm.Poisson("k", 2)
    pm.Normal("y", k, 1, observed=Y)


def different_lengths():
    mu = pm.Normal("mu", 0, 2)
    pm.Normal("y", mu, 1, observed=Y)
    pm.Normal("z", mu, 1, observed=Y[:10])


REFUSED = [
    *(likelihood_as_potential, potential_of_rows, latent_of_rows, autoregression),
    *(random_walk, lags_by_hand, gaussian_process, total_size, minibatch, discrete),
    *(different_lengths, entries_that_are_no_rows),
]


def built(write):
    """Return the PyMC model that a function of the zoo writes."""
    with pm.Model(coords=getattr(write, "coords", None)) as model:
        write()
    return model
