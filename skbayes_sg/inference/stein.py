"""Kernel Stein discrepancy and Stein thinning of draws with their scores.

`skbayes_sg.metrics` is the public interface and validates arguments. Here draws and
scores are C-ordered float64 arrays of shape (n_draws, dim).
"""

import math
from collections import deque
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from joblib import effective_n_jobs
from scipy.linalg import solve_triangular

from skbayes_sg.kernels.numerics.blas import one_blas_thread
from skbayes_sg.kernels.stein import Points, add_column, pair_sum, pair_sums

# The matrix of all pairs is computed in square tiles. Three tiles of products, 1.5 MB,
# fit into the second-level cache of a core.
TILE_SIZE = 256


def whiten(draws, scores, covariance):
    """Return draws and scores in coordinates in which `covariance` is the identity.

    With covariance = L L' and x = L u, the score of u is L' times that of x.
    """
    root = np.linalg.cholesky(covariance)
    u = solve_triangular(root, draws.T, lower=True).T
    return np.ascontiguousarray(u), scores @ root


def stein_diagonal(scores, c, beta):
    """Return k0_j(x, x) = c^(2 beta) s_j^2 - 2 beta c^(2 beta - 2), shape (n, dim)."""
    return c ** (2 * beta) * scores**2 - 2 * beta * c ** (2 * beta - 2)


def stein_pairs(draws, scores, c, beta, *, per_dimension=False, n_jobs=None):
    """Return the sum of k0 over all ordered pairs of two different draws.

    Parameters
    ----------
    draws, scores : ndarray of shape (n_draws, dim)
    c, beta : float
    per_dimension : bool
        Whether to return the sums of each k0_j, of shape (dim,), instead of one float.
    n_jobs : int or None
        Number of threads. Rows are summed in groups of `TILE_SIZE`, and the sums are
        added in a fixed order, so that the result does not depend on `n_jobs`.
    """
    x = draws - draws.mean(axis=0)
    # In this unit draws and scores are of similar size, so that x + s is accurate:
    # with x -> u x, s -> s / u, c -> u c the kernel becomes u^(2 beta - 2) k0.
    unit = _unit(np.linalg.norm(scores), np.linalg.norm(x))
    x *= unit
    s = scores / unit
    products = (np.einsum("ij,ij->i", x, y) for y in (x, s))
    points = Points(x, s, x + s, *products)
    kernel = pair_sums if per_dimension else pair_sum

    def tile(start):
        return kernel(points, start, TILE_SIZE, (unit * c) ** 2, beta)

    starts = range(0, len(x), TILE_SIZE)
    with one_blas_thread():
        sums = map_in_threads(tile, starts, effective_n_jobs(n_jobs))
    return 2 * unit ** (2 - 2 * beta) * np.sum(sums, axis=0)


def stein_thin(draws, scores, m, c, beta):
    """Return the indices of `m` draws, each chosen to minimize the discrepancy."""
    x, s = draws.copy(), scores.copy()  # read-only arrays would be compiled separately
    objective = 0.5 * stein_diagonal(s, c, beta).sum(axis=1)
    indices = np.empty(m, dtype=np.intp)
    for n_chosen in range(m):
        indices[n_chosen] = np.argmin(objective)
        add_column(x, s, indices[n_chosen], c**2, beta, objective)
    return indices


def map_in_threads(function, arguments, n_threads):
    """Return ``function(argument)`` for each, computed by this and other threads.

    A thousand draws take a few milliseconds, less than the polling interval of joblib,
    so little that it pays to let the current thread work instead of starting another.
    """
    waiting, results = iter(arguments), {}

    def work():
        for argument in waiting:
            results[argument] = function(argument)

    n_others = min(n_threads, len(arguments)) - 1
    if n_others < 1:
        work()
    else:
        with ThreadPoolExecutor(n_others) as pool:
            others = [pool.submit(work) for _ in range(n_others)]
            try:
                work()
            finally:
                deque(waiting, maxlen=0)  # after an error, leave no work to others
            for other in others:
                other.result()
    return [results[argument] for argument in arguments]


def _unit(scores_size, draws_size):
    """Return sqrt(scores_size / draws_size) as a power of two, which is exact."""
    if scores_size == 0 or draws_size == 0:
        return 1.0
    exponent = 0.5 * (math.log2(scores_size) - math.log2(draws_size))
    return 2.0 ** round(min(max(exponent, -100), 100))  # (unit c)^2 must not overflow
