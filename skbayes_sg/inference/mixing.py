"""Autocorrelation of chains: effective sample sizes, Monte Carlo errors and R-hat.

As defined by Vehtari, Gelman, Simpson, Carpenter and Buerkner (2021), for arrays of
shape (n_chains, n_draws, dim). Every chain is split into halves, so that a drift within
a chain is detected as well.
"""

import numpy as np
from scipy.fft import irfft, next_fast_len, rfft
from scipy.special import ndtri
from scipy.stats import rankdata

MIN_DRAWS = 8  # of each chain; halves of fewer are too short for autocorrelations


def standard_error(series):
    """Return the standard error of the mean over chains and draws, (dim,)."""
    variance, time = _variance_and_time(_halves(series))
    return np.sqrt(variance * time / (series.shape[0] * series.shape[1]))


def effective_sample_size(draws):
    """Return the bulk effective sample size of each parameter, (dim,)."""
    _, time = _variance_and_time(_normal_scores(_halves(draws)))
    return draws.shape[0] * draws.shape[1] / time


def r_hat(draws):
    """Return the rank-normalized R-hat of each parameter, (dim,).

    This is the larger of the R-hats of the draws and of their distances from the
    median, because chains may have equal centers but different widths.
    """
    halves = _halves(draws)
    distances = np.abs(halves - np.median(halves, axis=(0, 1)))
    return np.maximum(_plain_r_hat(halves), _plain_r_hat(distances))


def _plain_r_hat(halves):
    scores = _normal_scores(halves)
    within = scores.var(axis=1, ddof=1).mean(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.sqrt(_variance(scores, within) / within)


def _halves(draws):
    half = draws.shape[1] // 2
    return np.concatenate([draws[:, :half], draws[:, draws.shape[1] - half :]])


def _normal_scores(draws):
    """Return the normal quantiles of the draws' ranks among all chains."""
    ranks = rankdata(draws.reshape(-1, draws.shape[-1]), axis=0)
    scores = ndtri((ranks - 0.375) / (len(ranks) + 0.25))
    return scores.reshape(draws.shape)


def _variance(draws, within):
    """Return the variance of all chains together, given the variance within chains."""
    n = draws.shape[1]
    return within * (n - 1) / n + draws.mean(axis=1).var(axis=0, ddof=1)


def _variance_and_time(draws):
    """Return the variance of all draws and their integrated autocorrelation time.

    Sums of neighboring pairs of autocorrelations are positive and decreasing (Geyer,
    1992). The sum over lags is truncated where their estimates no longer are.
    """
    m, n, _ = draws.shape
    deviations = draws - draws.mean(axis=1, keepdims=True)
    length = next_fast_len(2 * n, real=True)
    power = sum(np.abs(rfft(chain, length, axis=0)) ** 2 for chain in deviations) / m
    covariances = irfft(power, length, axis=0)[:n] / n
    within = covariances[0] * n / (n - 1)
    variance = _variance(draws, within)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlations = 1 - (within - covariances) / variance
    correlations[0] = 1.0
    pairs = correlations[: n - n % 2].reshape(n // 2, 2, -1).sum(axis=1)
    pairs = np.maximum(np.minimum.accumulate(pairs, axis=0), 0)
    last = np.minimum(2 * np.count_nonzero(pairs, axis=0), n - 1)
    time = 2 * pairs.sum(axis=0) - 1
    # Adding the next even lag improves the estimate for antithetic chains.
    time += np.maximum(np.take_along_axis(correlations, last[None], axis=0)[0], 0)
    # This limits the effective sample size of S draws to S log10(S).
    return variance, np.maximum(time, 1 / np.log10(m * n))
