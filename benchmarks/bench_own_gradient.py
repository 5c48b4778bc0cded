"""Time of a minibatch gradient: models of your own, and the same model by hand.

    python benchmarks/bench_own_gradient.py [--rows N]

Logistic regression, minibatches of 1,000 rows in float64, drawn anew each time; best of
interleaved runs. "by hand" is a plain loop over rows at random places; the others are
`Model` and the package's GLM, at single rows and in their blocks of rows. The target is
1.1 times the loop by hand for single rows, 1.7 times the GLM in blocks at d = 100.
"""

import argparse
import math
import time

import numba
import numpy as np
import pytensor.tensor as pt

from skbayes_sg import Model, Real
from skbayes_sg.kernels.data.minibatch import draw_minibatch
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import init_work

BATCH, REPEATS, ROUNDS = 1000, 300, 7


def log_likelihood(beta, X, y):
    eta = X @ beta
    return y * eta - pt.softplus(eta)


def log_prior(beta):
    return -0.5 * (beta**2).sum()


@numba.njit(fastmath={"reassoc", "contract", "arcp", "nsz"})
def plain_loop(X, y, permutation, thetas, rng, out):
    for t in range(len(thetas)):
        theta, g = thetas[t], out[t]
        for j in range(theta.size):
            g[j] = -theta[j]
        idx = draw_minibatch(permutation, BATCH, rng)
        for b in range(idx.size):
            i = idx[b]
            eta = 0.0
            for j in range(theta.size):
                eta += X[i, j] * theta[j]
            residual = len(X) / BATCH * (y[i] - 1.0 / (1.0 + math.exp(-eta)))
            for j in range(theta.size):
                g[j] += residual * X[i, j]


def contenders(X, y, mode):
    """Yield names and functions of (thetas, rng, out)."""
    d = X.shape[1]
    glm = GLM(
        likelihood=Bernoulli(),
        rows=X,
        y=y,
        weights=np.empty(0),
        prior_precision=np.ones(d),
        intercept=False,
        n_outputs=1,
    )
    own = Model(log_likelihood, log_prior, beta=Real(d)).bind(X=X, y=y)
    permutation = np.arange(len(X), dtype=np.int32)
    yield "by hand", lambda *args: plain_loop(X, y, permutation, *args)
    for label, model in ("GLM", for_kernels(glm)), ("Model", for_kernels(own)):
        simple = GRADIENTS["minibatch"](BATCH)
        yield f"{label}, rows", estimates(simple, model, mode)
        yield f"{label}, blocks", estimates(prepare(simple, model), model, mode)
        for name in ("cv", "taylor-cv"):
            if name == "cv" or label == "Model":
                gradient = prepare(GRADIENTS[name](BATCH, mode), model)
                yield f"{label}, {name}", estimates(gradient, model, mode)


def estimates(gradient, model, mode):
    rng = np.random.default_rng(0)
    gradient = for_kernels(gradient)
    memory = init_memory(gradient, model, mode, rng)
    work = init_work(model)
    return lambda thetas, rng, out: estimate_gradient(
        gradient, memory, model, work, thetas, rng, out
    )


def compare(n, d):
    rng = np.random.default_rng(0)
    X, mode = rng.standard_normal((n, d)), rng.standard_normal(d) / math.sqrt(d)
    y = (rng.random(n) < 1 / (1 + np.exp(-X @ mode))).astype(float)
    thetas = mode + 0.01 * rng.standard_normal((REPEATS, d))
    out = np.empty_like(thetas)
    runs = dict(contenders(X, y, mode))
    best = dict.fromkeys(runs, math.inf)
    for _ in range(1 + ROUNDS):  # the first one compiles
        for name, run in runs.items():
            began = time.process_time()
            run(thetas, rng, out)
            best[name] = min(best[name], (time.process_time() - began) / REPEATS)
    print(f"\n### N = {n:,}, d = {d}\n")
    print("| gradient | µs | over by hand | over GLM, blocks |\n|---|---|---|---|")
    for name, seconds in best.items():
        ratios = seconds / best["by hand"], seconds / best["GLM, blocks"]
        print(f"| {name} | {1e6 * seconds:.1f} | {ratios[0]:.2f} | {ratios[1]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=100_000)
    n = parser.parse_args().rows
    for d in (10, 100):
        compare(n, d)


if __name__ == "__main__":
    main()
