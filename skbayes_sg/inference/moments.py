"""Running means and covariances of draws that are not kept.

Draws come in blocks of a fixed length, whatever the chunks in which a chain is run, so
that rounding, too, is the same in every run of a seed.
"""

from typing import NamedTuple

import numpy as np

BLOCK = 64  # draws that are held at a time


class Moments(NamedTuple):
    """Mean and covariance of each chain's draws, of which none is kept.

    Attributes
    ----------
    n_draws : int
        Draws of each chain; the fewest, where a callback ended the run.
    mean : ndarray of shape (n_chains, dim)
        Their mean, weighted by step sizes where these vary.
    covariance : ndarray of shape (n_chains, dim, dim) or (n_chains, dim)
        Their covariance about it, or its diagonal with ``keep="variances"``.
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
    """What one chain owns in place of its draws."""

    weight: np.ndarray  # (1,) sum of weights so far
    mean: np.ndarray  # (dim,)
    spread: np.ndarray  # (dim, dim) or (dim,), weighted squares about the mean
    block: np.ndarray  # (BLOCK, dim), draws that are still to be added


def init_sums(dim, keep, dtype):
    """Return the sums of no draws; empty ones where the draws are kept."""
    if keep == "draws":
        return Sums(*[np.empty(0)] * 4)
    shape = (dim, dim) if keep == "moments" else (dim,)
    return Sums(
        np.zeros(1), np.zeros(dim), np.zeros(shape), np.empty((BLOCK, dim), dtype)
    )


@np.errstate(over="ignore", invalid="ignore")
def add_draws(sums, draws, weights):
    """Add (k, dim) draws with their (k,) weights; squares may come out infinite."""
    draws = draws.astype(np.float64)
    weight = weights.sum()
    mean = weights @ draws / weight
    draws -= mean
    total = sums.weight[0] + weight
    shift = mean - sums.mean
    between = sums.weight[0] * weight / total
    if sums.spread.ndim == 2:
        sums.spread[...] += (draws.T * weights) @ draws
        sums.spread[...] += between * np.outer(shift, shift)
    else:
        sums.spread[...] += weights @ draws**2 + between * shift**2
    sums.mean[...] += (weight / total) * shift
    sums.weight[0] = total


def moments_of(chains, n_draws):
    """Return the `Moments` of the chains whose `Sums` these are."""
    return Moments(
        n_draws=n_draws,
        mean=np.array([sums.mean for sums in chains]),
        covariance=np.array([sums.spread / sums.weight[0] for sums in chains]),
    )
