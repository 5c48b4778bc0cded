"""When a fit is right, and whether it said so where it is not."""

import warnings
from typing import NamedTuple

import numpy as np
from arviz_stats.base import array_stats
from sklearn.exceptions import ConvergenceWarning

from skbayes_sg import DivergenceError

SD_TOLERANCE, SD_ERRORS = 0.10, 3.0  # an sd may be off by 10 % + 3 standard errors,
MEAN_TOLERANCE, MEAN_ERRORS = 0.10, 4.0  # a mean by 0.1 sd + 4
FEW = 100  # effective draws below which a fit is too short to be judged


class Verdict(NamedTuple):
    """What is wrong with the draws, if anything."""

    sd_ratio: float  # that of the worst sd
    mean_shift: float  # of the worst mean, in sds
    ess: float  # smallest effective sample size
    wrong: bool

    @property
    def is_short(self):
        """Whether there are too few effective draws to say much."""
        return self.ess < FEW


def judge(draws, reference):
    """Compare draws (n_chains, n_draws, q) with a reference.

    The standard errors are those that right draws of the same effective sample size
    have: sds that are far too large do not excuse themselves.
    """
    draws = np.asarray(draws, float)
    mean, sd = draws.mean(axis=(0, 1)), draws.std(axis=(0, 1))
    ess, square_ess = effective(draws), effective((draws - mean) ** 2)
    shift = (mean - reference.mean) / reference.sd
    ratio = sd / reference.sd
    error = np.sqrt(1 / ess + reference.mean_error**2)
    mean_excess = np.abs(shift) - MEAN_TOLERANCE - MEAN_ERRORS * error
    spread = np.maximum(reference.kurtosis - 1, 0.5) / 4
    error = np.sqrt(spread / square_ess + reference.sd_error**2)
    sd_excess = np.abs(ratio - 1) - SD_TOLERANCE - SD_ERRORS * error
    wrong = not (np.all(mean_excess <= 0) and np.all(sd_excess <= 0))
    return Verdict(
        float(ratio[np.argmax(sd_excess)]),
        float(shift[np.argmax(mean_excess)]),
        float(min(ess.min(), square_ess.min())),
        wrong,
    )


def effective(draws):
    """Return effective sample sizes; of draws that never move, their number."""
    size = draws.shape[0] * draws.shape[1]
    with np.errstate(invalid="ignore", divide="ignore"):
        ess = array_stats.ess(draws, chain_axis=0, draw_axis=1, method="mean")
    return np.clip(np.where(np.isfinite(ess), ess, size), 1.0, size)


def listen(fit):
    """Return what ``fit()`` returns, None after an error, and what it said.

    Said counts a warning of convergence, a divergence, or a refusal of the input.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result, said = fit(), []
        except (DivergenceError, ValueError) as error:
            result, said = None, [f"{type(error).__name__}: {error}"]
    said += [
        str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)
    ]
    return result, said
