"""Running means and covariances of draws that are not kept.

Draws are added in groups of a fixed size, independent of the chunks in which a chain is
run, so that runs with the same seed also have the same rounding errors.
"""

from typing import NamedTuple

import numpy as np

BUFFERED_DRAWS = 64  # draws that are added to the sums together, at most
BUFFERED_NUMBERS = 2**22  # in them, unless a single draw has more
COLUMNS = 2**20  # that are added at once, where only variances are summed


class Moments(NamedTuple):
    """Mean and covariance of each chain's draws, which are not kept.

    Attributes
    ----------
    n_draws : int
        Number of draws of each chain, or of the shortest if a callback ended the run.
    mean : ndarray of shape (n_chains, dim)
        Mean of the draws, weighted by step sizes if these vary.
    covariance : ndarray of shape (n_chains, dim, dim) or (n_chains, dim)
        Covariance of the draws, or its diagonal with ``keep="variances"``.
    """

    n_draws: int
    mean: np.ndarray
    covariance: np.ndarray

    def pooled(self):
        """Return mean and covariance of the draws of all chains together."""
        mean = self.mean.mean(axis=0)
        between = self.mean - mean
        if self.covariance.ndim == 3:
            between = between[:, :, None] * between[:, None, :]
        else:
            between = between**2
        return mean, (self.covariance + between).mean(axis=0)


class Sums(NamedTuple):
    """Weighted sums of one chain's draws, from which its moments are computed."""

    weight: np.ndarray  # (1,) sum of weights so far
    mean: np.ndarray  # (dim,)
    spread: np.ndarray  # (dim, dim) or (dim,), weighted squared deviations
    block: np.ndarray  # (BUFFERED_DRAWS, dim), buffer of draws still to be added


def init_sums(dim, keep, dtype):
    """Return sums of no draws; empty arrays if the draws themselves are kept."""
    if keep == "draws":
        return Sums(*[np.empty(0)] * 4)
    shape = (dim, dim) if keep == "moments" else (dim,)
    return Sums(
        np.zeros(1),
        np.zeros(dim),
        np.zeros(shape),
        np.empty((n_buffered(dim), dim), dtype),
    )


def n_buffered(dim):
    """Return how many draws of `dim` numbers are added to the sums together."""
    return max(1, min(BUFFERED_DRAWS, BUFFERED_NUMBERS // max(1, dim)))


@np.errstate(over="ignore", invalid="ignore")
def add_draws(sums, draws, weights):
    """Add (k, dim) draws with their (k,) weights; squares may overflow to infinity."""
    weight = weights.sum()
    total = sums.weight[0] + weight
    size = sums.mean.size if sums.spread.ndim == 2 else COLUMNS
    for first in range(0, sums.mean.size, size):
        some = slice(first, first + size)
        mean, spread = sums.mean[some], sums.spread[some]
        _add_columns(sums.weight[0], mean, spread, draws[:, some], weights)
    sums.weight[0] = total


def _add_columns(before, mean, spread, draws, weights):
    """Add some columns of draws to sums of the weight `before`, in place."""
    draws, weight = draws.astype(np.float64), weights.sum()
    center = weights @ draws / weight
    draws -= center
    shift = center - mean
    between = before * weight / (before + weight)
    if spread.ndim == 2:
        spread += (draws.T * weights) @ draws
        spread += between * np.outer(shift, shift)
    else:
        spread += weights @ draws**2 + between * shift**2
    mean += (weight / (before + weight)) * shift


def moments_of(chains, n_draws):
    """Return the `Moments` of chains, given the `Sums` of each."""
    return Moments(
        n_draws=n_draws,
        mean=np.array([sums.mean for sums in chains]),
        covariance=np.array([sums.spread / sums.weight[0] for sums in chains]),
    )
