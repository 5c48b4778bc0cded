"""Time of an iteration, beside other packages and beside what the machine allows.

    python benchmarks/bench_iteration.py [--quick] [--only NAME ...] [--d D ...] [...]

The paper's logistic regression: N = 100,000 rows, d parameters, minibatches of n =
1,000 rows; an iteration of SG-HMC has five gradients. Microseconds per iteration, here
on one thread, in the others on one core and, in columns of their own, with all cores
(`contenders.py` says how). Each contender has a process of its own, they take turns in
every row, and the best of several turns counts. "limit" is a loop that only multiplies
the rows of a minibatch with a vector and back.

All rows are run several times from the start, with new processes. Times are medians of
the runs. The columns after them: the fastest other package over this one, on one core
and with all cores, each the least of the runs, and this one over the limit. Below:
geometric means and least ratios of each run with the load of the machine when it began,
seconds to the first iteration (building and compiling, the cache of this package being
empty) with the peak memory of a process, and the paper's own minutes for 20,000
iterations, beside those of double precision.
"""

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import nullcontext

import numpy as np
from contenders import CONTENDERS
from tables import Table, note

N, BATCH = 100_000, 1000
OWN = OURS, LIMIT = "skbayes_sg", "limit"
SAMPLERS = ("sgld", "sghmc", "sgnht")
N_ITER = {"posteriors": 20}  # of a turn, where they are not 500: it takes a millisecond
ROW = "dtype", "d", "sampler", "cv"
PAPER_ITER = 20_000
PAPER = {  # minutes, by d; table 2 of Nemeth & Fearnhead (2021)
    "sgld": {10: 1.74, 50: 2.55, 100: 3.42},
    "sgld-cv": {10: 1.46, 50: 2.06, 100: 2.60},
    "sghmc": {10: 11.24, 50: 13.43, 100: 16.01},
    "sghmc-cv": {10: 6.53, 50: 7.76, 100: 9.63},
    "sgnht": {10: 2.56, 50: 3.33, 100: 4.38},
    "sgnht-cv": {10: 1.54, 50: 1.93, 100: 2.36},
}


def data(d, dtype):
    from skbayes_sg.datasets import make_logistic

    X, y = make_logistic(N, d, random_state=0)
    center = np.random.default_rng(1).normal(size=d) / 10
    return X.astype(dtype), y.astype(dtype), center.astype(dtype)


def worker(name):
    """Answer lines of questions: a row of the table, then numbers of iterations."""
    run, arrays = None, {}
    for line in sys.stdin:
        question = json.loads(line)
        began = time.perf_counter()
        if "sampler" in question:
            key = question["d"], question["dtype"]
            if key not in arrays:
                arrays = {key: data(*key)}
            X, y, center = arrays[key]
            began, settings = time.perf_counter(), (question["sampler"], question["cv"])
            run = CONTENDERS[name](X, y, *settings, BATCH, center)
        if run is not None:
            run(question["n_iter"])
        answer = {
            "seconds": None if run is None else time.perf_counter() - began,
            "memory": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        print(json.dumps(answer), flush=True)


class Worker:
    """A contender in a process of its own, on one core or with all of them."""

    def __init__(self, name, cache, one_core):
        own = {"NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, __file__, "--worker", name]
        if one_core:
            own |= {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}
            command.append("--one-core")
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, **own},
            text=True,
        )

    def ask(self, **question):
        print(json.dumps(question), file=self.process.stdin, flush=True)
        return json.loads(self.process.stdout.readline())

    def close(self):
        """End the process; return its peak memory in megabytes."""
        peak = self.ask(n_iter=1)["memory"]
        self.process.stdin.close()
        self.process.wait()
        return peak


def measure(workers, row, n_turns):
    """Return best seconds of an iteration and those to the first one, by contender."""
    n_iter = {key: N_ITER.get(key[0], 500) for key in workers}
    first = {
        key: worker.ask(n_iter=n_iter[key], **row)["seconds"]
        for key, worker in workers.items()
    }
    times = {key: [] for key, seconds in first.items() if seconds is not None}
    for _ in range(n_turns):
        for key, seconds in times.items():
            answer = workers[key].ask(n_iter=n_iter[key])
            seconds.append(answer["seconds"] / n_iter[key])
    return {key: min(seconds) for key, seconds in times.items()}, first


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values)))) if len(values) else float("nan")


class Run:
    """All rows once: seconds of an iteration and ratios, by row of the table."""

    def __init__(self, keys, rows, cache, n_turns):
        self.load = os.getloadavg()[0]
        self.best, self.first, self.memory = {}, {}, {}
        with (
            tempfile.TemporaryDirectory()
            if cache is None
            else nullcontext(cache) as cache
        ):
            for dtype in dict.fromkeys(dtype for dtype, *_ in rows):
                workers = {key: Worker(key[0], cache, key[1] == "one") for key in keys}
                for row in rows:
                    if row[0] == dtype:
                        named = dict(zip(ROW, row, strict=True))
                        self.best[row], first = measure(workers, named, n_turns)
                        self.first = self.first or first
                for key, process in workers.items():
                    self.memory[key] = max(process.close(), self.memory.get(key, 0))

    def ratio(self, row, cores):
        """Divide the time of the fastest other package by that of this one."""
        best = self.best[row]
        return (
            min(
                (t for (name, c), t in best.items() if name not in OWN and c == cores),
                default=float("nan"),
            )
            / (best[OURS, "one"])
        )

    def overhead(self, row):
        """Divide the time of this package by the limit."""
        return self.best[row][OURS, "one"] / self.best[row][LIMIT, "one"]


def main(quick, only, dims, dtypes, samplers, cache, n_runs):
    others = [
        name
        for name in CONTENDERS
        if name not in OWN and importlib.util.find_spec(name)
        if only is None or name in only
    ]
    keys = [(name, "one") for name in (*OWN, *others)]
    keys += [(name, "all") for name in others]
    rows = [
        (dtype, d, sampler, cv)
        for dtype in dtypes
        for d in dims
        for sampler in samplers or (SAMPLERS[:1] if quick else SAMPLERS)
        for cv in (False, True)
    ]
    n_runs, n_turns = (1, 5) if quick else (n_runs, 8)
    runs = [Run(keys, rows, cache, n_turns) for _ in range(n_runs)]
    times = [f"{name}, all cores" if cores == "all" else name for name, cores in keys]
    columns = "peer/ours", "peer/ours, all cores", "ours/limit"
    table = Table("dtype", "d", "sampler", *times, *columns, n_labels=3)
    ours = {}
    for row in rows:
        dtype, d, sampler, cv = row
        name = sampler + "-cv" * cv
        median = {
            key: np.median([run.best[row][key] for run in runs])
            for key in runs[0].best[row]
        }
        ours[dtype, name, d] = median[OURS, "one"]
        table.row(
            *(dtype, d, name),
            *(f"{1e6 * median[key]:.1f}" if key in median else None for key in keys),
            *(f"{min(r.ratio(row, c) for r in runs):.2f}" for c in ("one", "all")),
            f"{np.median([run.overhead(row) for run in runs]):.2f}",
        )
    for i, run in enumerate(runs, 1):
        one = [run.ratio(row, "one") for row in rows]
        every = [run.ratio(row, "all") for row in rows]
        note(
            f"run {i}, load {run.load:.1f}: geometric mean of peer/ours "
            f"{geometric_mean(one):.2f}, least {min(one):.2f}; with all cores "
            f"{geometric_mean(every):.2f}, least {min(every):.2f}; of ours/limit "
            f"{geometric_mean([run.overhead(row) for row in rows]):.2f}"
        )
    first, memory = runs[0].first, runs[0].memory
    note(
        "first iterations: "
        + ", ".join(
            f"{name} {first[name, 'one']:.1f} s"
            for name, cores in keys
            if cores == "one" and first[name, "one"] is not None
        )
    )
    peaks = (f"{name} {memory[name, c]:.0f} MB" for name, c in keys if c == "one")
    note(f"peak memory: {', '.join(peaks)}")
    beside_paper(ours)


def beside_paper(ours):
    """Print minutes of as many iterations as the paper's, and its own."""
    note(f"minutes of {PAPER_ITER:,} iterations, here and in the paper")
    table = Table("sampler", "d", "paper", "here", "ratio")
    for name, minutes in PAPER.items():
        for d, theirs in minutes.items():
            if ("float64", name, d) in ours:
                here = ours["float64", name, d] * PAPER_ITER / 60
                table.row(
                    name, d, f"{theirs:.2f}", f"{here:.4f}", f"{theirs / here:.0f}"
                )


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="SGLD only, one run")
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS))
    parser.add_argument("--d", nargs="+", type=int, default=[10, 50, 100])
    parser.add_argument("--dtype", nargs="+", default=["float64", "float32"])
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS)
    parser.add_argument("--runs", type=int, default=3, help="whole runs; quick has one")
    parser.add_argument("--cache", help="folder of compiled code; an empty one if None")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--one-core", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        if arguments.one_core and hasattr(os, "sched_setaffinity"):
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        worker(arguments.worker)
    else:
        main(
            arguments.quick,
            arguments.only,
            arguments.d,
            arguments.dtype,
            arguments.samplers,
            arguments.cache,
            arguments.runs,
        )
