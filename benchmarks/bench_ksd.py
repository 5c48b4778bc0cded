"""Time of the kernel Stein discrepancy against blocked numpy, in one run.

    python benchmarks/bench_ksd.py [--quick]

The contender makes the same matrix products with `@` in blocks and takes the powers by
numpy. "numpy, half" leaves out the lower triangle, as the package does. Every column is
the best of several runs, which take turns so that a busy machine slows all alike; the
last columns are how many times faster the package is.

A second table compares ``method="features"`` with all pairs, in processor time of one
thread, and their values: the difference should be of the size of the error.
"""

import argparse
import time

import numpy as np
from tables import Table, note
from threadpoolctl import threadpool_limits

from skbayes_sg.metrics import kernel_stein_discrepancy

BLOCK_SIZE = 250  # numpy is slower with 500 and 1,000


def blocked_numpy(x, s, half, c=1.0, beta=-0.5):
    n, d = x.shape
    xx = np.sum(x * x, axis=1)
    xs = np.sum(x * s, axis=1)
    total = 0.0
    for a in range(0, n, BLOCK_SIZE):
        rows = slice(a, a + BLOCK_SIZE)
        for b in range(a if half else 0, n, BLOCK_SIZE):
            columns = slice(b, b + BLOCK_SIZE)
            r2 = xx[rows, None] + xx[columns] - 2 * (x[rows] @ x[columns].T)
            q = c**2 + np.maximum(r2, 0)
            cross = x[rows] @ s[columns].T + s[rows] @ x[columns].T
            cross -= xs[rows, None] + xs[columns] + d
            w = 1 / q
            slope = 2 * beta * (cross - 2 * (beta - 1) * (1 - c**2 * w))
            kernel = q**beta * (s[rows] @ s[columns].T + w * slope)
            total += kernel.sum() * (2 if half and b > a else 1)
    return np.sqrt(total) / n


def best_times(functions, n_repeats):
    """Return the shortest time of each function; all must give the same number."""
    results = [function() for function in functions]
    np.testing.assert_allclose(results, results[0], rtol=1e-10)
    times = np.empty((n_repeats, len(functions)))
    for repeat in range(n_repeats):
        for i, function in enumerate(functions):
            start = time.perf_counter()
            function()
            times[repeat, i] = time.perf_counter() - start
    return times.min(axis=0)


def main(quick=False):
    rng = np.random.default_rng(0)
    columns = ("numpy", "half", "1 thread", "2 threads", "speed-up", "vs half", "cores")
    note("milliseconds, one BLAS thread in numpy")
    table = Table("draws", "dim", *columns, n_labels=0)
    for n in (1000,) if quick else (1000, 10_000):
        for d in (10, 100):
            x = rng.standard_normal((n, d))
            with threadpool_limits(1, user_api="blas"):
                full, half, one, two = best_times(
                    [
                        lambda x=x: blocked_numpy(x, -x, half=False),
                        lambda x=x: blocked_numpy(x, -x, half=True),
                        lambda x=x: kernel_stein_discrepancy(x, -x, n_jobs=1),
                        lambda x=x: kernel_stein_discrepancy(x, -x, n_jobs=2),
                    ],
                    n_repeats=20 if n == 1000 else 3,
                )
            times = (f"{1e3 * t:.1f}" for t in (full, half, one, two))
            ratios = (f"{ratio:.1f}" for ratio in (full / one, half / one, one / two))
            table.row(n, d, *times, *ratios)


def features(quick):
    rng = np.random.default_rng(1)
    columns = ("pairs, s", "features, s", "speed-up", "KSD", "difference", "error")
    note("1,000 random features, draws 1.1 times too wide")
    table = Table("draws", "dim", *columns, n_labels=0)
    few = rng.standard_normal((100, 2))
    for method in ("exact", "features"):  # compile
        kernel_stein_discrepancy(few, -few, method=method)
    for n in (1000, 10_000) if quick else (1000, 10_000, 100_000):
        for d in (10, 100):
            x = 1.1 * rng.standard_normal((n, d))
            start = time.process_time()
            exact = kernel_stein_discrepancy(x, -x, n_jobs=1)
            between = time.process_time()
            fast, error = kernel_stein_discrepancy(
                x, -x, method="features", n_jobs=1, return_error=True
            )
            pairs, waves = between - start, time.process_time() - between
            values = f"{exact:.4f}", f"{fast - exact:.4f}", f"{error:.4f}"
            times = f"{pairs:.3f}", f"{waves:.3f}", f"{pairs / waves:.1f}"
            table.row(n, d, *times, *values)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer draws")
    quick = parser.parse_args().quick
    main(quick)
    features(quick)
