"""How time grows with rows and parameters.

    python benchmarks/bench_growth.py [--quick] [--part ...] [--figure FILE]

Part "rows": logistic regression with 20 features and N rows up to ten million,
memory-mapped from a temporary file; the default, linear control variates, on
minibatches of 50 rows. Seconds of set-up (all but the chains) and of the sampling in
which 1,000 effective draws are made, and the slope of log seconds against log N.
Part "parameters": the same at N = 100,000 and d = 10 to 1,000.
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from tables import Table, note

from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.base._diagnostics import smallest_ess
from skbayes_sg.inference import running

SETTINGS = dict(batch_size=50, n_draws=500, n_chains=2, random_state=0)
N_TURNS = 3


def mapped_data(n, d, folder):
    """Return X, mapped to a file, and y; written by blocks of rows."""
    rng = np.random.default_rng(0)
    path = Path(folder) / f"X-{n}-{d}.npy"
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(n, d))
    y, coef = np.empty(n, np.int64), rng.normal(size=d) / np.sqrt(d)
    for first in range(0, n, 100_000):
        block = rng.normal(size=(min(100_000, n - first), d))
        X[first : first + len(block)] = block
        noise = rng.logistic(size=len(block))
        y[first : first + len(block)] = block @ coef + noise > 0
    X.flush()
    return np.load(path, mmap_mode="r"), y


def timed_fit(X, y, **settings):
    """Return an estimator, seconds of its chains and of all the rest."""
    inner, spent = running.run_chain, []

    def run_chain(*args):
        began = time.perf_counter()
        inner(*args)
        spent.append(time.perf_counter() - began)

    running.run_chain = run_chain
    began = time.perf_counter()
    model = SGLDLogisticRegression(**{**SETTINGS, **settings}).fit(X, y)
    running.run_chain, whole = inner, time.perf_counter() - began
    return model, sum(spent), whole - sum(spent)


def measured(X, y):
    """Return an estimator, seconds of 1,000 effective draws and of set-up, the best."""
    fits = [timed_fit(X, y) for _ in range(N_TURNS)]
    share = 1000 / smallest_ess(fits[0][0].samples_)
    return fits[0][0], share * min(fit[1] for fit in fits), min(fit[2] for fit in fits)


COLUMNS = ("set-up s", "draws s", "n_iter", "thin", "ESS")


def line(table, label, model, drawing, setup):
    times, ess = (f"{setup:.2f}", f"{drawing:.3f}"), smallest_ess(model.samples_)
    table.row(label, *times, model.n_iter_, model.thin_, f"{ess:.0f}")


def slope(sizes, seconds):
    return np.polyfit(np.log(sizes), np.log(seconds), 1)[0]


def rows(quick, results):
    table = Table("rows N", *COLUMNS)
    sizes = [10_000, 100_000, 1_000_000] + ([] if quick else [10_000_000])
    points = []
    with tempfile.TemporaryDirectory() as folder:
        timed_fit(*mapped_data(sizes[0], 20, folder), n_draws=1)  # compiles
        for n in sizes:
            X, y = mapped_data(n, 20, folder)
            model, drawing, setup = measured(X, y)
            line(table, n, model, drawing, setup)
            points.append((n, drawing, setup))
    n, drawing, setup = np.array(points).T
    note(f"slopes: drawing {slope(n, drawing):.2f}, set-up {slope(n, setup):.2f}")
    results["rows N"] = points


def parameters(quick, results):
    table = Table("parameters d", *COLUMNS)
    points = []
    with tempfile.TemporaryDirectory() as folder:
        X, y = mapped_data(100_000, 10, folder)
        timed_fit(np.array(X), y, n_draws=1)  # compiles
        for d in (10, 30, 100) if quick else (10, 30, 100, 300, 1000):
            X, y = mapped_data(100_000, d, folder)
            model, drawing, setup = measured(np.array(X), y)
            line(table, d, model, drawing, setup)
            points.append((d, drawing, setup))
    results["parameters d"] = points


PARTS = {"rows": rows, "parameters": parameters}


def draw(results, path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, len(results), figsize=(5 * len(results), 4))
    for axis, (name, points) in zip(np.atleast_1d(axes), results.items(), strict=True):
        size, drawing, setup = np.array(points).T
        axis.loglog(size, setup, "o-", label="set-up: mode, curvature, tuning")
        axis.loglog(size, drawing, "s-", label="1,000 effective draws")
        axis.set(xlabel=name, ylabel="seconds")
        axis.legend()
    figure.tight_layout()
    figure.savefig(path, dpi=120)


def main(quick, part, figure):
    results = {}
    for name in part or PARTS:
        PARTS[name](quick, results)
    if figure and results:
        draw(results, figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller data")
    parser.add_argument("--part", nargs="+", choices=list(PARTS))
    parser.add_argument("--figure", help="file for the plots of growth")
    arguments = parser.parse_args()
    main(arguments.quick, arguments.part, arguments.figure)
