"""The kernel Stein discrepancy by random features, in time linear in the draws.

The kernel (c^2 + r^2)^beta is c^(2 beta) times a mixture of Gaussian kernels
exp(-t r^2), where t has a Gamma distribution with shape -beta and rate c^2. It is
therefore the mean of waves with frequencies w from N(0, 2 t I), which is approximated
by a few hundred random frequencies.
"""

import numpy as np
from joblib import effective_n_jobs
from scipy.special import gammaincinv

from skbayes_sg.inference.stein import map_in_threads
from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.stein_features import feature_sums

FEATURES, DRAWS = 32, 1024  # of a tile; three tiles of 256 KB fit into the L2 cache


def feature_pairs(draws, scores, c, beta, n_features, rng, n_jobs=None):
    """Return unbiased estimates of the sums of k0_j over ordered pairs of two draws.

    There is one estimate per frequency, (n_features, dim). Pairs of a draw with itself
    are left out, since they are known and would only add noise. The widths t are
    stratified: one from each of `n_features` equally probable intervals, in increasing
    order; see `stratified_error`.
    """
    n, d = draws.shape
    x = draws - draws.mean(axis=0)
    levels = (np.arange(n_features) + rng.random(n_features)) / n_features
    width = np.sqrt(2 * gammaincinv(-beta, levels)) / c
    frequencies = width[:, None] * rng.standard_normal((n_features, d))

    def tile(start):
        return feature_sums(x, scores, frequencies[start : start + FEATURES], DRAWS)

    with one_blas_thread():
        tiles = map_in_threads(
            tile, range(0, n_features, FEATURES), effective_n_jobs(n_jobs)
        )
    real, imaginary = (np.concatenate(parts) for parts in zip(*tiles, strict=True))
    own = np.einsum("ij,ij->j", scores, scores) + n * frequencies**2
    return c ** (2 * beta) * (real**2 + imaginary**2 - own)


def stratified_error(values):
    """Return the standard error of a mean over ordered strata, for each column.

    Neighboring strata have nearly the same expectation, so that their differences
    measure the error. Their number must be even.
    """
    differences = values[::2] - values[1::2]
    return np.sqrt(np.sum(differences**2, axis=0)) / len(values)
