"""Chains of networks, judged by what they predict for training rows.

Weights of equivalent networks differ from chain to chain and mean nothing, so R-hat is
that of predictions. It says nothing of chains that have all gone astray, so the fit of
the draws is compared with that of the networks from which they started, too.
"""

import numpy as np
from scipy.special import log_softmax

from skbayes_sg.inference.divergence import DivergenceError
from skbayes_sg.inference.exploration.mlp_units import with_rows
from skbayes_sg.inference.mixing import r_hat
from skbayes_sg.kernels.generic import python_op
from skbayes_sg.kernels.likelihoods import (
    Categorical,
    Gaussian,
    InputDependentGaussian,
)
from skbayes_sg.kernels.likelihoods.input_dependent import REACH
from skbayes_sg.kernels.models.mlp import network_outputs
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
    theta_of,
)

ROWS = 200  # of which predictions are looked at
FIT_ROWS, FIT_DRAWS = 2000, 10  # of each chain, by which its fit is judged
MIN_DRAWS = 50  # of each chain; R-hat of fewer says little
MAX_RHAT = 1.1
QUANTILE = 0.95  # over the rows: what is said of R-hats
MIN_DIFFERENCE = 0.01  # in a probability that matters
MAX_VARIANCE = 4.0  # of errors and of noise, in units of the variance of targets
LOST = 2.0  # log density per parameter that draws may have lost since training
SLACK = 20.0


def some_rows(model, most=ROWS):
    """Return the model with at most `most` rows, evenly spread."""
    n = n_rows(model)
    return with_rows(model, np.unique(np.linspace(0, n - 1, min(n, most)).astype(int)))


def outputs_of(model, draws):
    """Return outputs z_L of recorded draws, (n_draws, n_rows, m_L) float64."""
    work, dtype = init_work(model), parameter_dtype(model)
    z = np.empty((n_rows(model), model.sizes[-1]), dtype)
    out = np.empty((len(draws), *z.shape))
    for draw, each in zip(draws, out, strict=True):
        network_outputs(model, work, theta_of(model, draw), z)
        each[:] = z
    return out


@python_op
def predictions(likelihood, z, y):
    """Return what outputs (n_draws, n_rows, m) predict, (n_draws, n_columns)."""
    return z.reshape(len(z), -1)


@predictions.register(Categorical)
def _(likelihood, z, y):
    return np.exp(log_softmax(z, axis=-1))[:, np.arange(len(y)), y.astype(int)]


@python_op
def least_difference(likelihood):
    """Return the standard deviation below which a prediction counts as constant."""
    return 0.0


@least_difference.register(Categorical)
def _(likelihood):
    return MIN_DIFFERENCE


@python_op
def log_fit(likelihood, z, y, weights):
    """Return the log-likelihood of outputs (n_draws, n_rows, m), (n_draws,).

    The likelihood's own parameters are integrated out.
    """
    raise NotImplementedError


@log_fit.register(Categorical)
def _(likelihood, z, y, weights):
    log_p = log_softmax(z, axis=-1)[:, np.arange(len(y)), y.astype(int)]
    return log_p @ weights


@log_fit.register(Gaussian)
def _(likelihood, z, y, weights):
    squares = np.einsum("dnk,n->dk", (z - y) ** 2, weights)
    shape = likelihood.shape + 0.5 * weights.sum()
    return -shape * np.log(likelihood.rate + 0.5 * squares).sum(axis=1)


@log_fit.register(InputDependentGaussian)
def _(likelihood, z, y, weights):
    m = y.shape[1]
    t = REACH * np.tanh(z[..., m:] / REACH)
    terms = 0.5 * (t - np.exp(t) * (z[..., :m] - y) ** 2).sum(axis=-1)
    return terms @ weights


def predictive_r_hat(model, draws):
    """Return R-hat of predictions, its 95 % point over training rows.

    Differences of less than one percent of probability do not count. NaN where there is
    one chain, or where there are too few draws to say.
    """
    n_chains, n_draws = draws.shape[:2]
    if n_chains < 2 or n_draws < MIN_DRAWS:
        return np.nan
    return _quantile_of_r_hat(differing_predictions(model, draws))


def differing_predictions(model, draws):
    """Return `predictions_of` draws, constant where their differences do not count."""
    return without_small_differences(model.likelihood, predictions_of(model, draws))


def without_small_differences(likelihood, values):
    """Return (C, n, q) predictions, with zeros for those that are nearly constant."""
    return values * (values.std(axis=(0, 1)) >= least_difference(likelihood))


def predictions_of(model, draws):
    """Return predictions of some training rows, (n_chains, n_draws, n_columns)."""
    some = some_rows(model)
    z = outputs_of(some, draws.reshape(-1, draws.shape[-1]))
    return predictions(model.likelihood, z, some.y).reshape(*draws.shape[:2], -1)


def _quantile_of_r_hat(values):
    moving = np.ptp(values, axis=(0, 1)) > 0
    if not moving.any():
        return 1.0
    every = np.ones(values.shape[-1])
    every[moving] = r_hat(values[..., moving])
    return float(np.quantile(every, QUANTILE))


def check_predictions(model, starts, draws, step_size):
    """Raise a DivergenceError if a chain predicts much worse than where it started.

    Under the posterior d parameters cost a log density of about d / 2, so a chain that
    has lost several times as much is elsewhere. Nor do errors exceed those of a
    constant several times.

    Parameters
    ----------
    model : MLP
        The network.
    starts : ndarray of shape (n_chains, d)
        Weights of each chain that fit the training rows.
    draws : ndarray of shape (n_chains, n_draws, dim)
        Recorded draws.
    step_size : float
        The step size, for the message.
    """
    some, n_chains = some_rows(model, FIT_ROWS), len(draws)
    weights = some.weights if some.weights.size else np.ones(n_rows(some))
    weights = weights * (n_rows(model) / n_rows(some))
    late = draws[:, -min(FIT_DRAWS, draws.shape[1]) :]
    dim = n_parameters(model)
    every = np.concatenate([starts, late.reshape(-1, late.shape[-1])[:, :dim]])
    z = outputs_of(some, every)
    with np.errstate(over="ignore", invalid="ignore"):
        fits = log_fit(model.likelihood, z, some.y, weights)
        before, after = fits[:n_chains], fits[n_chains:].reshape(n_chains, -1)
        lost = before - after.mean(axis=1)
    allowed = LOST * dim + SLACK
    worst = int(np.argmax(np.where(np.isfinite(lost), lost, np.inf)))
    if not lost[worst] <= allowed:
        raise _runaway(
            worst, f"have lost {lost[worst]:.3g} of log-likelihood", step_size
        )
    if some.y.ndim == 2:
        m = some.y.shape[1]
        squares = np.mean((z[n_chains:, :, :m] - some.y) ** 2, axis=1)
        worst = int(np.argmax(squares.reshape(n_chains, -1).mean(axis=1)))
        size = squares.reshape(n_chains, -1).mean(axis=1)[worst]
        if not size <= MAX_VARIANCE * max(1.0, np.mean(some.y**2)):
            what = f"have mean squared errors of {size:.3g} variances of y"
            raise _runaway(worst, what, step_size)


def _runaway(chain, what, step_size):
    return DivergenceError(
        f"chain {chain} ran away: since its training, its draws {what}, "
        f"with step_size={step_size:.3g}. Try step_size={step_size / 4:.2g}, or "
        'step_size="auto".'
    )
