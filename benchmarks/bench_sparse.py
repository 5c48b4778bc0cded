"""Sparse data: time of an iteration, and memory.

    python benchmarks/bench_sparse.py [--quick]

w8a and generated matrices of 50 nonzeros a row. Columns: nonzeros of a minibatch of
1,000 rows, microseconds of an iteration (each of which moves all parameters), the
largest memory of the process so far, and the size of the data.
"""

import argparse
import resource
import sys
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from bench_growth import N_TURNS, timed_fit
from tables import Table

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.references.load import reference  # noqa: E402


def generated(n, d, per_row=50):
    rng = np.random.default_rng(0)
    indices = rng.integers(d, size=(n, per_row), dtype=np.int32)
    indptr = np.arange(0, n * per_row + 1, per_row, dtype=np.int32)
    X = sp.csr_array((np.ones(n * per_row), indices.ravel(), indptr), shape=(n, d))
    X.sum_duplicates()
    return X, (rng.random(n) < 0.5).astype(np.int64)


def main(quick):
    table = Table("data", "nonzeros", "iteration us", "MB", "data MB")
    cases = {"w8a": None, "100,000 x 10,000": (100_000, 10_000)}
    if not quick:
        cases["1,000,000 x 100,000"] = (1_000_000, 100_000)
    for name, shape in cases.items():
        X, y = reference(name).load() if shape is None else generated(*shape)
        settings = dict(preconditioner="diagonal", burn_in=0, thin=1, n_chains=1)
        settings |= dict(step_size=0.01, gradient="cv", batch_size=1000)
        few = 20 if quick else 200
        timed_fit(X, y, n_draws=1, **settings)  # compiles
        seconds = min(
            timed_fit(X, y, n_draws=few, **settings)[1] for _ in range(N_TURNS)
        )
        held = (X.data.nbytes + X.indices.nbytes + X.indptr.nbytes) / 2**20
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        microseconds = f"{1e6 * seconds / few:.0f}"
        nonzeros = 1000 * X.nnz // X.shape[0]
        table.row(name, nonzeros, microseconds, f"{peak:.0f}", f"{held:.0f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller data")
    main(parser.parse_args().quick)
