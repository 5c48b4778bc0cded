"""The kernel Stein discrepancy in time that grows with the number of draws.

The kernel (c^2 + r^2)^beta is a mixture of normal ones, exp(-t r^2) with t from a Gamma
law of shape -beta and rate c^2, and so the mean of waves with frequencies w of
N(0, 2 t I), times c^(2 beta). Some hundred of them stand for all.
"""

import numpy as np
from joblib import effective_n_jobs
from scipy.special import gammaincinv

from skbayes_sg.inference.stein import _in_threads
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.stein_features import feature_sums

FEATURES, DRAWS = 32, 1024  # of a block: three of 256 KB stay in the second-level cache


def feature_pairs(draws, scores, c, beta, n_features, rng, n_jobs=None):
    """Return unbiased estimates of the sums of k0_j over ordered pairs of two draws.

    Every frequency makes one, (n_features, dim). Pairs of a draw with itself, which are
    known and would only add noise, are left out. The widths t are one from each of as
    many equally probable intervals, in their order: see `stratified_error`.
    """
    n, d = draws.shape
    x = draws - draws.mean(axis=0)
    levels = (np.arange(n_features) + rng.random(n_features)) / n_features
    width = np.sqrt(2 * gammaincinv(-beta, levels)) / c
    frequencies = width[:, None] * rng.standard_normal((n_features, d))

    def block(start):
        return feature_sums(x, scores, frequencies[start : start + FEATURES], DRAWS)

    with one_blas_thread():
        blocks = _in_threads(
            block, range(0, n_features, FEATURES), effective_n_jobs(n_jobs)
        )
    real, imaginary = (np.concatenate(parts) for parts in zip(*blocks, strict=True))
    own = np.einsum("ij,ij->j", scores, scores) + n * frequencies**2
    return c ** (2 * beta) * (real**2 + imaginary**2 - own)


def stratified_error(values):
    """Return the standard error of a mean over strata in their order, for each column.

    Neighbors, an even number of them, have nearly the same expectation.
    """
    differences = values[::2] - values[1::2]
    return np.sqrt(np.sum(differences**2, axis=0)) / len(values)
