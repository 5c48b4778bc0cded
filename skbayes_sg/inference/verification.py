"""Verification of draws of a log-concave posterior by Stein identities.

For draws x of a posterior with scores s, any center c and any matrix S,

    E[(S s)_j] = 0,    E[(x_j - c_j) (S s)_j] = -S_jj .

If S is close to the posterior covariance, the mean of -(x_j - c_j) (S s)_j / S_jj is
the factor by which the variance of a parameter is too large, and that of (S s)_j is
what its mean is too small by. Unlike R-hat, this detects step sizes that are too large
at steep places, and unexpected gradient noise. Means show nothing of these, because any
step with constant coefficients keeps E[s] = 0; they show what is wrong where the metric
changes with the position.
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skbayes_sg.inference.mixing import MIN_DRAWS, standard_error
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.gradient import init_memory, is_exact, prepare
from skbayes_sg.kernels.protocol.model import (
    init_work,
    n_rows,
    parameter_dtype,
    theta_of,
)

MAX_DRAWS = 1000
FEW_ROWS = 2000  # up to which scores are computed from all rows
MAX_SD_ERROR = 0.06
MAX_MEAN_ERROR = 0.1  # posterior standard deviations
LEVEL = 1e-4  # approximate probability of a false alarm


class Errors(NamedTuple):
    """Errors of draws, each 0.0 if it is not significant."""

    sd: float = 0.0  # relative; positive if a standard deviation is too large
    mean: float = 0.0  # size, in posterior standard deviations

    @property
    def found(self) -> bool:
        """Whether there is an error."""
        return self.sd != 0.0 or self.mean != 0.0


def verify(model, gradient, draws, covariance, seed):
    """Return the `Errors` of the parameters that are most significantly wrong.

    Parameters
    ----------
    model, gradient : NamedTuple
        The posterior, and the gradient estimator of the chains. Its errors do not
        matter, since they are independent of the draws.
    draws : ndarray of shape (n_chains, n_draws, dim)
        Recorded draws.
    covariance : ndarray of shape (d, d)
        S, an approximation of the posterior covariance.
    seed : SeedSequence
        Seed of the gradient estimates.

    Returns
    -------
    errors : Errors
        Errors of a standard deviation and of a mean.
    """
    n_chains, n_draws = draws.shape[:2]
    step = max(1, math.ceil(n_chains * n_draws / MAX_DRAWS))
    some = draws[:, ::step]
    if some.shape[1] < MIN_DRAWS:
        return Errors()
    thetas = np.array([theta_of(model, draw) for draw in np.concatenate(some)])
    scores = _scores(model, gradient, thetas, seed)
    shape = (*some.shape[:2], thetas.shape[1])
    x = (thetas - thetas.mean(axis=0)).astype(np.float64).reshape(shape)
    along = (scores @ covariance).reshape(shape)
    variances = np.diag(covariance)
    return Errors(
        _clearest_sd(-x * along / variances), _clearest_mean(along / np.sqrt(variances))
    )


def _scores(model, gradient, thetas, seed):
    """Return gradients of log p at (n, d) thetas, or unbiased estimates; float64."""
    thetas = thetas.astype(parameter_dtype(model))
    out, work = np.empty_like(thetas), init_work(model)
    if is_exact(gradient) or n_rows(model) <= FEW_ROWS:
        for theta, g in zip(thetas, out, strict=True):
            log_posterior(model, work, theta, g)
        return out.astype(np.float64)
    rng = np.random.default_rng(seed)
    gradient = for_kernels(prepare(gradient, model))
    memory = init_memory(gradient, model, thetas[0], rng)
    estimate_gradient(gradient, memory, model, work, thetas, rng, out)
    return out.astype(np.float64)


def _clearest_sd(products):
    """Return the most significant error of an sd, from (C, n, d) products."""
    ratio, error = products.mean(axis=(0, 1)), standard_error(products)
    # The error is proportional to the ratio; the test uses that of a ratio of one.
    error = np.maximum(error / np.maximum(ratio, 0.5), np.finfo(float).tiny)
    z, sd = (ratio - 1.0) / error, np.sqrt(np.maximum(ratio, 0.0))
    return _clearest(sd - 1.0, z, MAX_SD_ERROR)


def _clearest_mean(scores):
    """Return the size of the most significant error of a mean, from (C, n, d)."""
    shift = scores.mean(axis=(0, 1))
    error = np.maximum(standard_error(scores), np.finfo(float).tiny)
    return abs(_clearest(shift, shift / error, MAX_MEAN_ERROR))


def _clearest(errors, z, limit):
    """Return the most significant of (d,) errors beyond a limit, 0.0 if none is."""
    if not np.isfinite(z).all():
        return np.inf
    bound = -ndtri(LEVEL / (2 * z.size))
    found = (np.abs(z) > bound) & (np.abs(errors) > limit)
    return float(errors[np.argmax(np.abs(z) * found)]) if found.any() else 0.0
