"""Import, first fit and parallel chains.

    python benchmarks/bench_first_use.py [--quick]

Import: processor seconds of ``import skbayes_sg`` in a fresh process, and of numba with
`sklearn.linear_model`; the best of several. First fit: processor seconds of the first
`fit` in a fresh process, less those of the second, with an empty cache of compiled code
and with a full one. Chains: how much faster two chains are on two threads than one
after the other, beside two processes with a chain each; all take turns.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np
from tables import Table, note

from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.datasets import make_logistic

IMPORTS = {
    "skbayes_sg": "import skbayes_sg",
    "numba and sklearn.linear_model": "import numba, sklearn.linear_model",
}
FIT = """
import time
import numpy as np
from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.datasets import make_logistic
X, y = make_logistic({n}, 5, random_state=0)
times = []
for _ in range(2):
    began = time.process_time()
    SGLDLogisticRegression(n_draws=10, random_state=0).fit(X, y)
    times.append(time.process_time() - began)
print(times[0] - times[1])
"""
CHAIN = """
import sys, time
from skbayes_sg import SGLDLogisticRegression
from skbayes_sg.datasets import make_logistic
X, y = make_logistic(100_000, 50, random_state=0)
model = SGLDLogisticRegression(n_chains=1, n_draws={n_draws}, random_state=0)
model.fit(X, y)
for line in sys.stdin:
    began = time.perf_counter()
    model.fit(X, y)
    print(time.perf_counter() - began, flush=True)
"""


def run(code, **environment):
    """Return the number that a fresh process prints."""
    command = [sys.executable, "-c", code]
    return float(
        subprocess.check_output(command, env={**os.environ, **environment}, text=True)
    )


def imports(n_turns):
    code = "import time; t = time.process_time(); {}; print(time.process_time() - t)"
    times = {name: np.inf for name in IMPORTS}
    for _ in range(n_turns):
        for name, statement in IMPORTS.items():
            times[name] = min(times[name], run(code.format(statement)))
    table = Table("import", "seconds")
    for name, seconds in times.items():
        table.row(name, f"{seconds:.2f}")
    ours, others = times.values()
    note(f"ratio: {ours / others:.2f}")


def first_fits():
    table = Table("first fit", "compiling, s", "from the cache, s")
    for n, kind in ((500, "small data"), (10_000, "rows in blocks")):
        with tempfile.TemporaryDirectory() as cache:
            cold, warm = (run(FIT.format(n=n), NUMBA_CACHE_DIR=cache) for _ in range(2))
        table.row(kind, f"{cold:.1f}", f"{warm:.2f}")


def parallel_chains(n_turns, n_draws):
    X, y = make_logistic(100_000, 50, random_state=0)
    settings = dict(n_chains=2, n_draws=n_draws, random_state=0)
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", CHAIN.format(n_draws=n_draws)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    ]

    def fit(n_jobs):
        began = time.perf_counter()
        SGLDLogisticRegression(n_jobs=n_jobs, **settings).fit(X, y)
        return time.perf_counter() - began

    def processes(count):
        for worker in workers[:count]:
            print("go", file=worker.stdin, flush=True)
        return max(float(worker.stdout.readline()) for worker in workers[:count])

    tasks = {
        "sequence": lambda: fit(1),
        "threads": lambda: fit(2),
        "one process": lambda: processes(1),
        "two processes": lambda: processes(2),
    }
    times = {name: np.inf for name in tasks}
    for turn in range(1 + n_turns):  # the first one compiles
        for name, task in tasks.items():
            seconds = task()
            if turn > 0:
                times[name] = min(times[name], seconds)
    for worker in workers:
        worker.stdin.close()
        worker.wait()
    threads = times["sequence"] / times["threads"]
    separate = 2 * times["one process"] / times["two processes"]
    table = Table("two chains", "seconds")
    for name, seconds in times.items():
        table.row(name, f"{seconds:.2f}")
    note(
        f"two threads {threads:.2f} times, two processes {separate:.2f} times faster: "
        f"{threads / separate:.2f} of what processes reach"
    )


def main(quick):
    imports(3 if quick else 7)
    first_fits()
    parallel_chains(*((2, 1000) if quick else (3, 100_000)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer turns")
    main(parser.parse_args().quick)
