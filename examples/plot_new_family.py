"""
How do I add a family of models of my own?
==========================================

Waiting times that are exponential, with a mean that depends on features::

    y_i ~ Exponential(mean exp(eta_i)),    eta_i = x_i . theta

A family is a *model*, a NamedTuple with functions registered on the operations of the
protocol, and an *estimator* that translates scikit-learn to it. Everything else, from
finding the mode to control variates, step sizes, chains, checkpoints and diagnostics,
is there already.
"""

import math
from typing import NamedTuple

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from skbayes_sg.base import BaseSGMCMC
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    log_likelihood,
    log_prior,
    n_parameters,
    n_rows,
)

# %%
# The model
# ---------
#
# The functions are plain Python, which numba compiles together with the loop. Further
# operations are optional: Hessians, for instance, are taken by differences.


class WaitingTimes(NamedTuple):
    """Log f = -eta - y exp(-eta), with a N(0, 1 / precision) prior."""

    X: np.ndarray  # (N, p)
    y: np.ndarray  # (N,)
    precision: float


@n_parameters.register(WaitingTimes)
def _(model):
    return model.X.shape[1]


@n_rows.register(WaitingTimes)
def _(model):
    return model.X.shape[0]


@add_gradient.register(WaitingTimes)
def _(model, work, theta, idx, scale, out):
    for i in idx:
        eta = np.dot(model.X[i], theta)
        factor = scale * (model.y[i] * math.exp(-eta) - 1.0)
        for j in range(theta.size):
            out[j] += factor * model.X[i, j]


@log_likelihood.register(WaitingTimes)
def _(model, work, theta, idx):
    total = 0.0
    for i in idx:
        eta = np.dot(model.X[i], theta)
        total -= eta + model.y[i] * math.exp(-eta)
    return total


@add_prior_gradient.register(WaitingTimes)
def _(model, work, theta, out):
    for j in range(theta.size):
        out[j] -= model.precision * theta[j]


@log_prior.register(WaitingTimes)
def _(model, work, theta):
    return -0.5 * model.precision * np.dot(theta, theta)


# %%
# The estimator
# -------------
#
# Its `fit` validates, builds the model, calls ``_sample_posterior`` and sets its own
# attributes. Parameters that all estimators share are documented already.


class WaitingTimeRegressor(RegressorMixin, BaseSGMCMC):
    """Exponential regression.

    Parameters
    ----------
    prior_variance : float
        Variance of the Gaussian prior of each coefficient.
    """

    def __init__(
        self, prior_variance=10.0, *, step_size="auto", gradient="auto",
        batch_size="auto", preconditioner="auto", n_draws=1000, burn_in="auto",
        thin="auto", n_chains=4, schedule="constant", temperature=1.0,
        noise_correction=False, sampler=None, storage=None, warm_start=False,
        n_jobs=None, random_state=None, verbose=0,
    ):  # fmt: skip
        values = locals()
        for name in self._get_param_names():
            setattr(self, name, values[name])

    def fit(self, X, y):
        """Draw from the posterior of the coefficients."""
        sampler = self._check_sampling()
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", y_numeric=True)
        model = WaitingTimes(X, y.astype(np.float64), 1.0 / self.prior_variance)
        fit = self._sample_posterior(model, sampler)
        draws = self._flat_draws()
        self.coef_, self.coef_std_ = draws.mean(axis=0), draws.std(axis=0)
        return self._finished(fit)

    def predict(self, X):
        """Return the mean waiting time, averaged over the posterior."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return np.exp(X @ self._flat_draws().T).mean(axis=1)


# %%
# It works like any other
# -----------------------

rng = np.random.default_rng(0)
X = np.c_[np.ones(20_000), rng.standard_normal((20_000, 3))]
truth = np.array([1.0, 0.5, 0.0, -0.3])
y = rng.exponential(np.exp(X @ truth))
model = WaitingTimeRegressor(random_state=0).fit(X, y)
print(model.summary())

fig, ax = plt.subplots(figsize=(6, 3), layout="constrained")
ax.errorbar(range(4), model.coef_ - truth, 2 * model.coef_std_, fmt="o")
ax.axhline(0, color="gray", lw=1)
ax.set(xticks=range(4), xlabel="coefficient", ylabel="error of the mean, ± 2 sd")
plt.show()
