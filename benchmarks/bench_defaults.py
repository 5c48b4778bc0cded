"""The table of the README: all defaults against long exact runs.

    python benchmarks/bench_defaults.py [--quick] [NAME ...]

Errors of posterior means are in posterior standard deviations; all numbers are the
worst of all coefficients. Seconds are the best of three whole fits with `n_jobs=2`,
with compiled code in the cache. The intercept is a column of ones, which has
the prior of the references; only in a9a and w8a does that matter. These two are read
from the folder SKBAYES_SG_DATA.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from arviz_stats.base import array_stats
from tables import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))  # references are of tests

from skbayes_sg import SGLDLogisticRegression  # noqa: E402
from tests.references.load import CASES, reference, with_ones  # noqa: E402

SMALL = ["logistic_d10", "logistic_d10_badly_scaled", "logistic_d50"]


def main(names):
    table = Table(
        "data", "rows × features", "rows per step", "error of mean", "ratio of sd",
        "effective draws", "seconds",
    )  # fmt: skip
    for name in names:
        exact = reference(name)
        X, y = exact.load()
        X = with_ones(X)
        settings = dict(fit_intercept=False, random_state=0, n_jobs=2)
        model, seconds = SGLDLogisticRegression(**settings), []
        for _ in range(4):  # the first may compile
            began = time.perf_counter()
            model.fit(X, y)
            seconds.append(time.perf_counter() - began)
        draws = model.samples_
        error = np.abs(draws.mean(axis=(0, 1)) - exact.mean) / exact.sd
        ratio = draws.std(axis=(0, 1)) / exact.sd
        ess = array_stats.ess(draws, chain_axis=0, draw_axis=1).min()
        table.row(
            name, f"{X.shape[0]:,} × {X.shape[1] - 1}", model.batch_size_,
            f"{error.max():.2f}", f"{ratio.min():.2f}–{ratio.max():.2f}",
            f"{ess:,.0f}", f"{min(seconds[1:]):.2f}",
        )  # fmt: skip


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help=", ".join(CASES), metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="the small ones")
    arguments = parser.parse_args()
    main(arguments.names or (SMALL if arguments.quick else list(CASES)))
