"""What a sampler costs beside its gradients, and a new combination to compile.

    python benchmarks/bench_sampler_overhead.py [--quick] [--samplers NAME ...]

Logistic regression with 100 parameters and minibatches of 1,000 rows. Overhead: the
processor time of an iteration over that of its gradients alone, less one; samplers and
bare gradients take turns, and the medians are compared. Compilation: processor time of
the first chain in a fresh process with an empty cache, without the imports and numba's
own start (a function of one line). "compile": all parts are new; "known": another
sampler has run with this gradient and model before; "again": a second process, which
finds the code of the first one on disk.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time

import numpy as np

from skbayes_sg.datasets import make_logistic
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.engine import estimate_gradient, run_chain
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import init_work
from skbayes_sg.kernels.protocol.sampler import init_state
from skbayes_sg.kernels.samplers import SAMPLERS
from skbayes_sg.kernels.schedules import Constant

D, BATCH_SIZE = 100, 1000
EXACT = ("mala", "hmc")
# Gradients of one iteration, where they are not one.
N_GRADIENTS = {"sghmc": 5}
CHILD = """
import time
import numba
import numpy as np
from skbayes_sg import sample
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.samplers import SAMPLERS
X, y = np.random.default_rng(0).normal(size=(50, 4)), np.arange(50.0) % 2
model = GLM(Bernoulli(), X, y, np.empty(0), np.full(X.shape[1] + 1, 0.1), True, 1)
gradient = Full() if {name!r} in ("mala", "hmc") else Minibatch(10)
settings = dict(step_size=1e-3, n_draws=3, scale=np.ones(5))
numba.njit(lambda x: x + 1)(1)
if {known}:
    other = "sgld" if {name!r} in ("sghmc", "hmc") else "sghmc"
    sample(model, SAMPLERS[other](), gradient, **settings)
began = time.process_time()
sample(model, SAMPLERS[{name!r}](), gradient, **settings)
print(time.process_time() - began)
"""


def processor_time(function):
    began = time.process_time()
    function()
    return time.process_time() - began


def overhead(name, model, n_iter, n_rounds=7):
    """Return processor seconds of an iteration, and of its gradients."""
    sampler = for_kernels(SAMPLERS[name]())
    gradient = for_kernels(prepare(Minibatch(BATCH_SIZE), model))
    rng = np.random.default_rng(0)
    target = make_target(model, gradient, Identity(), rng)
    state = init_state(sampler, np.zeros(D), rng)
    draws = np.empty((1, D))
    n_gradients = n_iter * N_GRADIENTS.get(name, 1)
    thetas, out = np.zeros((n_gradients, D)), np.empty((n_gradients, D))
    memory, work = init_memory(gradient, model, thetas[0], rng), init_work(model)
    schedule = for_kernels(Constant(1e-7))

    def iterations():
        run_chain(
            sampler, state, target, schedule, rng,
            0, n_iter, n_iter - 1, 1, 1, 0, draws,
        )  # fmt: skip

    def gradients():
        estimate_gradient(gradient, memory, model, work, thetas, rng, out)

    iterations(), gradients()  # compile
    times = [
        (processor_time(iterations), processor_time(gradients)) for _ in range(n_rounds)
    ]
    return np.median(times, axis=0) / n_iter


def compile_seconds(name, known=False):
    """Return processor seconds of the first chain, in a first and a second process."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        command = [sys.executable, "-c", CHILD.format(name=name, known=known)]
        return [
            float(subprocess.check_output(command, env=environment, text=True))
            for _ in range(2)
        ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rows and rounds")
    parser.add_argument("--samplers", nargs="+", choices=SAMPLERS, default=SAMPLERS)
    arguments = parser.parse_args()
    quick = arguments.quick
    X, y = make_logistic(10_000 if quick else 100_000, D, random_state=0)
    model = for_kernels(
        GLM(
            Bernoulli(),
            X,
            y.astype(float),
            np.empty(0),
            np.full(X.shape[1], 0.1),
            False,
            1,
        )
    )
    print("sampler        iteration  gradients  overhead    compile    known    again")
    for name in arguments.samplers:
        (first, second), (known, _) = compile_seconds(name), compile_seconds(name, True)
        compiled = f"{first:8.2f} s {known:6.2f} s {second:6.2f} s"
        if name in EXACT:
            print(f"{name:12s} {'(full passes)':>33s}  {compiled}", flush=True)
            continue
        whole, bare = overhead(name, model, 20 if quick else 200)
        print(
            f"{name:12s} {1e6 * whole:8.0f} us {1e6 * bare:7.0f} us "
            f"{whole / bare - 1:9.1%}  {compiled}",
            flush=True,
        )


if __name__ == "__main__":
    main()
