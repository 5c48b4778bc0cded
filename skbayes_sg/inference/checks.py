"""Checks of the means and standard deviations of draws by Stein identities.

For draws x of a posterior with scores s, any center c and any matrix S,

    E[S s] = 0    and    E[(x_j - c_j) (S s)_j] = -S_jj .

If the posterior is normal with covariance S, then S s = -(x - E x). Averages over draws
are then minus the error of their mean, and minus their variance. The identities thus
tell by how much a posterior mean is shifted and a standard deviation is wrong, without
exact draws for comparison. Other posteriors, or another S, only change the units of an
error. For a normal posterior (x_j - c_j) (S s)_j / S_jj has variance 2, so that K
effective draws determine a standard deviation with relative error 1 / sqrt(2 K).
"""

from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from skbayes_sg.inference.mixing import effective_sample_size, r_hat, standard_error

MAX_RHAT = 1.05
MIN_ESS = 100.0
MAX_SHIFT = 0.1  # posterior standard deviations
MAX_SD_ERROR = 0.05
# Approximate probabilities of a false alarm for means and for standard deviations.
SHIFT_LEVEL, SD_LEVEL = 0.002, 0.015
TINY = np.finfo(float).tiny


class Check(NamedTuple):
    """The outcome of one check, for the worst parameter."""

    name: str
    value: float
    error: float  # standard error of the value, NaN if it has none
    limit: float
    worst: int | None  # index of the parameter, None if all are checked together
    verdict: str  # "ok", "unclear", or what is wrong

    @property
    def failed(self):
        """Whether the check has found a fault."""
        return self.verdict not in ("ok", "unclear")


def check_mixing(draws, weights=None, limit=MAX_RHAT):
    """Return checks of R-hat and of the effective sample size.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, dim)
    weights : ndarray of shape (n_draws,), default=None
        Weights of the draws of each chain in averages. They sum to one.
    limit : float
        Limit of R-hat.
    """
    disagreement, ess = r_hat(draws), effective_sample_size(draws)
    if weights is not None:  # unequal weights reduce the ESS (Kish, 1965)
        ess /= weights.size * np.sum(weights**2)
    worst = int(np.argmax(np.where(np.isnan(disagreement), np.inf, disagreement)))
    fewest = int(np.argmin(np.where(np.isnan(ess), -np.inf, ess)))
    highest, smallest = float(disagreement[worst]), float(ess[fewest])
    agree = "ok" if highest <= limit else "chains disagree"
    enough = "ok" if smallest >= MIN_ESS else "too few"
    return [
        Check("R-hat", highest, np.nan, limit, worst, agree),
        Check("effective draws", smallest, np.nan, MIN_ESS, fewest, enough),
    ]


def check_moments(draws, scores, *, weights=None, covariance=None):
    """Return checks of means and standard deviations by Stein identities.

    A check fails if an error is both significant, given the autocorrelation of the
    chains and the number of parameters, and larger than its limit, because with many
    draws even harmless errors become significant. A check is "unclear" if an error of
    twice the limit could go unnoticed.

    Parameters
    ----------
    draws : ndarray of shape (n_chains, n_draws, dim)
    scores : ndarray of the same shape
        Gradients of the log posterior, exact or unbiased with independent errors.
    weights : ndarray of shape (n_draws,), default=None
        Weights of the draws of each chain in averages. They sum to one.
    covariance : ndarray of shape (dim, dim), default=None
        An approximation of the posterior covariance; the better it is, the smaller are
        the errors of the checks. None ignores correlations and uses the variances of
        the draws.
    """
    n, d = draws.shape[1:]
    weights = np.full(n, 1 / n) if weights is None else weights
    x = draws - np.einsum("k,ckj->j", weights, draws) / len(draws)
    if covariance is None:
        sd = np.sqrt(np.einsum("k,ckj->j", weights, x**2) / len(x))
        x, s = _divided(x, sd), scores * sd
        along = s
    else:
        sd = np.sqrt(np.diag(covariance))
        x, s = x / sd, scores * sd
        correlation = covariance / np.outer(sd, sd)
        along = s @ correlation
    series = {
        "means": -along,
        "sds": -x * along,
        "sds, average": -np.einsum("ckj,ckj->ck", x, s)[..., None] / d,
    }
    if covariance is not None and d > 1:
        # Without a preconditioner, too large a step size affects this direction first.
        narrow = np.linalg.eigh(correlation)[1][:, :1]
        series["sds, narrowest direction"] = -(x @ narrow) * (s @ narrow)
    checks = []
    for name, values in series.items():
        mean, error = _mean(values, weights)
        if name == "means":
            checks.append(_shift(mean, error))
        else:
            checks.append(_sd(name, mean, error, d + len(series) - 2))
    return checks


def _divided(x, sd):
    """Return x / sd, and zero where sd is zero."""
    return np.divide(x, sd, out=np.zeros_like(x), where=sd > 0)


def _mean(series, weights):
    """Return the weighted mean over draws and its standard error, both (dim,)."""
    mean = np.einsum("k,ckj->j", weights, series) / len(series)
    relative = weights[:, None] * weights.size
    return mean, standard_error(relative * (series - mean))


def _shift(mean, error):
    z = np.abs(mean) / np.maximum(error, TINY)
    bound = _quantile(SHIFT_LEVEL, z.size)
    found = (z > bound) & (np.abs(mean) > MAX_SHIFT)
    clear = np.max(error) * bound <= 2 * MAX_SHIFT
    j, verdict = _judge(z, found, clear, lambda j: "shifted")
    return Check("means", float(mean[j]), float(error[j]), MAX_SHIFT, j, verdict)


def _sd(name, ratio, error, n_tests):
    """Check ratios of variances; values and errors are those of standard deviations.

    The standard error is proportional to the ratio, so that a ratio of one would have
    error / ratio. Testing with the latter keeps the rate of false alarms at its nominal
    level for products with heavy tails.
    """
    z = (ratio - 1) * np.maximum(ratio, 0.5) / np.maximum(error, TINY)
    sd = np.sqrt(np.maximum(ratio, 0))
    error = error / (2 * np.maximum(sd, 0.5))
    bound = _quantile(SD_LEVEL, n_tests)
    found = (np.abs(z) > bound) & (np.abs(sd - 1) > MAX_SD_ERROR)
    clear = np.max(error) * bound <= 2 * MAX_SD_ERROR

    def wrong(j):
        return "too wide" if z[j] > 0 else "too narrow"

    j, verdict = _judge(np.abs(z), found, clear, wrong)
    worst = j if name == "sds" else None
    return Check(name, float(sd[j]), float(error[j]), MAX_SD_ERROR, worst, verdict)


def _judge(z, found, clear, wrong):
    """Return the parameter with the largest z, among those found if any, and a verdict.

    Parameters that are not finite take precedence.
    """
    if not np.isfinite(z).all():
        return int(np.argmin(np.isfinite(z))), "not finite"
    if found.any():
        j = int(np.argmax(np.where(found, z, -1)))
        return j, wrong(j)
    return int(np.argmax(z)), "ok" if clear else "unclear"


def _quantile(level, size):
    """Return the normal quantile of a two-sided test of `size` values at once."""
    return -ndtri(level / (2 * size))
