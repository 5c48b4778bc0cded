"""Cut points between the levels of ratings: an ordinal model on top of the Gaussian.

A rating has level l if a latent z ~ N(mean, sd^2) lies between c_(l-1) and c_l. Given
draws of mean and sd of the ratings in the data, c_l is where the average of
P(z <= c_l) equals the share of ratings up to level l, so that levels that are used
often, or hardly ever, get the room that they have in the data. The probabilities are
mixed with the shares of the levels, since z may tell nothing or be too sure: the share
of these in the mixture is chosen for ratings that are left out, by importance sampling
(Gelfand, Dey & Chang, 1992; weights truncated as by Ionides, 2008).
"""

import math
from typing import NamedTuple

import numpy as np
from scipy.special import ndtr

from skbayes_sg.kernels.models.matrix_factorization_draws import rating_means

N_DRAWS, N_RATINGS = 4, 5000  # at which the averages look
N_PLACES = 300  # of the distribution function, which is interpolated between
REACH = 5.0  # sds beyond the outermost means
N_LEFT_OUT = 2000  # ratings
MIN_GAIN = 2.0  # standard errors of the log score by which cut points must win
SHARES = np.linspace(0.0, 1.0, 101)  # of the levels' shares in the mixture


class Levels(NamedTuple):
    """What turns a Gaussian prediction into probabilities of levels."""

    cuts: np.ndarray  # (n_levels - 1,) relative to the mean rating
    frequencies: np.ndarray  # (n_levels,) of the levels in the data
    mixed: float  # share of the frequencies in the probabilities

    def probabilities(self, mean, sd):
        """Return the probability of each level, (n, n_levels)."""
        between = _between(self.cuts, mean[:, None], sd[:, None])
        return (1.0 - self.mixed) * between + self.mixed * self.frequencies


def fit_levels(draws, ratings, y, levels):
    """Return the `Levels` of ratings.

    Parameters
    ----------
    draws : RatingDraws
        Posterior draws.
    ratings : Ratings
        The ratings of the fit.
    y : ndarray of shape (n_ratings,)
        The ratings relative to their mean, as the draws are.
    levels : ndarray of shape (n_levels,)
        Their distinct values, in order.

    Returns
    -------
    levels : Levels
        Cut points, frequencies, and the share of the latter.
    """
    codes = np.searchsorted(levels, ratings.y)
    weights = np.ones(len(y)) if ratings.weights is None else ratings.weights
    frequencies = np.bincount(codes, weights, len(levels)) / weights.sum()
    cuts = _cut_points(draws, ratings, weights, np.cumsum(frequencies)[:-1])
    some = _spread(len(y), N_LEFT_OUT)
    scores = _left_out(draws, ratings.part(some), y[some], codes[some], cuts)
    mixed = _best_share(scores, frequencies[codes[some]], weights[some])
    return Levels(cuts, frequencies, mixed)


def _cut_points(draws, ratings, weights, shares):
    """Return the places below which a latent lies with given probabilities."""
    some, means, sds = _spread(len(ratings.y), N_RATINGS), [], []
    for s in _spread(len(draws.rows), N_DRAWS):
        mean, sd = _mean_and_sd(draws, s, ratings.part(some))
        means.append(mean)
        sds.append(sd)
    w = np.tile(weights[some], len(means))
    means, sds = np.concatenate(means), np.concatenate(sds)
    low, high = np.min(means - REACH * sds), np.max(means + REACH * sds)
    places = np.linspace(low, high, N_PLACES)
    below = np.array([np.average(ndtr((c - means) / sds), weights=w) for c in places])
    return np.interp(shares, below, places)


def _left_out(draws, ratings, y, codes, cuts):
    """Return the probability of each rating's level, had it not been in the data.

    A draw weighs 1 / p(y_k | draw), which takes the rating's likelihood back.
    """
    logs, chances = [], []
    edges = np.concatenate([[-np.inf], cuts, [np.inf]])
    for s in range(len(draws.rows)):
        mean, sd = _mean_and_sd(draws, s, ratings)
        logs.append(0.5 * ((y - mean) / sd) ** 2 + np.log(sd))
        upper, lower = (ndtr((edges[codes + k] - mean) / sd) for k in (1, 0))
        chances.append(upper - lower)
    logs = np.array(logs)
    weights = np.exp(logs - logs.max(axis=0)) * draws.weights[:, None]
    weights = np.minimum(weights, weights.mean(axis=0) * math.sqrt(len(logs)))
    return np.sum(weights * chances, axis=0) / weights.sum(axis=0)


def _best_share(scores, frequencies, weights):
    """Return the share of the frequencies that has the best log score.

    It is 1 unless cut points are better than frequencies beyond doubt.
    """
    tiny = 1e-12
    mixed = (1.0 - SHARES[:, None]) * scores + SHARES[:, None] * frequencies
    logs = np.log(np.maximum(mixed, tiny))
    best = int(np.argmax(np.average(logs, axis=1, weights=weights)))
    gain = logs[best] - logs[-1]
    error = gain.std() / math.sqrt(gain.size)
    mean = np.average(gain, weights=weights)
    return float(SHARES[best]) if mean > MIN_GAIN * error else 1.0


def _between(cuts, mean, sd):
    """Return the probabilities that a latent is between neighboring cut points."""
    return np.diff(ndtr((cuts - mean) / sd), axis=1, prepend=0.0, append=1.0)


def _spread(n, count):
    """Return up to `count` of n indices, evenly spread."""
    return np.unique(np.linspace(0, n - 1, min(n, count)).astype(int))


def _mean_and_sd(draws, s, ratings):
    """Return mean and sd of ratings under draw s."""
    pairs = ratings.pairs
    mean = rating_means(draws.rows[s], pairs, ratings.values, draws.n_factors)
    alpha, own = float(draws.noise[s, 0]), draws.noise[s, 1:].astype(np.float64)
    return mean, 1.0 / np.sqrt(alpha * own[pairs[:, 0]] * own[pairs[:, 1]])
