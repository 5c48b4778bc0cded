"""Tiles over threads, whitening, thinning; and what they cost."""

import subprocess
import sys
import threading
import time

import numba
import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from skbayes_sg.inference.stein import (
    TILE_SIZE,
    map_in_threads,
    stein_diagonal,
    stein_pairs,
    stein_thin,
    whiten,
)

compiled_only = pytest.mark.skipif(
    numba.config.DISABLE_JIT, reason="minutes without the compiler"
)


def stein_matrix(x, s, c=1.0, beta=-0.5):
    """Return the joint k0 of all pairs, from differences."""
    delta = x[:, None] - x[None]
    r2 = (delta**2).sum(axis=-1)
    q = c**2 + r2
    cross = ((s[None] - s[:, None]) * delta).sum(axis=-1)
    return (
        s @ s.T * q**beta
        + 2 * beta * q ** (beta - 1) * (cross - x.shape[1])
        - 4 * beta * (beta - 1) * r2 * q ** (beta - 2)
    )


@pytest.mark.parametrize("per_dimension", [False, True])
@pytest.mark.parametrize("n_draws", [2, TILE_SIZE, 2 * TILE_SIZE + 7])
def test_sum_over_pairs(rng, n_draws, per_dimension):
    x, s = rng.standard_normal((2, n_draws, 4))
    matrix = stein_matrix(x, s, c=0.8, beta=-0.5)
    total = stein_pairs(x, s, 0.8, -0.5, per_dimension=per_dimension)
    assert np.shape(total) == ((4,) if per_dimension else ())
    expected = matrix.sum() - np.trace(matrix)
    np.testing.assert_allclose(np.sum(total), expected, rtol=1e-10)
    diagonal = stein_diagonal(s, 0.8, -0.5).sum(axis=1)
    np.testing.assert_allclose(diagonal, matrix.diagonal(), rtol=1e-12)


@compiled_only
@pytest.mark.parametrize("per_dimension", [False, True])
def test_threads_change_no_bit(rng, per_dimension):
    x, s = rng.standard_normal((2, 4 * TILE_SIZE, 3))
    one, two, all_cores = (
        stein_pairs(x, s, 1.0, -0.5, per_dimension=per_dimension, n_jobs=n_jobs)
        for n_jobs in (1, 2, -1)
    )
    np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(one, all_cores)


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_errors_in_threads_are_raised_and_end_the_work(n_threads):
    done = []

    def fail(item):
        done.append(item)
        if item < 3:
            raise ArithmeticError(item)
        time.sleep(0.001)

    with pytest.raises(ArithmeticError):
        map_in_threads(fail, range(1000), n_threads)
    assert len(done) < 900


@pytest.mark.parametrize(("scale", "offset"), [(1e4, 0), (1e-4, 0), (1, 1e4)])
def test_scale_and_place_of_the_draws(rng, scale, offset):
    """Draws and scores of unequal size, near pairs among them, lose no digits."""
    x, s = rng.standard_normal((2, 200, 4))
    x[100:] = x[:100] + 1e-3 * x[100:]
    x, s = offset + scale * x, s / scale
    matrix = stein_matrix(x, s)
    expected = matrix.sum() - np.trace(matrix)
    for per_dimension in (False, True):
        total = stein_pairs(x, s, 1.0, -0.5, per_dimension=per_dimension)
        np.testing.assert_allclose(np.sum(total), expected, rtol=1e-10)


@pytest.mark.parametrize("power", [-30, 30])
def test_units_of_the_draws_do_not_matter(rng, power):
    x, s = rng.standard_normal((2, 50, 3))
    unit = 2.0**power
    total = stein_pairs(unit * x, s / unit, unit, -0.5)
    np.testing.assert_allclose(
        total * unit**3, stein_pairs(x, s, 1.0, -0.5), rtol=1e-12
    )


def test_equal_draws_and_zero_scores():
    zeros = np.zeros((5, 2))
    np.testing.assert_allclose(stein_pairs(zeros, zeros, 1.0, -0.5), 20 * 2)


def test_whitened_score_is_the_gradient_in_the_new_coordinates(rng):
    root = np.tril(rng.standard_normal((3, 3))) + 3 * np.eye(3)
    x = rng.standard_normal((20, 3)) @ root.T
    precision = np.linalg.inv(root @ root.T)
    u, s = whiten(x, -x @ precision, root @ root.T)
    np.testing.assert_allclose(u, np.linalg.solve(root, x.T).T, rtol=1e-10)
    np.testing.assert_allclose(s, -u, rtol=1e-9, atol=1e-12)


def test_thinning_is_greedy(rng):
    x = rng.standard_normal((60, 2))
    matrix = stein_matrix(x, -x)
    chosen = []
    for _ in range(25):
        objective = matrix.diagonal() / 2 + matrix[:, chosen].sum(axis=1)
        chosen.append(int(np.argmin(objective)))
    assert stein_thin(x, -x, 25, 1.0, -0.5).tolist() == chosen


@compiled_only
def test_blas_threads_are_restored(rng):
    """Also when calls overlap: none may take the limit of another for the default."""
    x, s = rng.standard_normal((2, 3 * TILE_SIZE, 2))
    with threadpool_limits(2, user_api="blas"):
        before = threadpool_info()
        threads = [
            threading.Thread(target=stein_pairs, args=(x, s, 1.0, -0.5))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert threadpool_info() == before


PEAK = """
import resource, sys
import numpy as np
from skbayes_sg.inference.stein import stein_pairs

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024

per_dimension = sys.argv[1] == "True"
x = np.random.default_rng(0).standard_normal((20_000, 100))
options = {"per_dimension": per_dimension, "n_jobs": 2}
stein_pairs(x[:600], -x[:600], 1.0, -0.5, **options)  # compiled code is not counted
scores = -x
before = peak()
stein_pairs(x, scores, 1.0, -0.5, **options)
print(peak() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="ru_maxrss in kilobytes")
@compiled_only
@pytest.mark.parametrize(
    "per_dimension", [False, pytest.param(True, marks=pytest.mark.long)]
)
def test_memory(per_dimension):
    """20,000 draws of 100 dimensions: three copies and the blocks, below 200 MB."""
    command = [sys.executable, "-c", PEAK, str(per_dimension)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    assert float(result.stdout) < 120
