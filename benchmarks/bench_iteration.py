"""Time of an iteration, beside other packages and beside what the machine allows.

    python benchmarks/bench_iteration.py [--quick] [--only NAME ...] [--d D ...] [...]

The paper's logistic regression: N = 100,000 rows, d parameters, minibatches of n =
1,000 rows; an iteration of SG-HMC has five gradients. Microseconds per iteration, here
on one thread; `contenders.py` says how the others run. Each contender has a process of
its own, they take turns in every row, and the best of several turns counts. "limit" is
a loop that only multiplies the rows of a minibatch with a vector and back.

Columns after the times: the fastest other package over this one, and this one over the
limit. Below: their geometric means, and seconds to the first iteration (building and
compiling, the cache of this package being empty) with the peak memory of a process;
then the paper's own minutes for 20,000 iterations, beside those of double precision.
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
OURS, LIMIT = "skbayes_sg", "limit"
SAMPLERS = ("sgld", "sghmc", "sgnht")
N_ITER = {"posteriors": 20}  # of a turn, where they are not 500: it takes a millisecond
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
    """A contender in a process of its own."""

    def __init__(self, name, cache):
        own = {"NUMBA_CACHE_DIR": cache, "PYTHONWARNINGS": "ignore"}
        command = [sys.executable, __file__, "--worker", name]
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


def measure(workers, row, n_turns):
    """Return best seconds of an iteration and those to the first one, by contender."""
    n_iter = {name: N_ITER.get(name, 500) for name in workers}
    first = {
        name: worker.ask(n_iter=n_iter[name], **row)["seconds"]
        for name, worker in workers.items()
    }
    times = {name: [] for name, seconds in first.items() if seconds is not None}
    for _ in range(n_turns):
        for name, seconds in times.items():
            answer = workers[name].ask(n_iter=n_iter[name])
            seconds.append(answer["seconds"] / n_iter[name])
    return {name: min(seconds) for name, seconds in times.items()}, first


def geometric_mean(values):
    return float(np.exp(np.mean(np.log(values)))) if len(values) else float("nan")


def main(quick, only, dims, dtypes, samplers, cache):
    names = [OURS, LIMIT] + [
        name
        for name in CONTENDERS
        if name not in (OURS, LIMIT) and importlib.util.find_spec(name)
    ]
    names = [name for name in names if only is None or name in (OURS, LIMIT, *only)]
    table = Table(
        *("dtype", "d", "sampler"), *names, *("peer/ours", "ours/limit"), n_labels=3
    )
    ratios, overheads, first, memory, ours = [], [], {}, {}, {}
    with (
        tempfile.TemporaryDirectory() if cache is None else nullcontext(cache) as cache
    ):
        for dtype in dtypes:
            workers = {name: Worker(name, cache) for name in names}
            for d in dims:
                for sampler in samplers or (SAMPLERS[:1] if quick else SAMPLERS):
                    for cv in (False, True):
                        row = dict(dtype=dtype, d=d, sampler=sampler, cv=cv)
                        best, compiled = measure(workers, row, 5 if quick else 15)
                        if not first:
                            first = compiled
                        peers = [t for name, t in best.items() if name in names[2:]]
                        fastest = min(peers, default=float("nan"))
                        ratios.append(fastest / best[OURS])
                        overheads.append(best[OURS] / best[LIMIT])
                        times = [
                            f"{1e6 * best[name]:.1f}" if name in best else None
                            for name in names
                        ]
                        name = sampler + "-cv" * cv
                        ours[dtype, name, d] = best[OURS]
                        marks = f"{ratios[-1]:.2f}", f"{overheads[-1]:.2f}"
                        table.row(dtype, d, name, *times, *marks)
            for name, process in workers.items():
                peak = process.ask(n_iter=1)["memory"]
                memory[name] = max(peak, memory.get(name, 0))
                process.process.stdin.close()
                process.process.wait()
    note(
        f"geometric mean of peer/ours {geometric_mean(ratios):.2f}, least "
        f"{min(ratios):.2f}; of ours/limit {geometric_mean(overheads):.2f}"
    )
    seconds = {name: f"{t:.1f} s" for name, t in first.items() if t is not None}
    note("first iterations: " + ", ".join(f"{k} {v}" for k, v in seconds.items()))
    peaks = ", ".join(f"{k} {v:.0f} MB" for k, v in memory.items())
    note(f"peak memory: {peaks}")
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
    parser.add_argument("--quick", action="store_true", help="SGLD only, fewer turns")
    parser.add_argument("--only", nargs="*", choices=list(CONTENDERS))
    parser.add_argument("--d", nargs="+", type=int, default=[10, 50, 100])
    parser.add_argument("--dtype", nargs="+", default=["float64", "float32"])
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS)
    parser.add_argument("--cache", help="folder of compiled code; an empty one if None")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.worker:
        worker(arguments.worker)
    else:
        main(
            arguments.quick,
            arguments.only,
            arguments.d,
            arguments.dtype,
            arguments.samplers,
            arguments.cache,
        )
