"""What a step of SG-HMC on a network costs, beside a bare pass and other libraries.

    python benchmarks/bench_mlp.py [--quick]

A 784-100-10 network with relu units in float32, minibatches of 500 out of 20,000 rows,
one core. The floor is one forward and backward pass in numpy with the same BLAS
products, over rows that are there already. All take turns, and the best of each counts.
"""

import argparse
import os
import sys
import time
import types

import numpy as np
from tables import Table
from threadpoolctl import threadpool_limits

from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.coordinates import Diagonal
from skbayes_sg.kernels.engine import run_chain
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.likelihoods import Categorical
from skbayes_sg.kernels.models.mlp import MLP
from skbayes_sg.kernels.models.mlp_layers import Relu
from skbayes_sg.kernels.protocol.model import n_parameters
from skbayes_sg.kernels.protocol.sampler import init_state
from skbayes_sg.kernels.samplers import BAOAB
from skbayes_sg.kernels.schedules import Constant

N, BATCH, SIZES = 20_000, 500, (784, 100, 10)
FRICTION = 0.02


def data():
    """Return random rows and labels: only the sizes matter here."""
    rng = np.random.default_rng(0)
    X = rng.random((N, SIZES[0]), dtype=np.float32)
    return X, rng.integers(SIZES[-1], size=N)


def start():
    """Return weights and biases of both layers."""
    rng = np.random.default_rng(1)
    shapes = [(784, 100), (100,), (100, 10), (10,)]
    return [(0.05 * rng.standard_normal(shape)).astype("f4") for shape in shapes]


def numpy_pass(X, y):
    """Return a function that runs one forward and backward pass over 500 rows."""
    w1, b1, w2, b2 = start()
    x, labels = X[:BATCH].copy(), y[:BATCH]
    a, p = np.empty((BATCH, 100), "f4"), np.empty((BATCH, 10), "f4")
    d1, g1, g2 = np.empty_like(a), np.empty_like(w1), np.empty_like(w2)
    rows = np.arange(BATCH)

    def run(n_steps):
        for _ in range(n_steps):
            np.dot(x, w1, a)
            np.add(a, b1, a)
            np.maximum(a, 0, out=a)
            np.dot(a, w2, p)
            np.add(p, b2, p)
            np.subtract(p, p.max(axis=1, keepdims=True), p)
            np.exp(p, p)
            np.divide(p, p.sum(axis=1, keepdims=True), p)
            np.negative(p, p)
            p[rows, labels] += 1
            np.dot(p, w2.T, d1)
            np.multiply(d1, a > 0, d1)
            np.dot(x.T, d1, g1)
            np.dot(a.T, p, g2)
            d1.sum(axis=0), p.sum(axis=0)

    return run


def ours(X, y):
    """Return a function that runs steps of BAOAB, all that a chain does in one."""
    precision = np.ones(4, "f4")
    sizes = np.array(SIZES)
    model = for_kernels(
        MLP(
            Relu(), Categorical(), X, y.astype("f4"), np.empty(0, "f4"),
            sizes, precision, True,
        )
    )  # fmt: skip
    rng = np.random.default_rng(0)
    d, theta = n_parameters(model), np.concatenate([w.ravel() for w in start()])
    units = for_kernels(Diagonal(np.zeros(d, "f4"), np.ones(d, "f4")))
    target = make_target(model, for_kernels(Minibatch(BATCH)), units, rng)
    sampler = for_kernels(BAOAB(friction=FRICTION))
    state = init_state(sampler, theta, rng)
    schedule, none = for_kernels(Constant(1e-4)), np.empty((0, 0), "f4")

    def run(n_steps):
        run_chain(
            sampler, state, target, schedule, rng,
            0, n_steps, n_steps, 1, 1, 0, none,
        )  # fmt: skip

    return run


def jax_log_densities(X, y):
    """Return log densities of the prior and of a row, and where to start."""
    import jax
    import jax.numpy as jnp

    def log_prior(theta):
        return sum(-0.5 * jnp.sum(w * w) for w in theta)

    def log_likelihood(theta, x, label):  # of one row
        w1, b1, w2, b2 = theta
        z = jnp.maximum(x @ w1 + b1, 0) @ w2 + b2
        return z[label] - jax.scipy.special.logsumexp(z)

    return log_prior, log_likelihood, [jnp.asarray(w) for w in start()]


def blackjax_log_density(log_prior, log_likelihood):
    """Return an estimate of the log posterior from a minibatch."""
    import jax

    def log_density(theta, batch):
        rows = jax.vmap(log_likelihood, (None, 0, 0))(theta, *batch)
        return log_prior(theta) + N / BATCH * rows.sum()

    return log_density


def blackjax_steps(X, y):
    """Return a function that runs steps of blackjax's SG-HMC, compiled as one loop.

    Each has a minibatch of its own, as here.
    """
    import jax
    import jax.numpy as jnp
    from blackjax.sgmcmc import diffusions

    log_prior, log_likelihood, theta = jax_log_densities(X, y)
    gradient = jax.grad(blackjax_log_density(log_prior, log_likelihood))
    move, rows, labels = diffusions.sghmc(), jnp.asarray(X), jnp.asarray(y)

    def one(state, key):
        first, second = jax.random.split(key)
        idx = jax.random.choice(first, N, (BATCH,), replace=True)
        g = gradient(state[0], (rows[idx], labels[idx]))
        return move(second, *state, g, 1e-8), None

    loop = jax.jit(lambda state, keys: jax.lax.scan(one, state, keys)[0])
    state = theta, [jnp.zeros_like(w) for w in theta]

    def run(n_steps):
        keys = jax.random.split(jax.random.key(0), n_steps)
        jax.block_until_ready(loop(state, keys))

    return run


def blackjax_trajectories(X, y):
    """Return a function that runs blackjax's own SG-HMC: five steps on one minibatch.

    It draws a new momentum for each minibatch, so the last gradient of each trajectory
    is of no use, and the compiler leaves it out: six steps for five gradients.
    """
    import blackjax
    import jax
    import jax.numpy as jnp

    log_prior, log_likelihood, theta = jax_log_densities(X, y)
    log_density = blackjax_log_density(log_prior, log_likelihood)
    sampler = blackjax.sghmc(jax.grad(log_density), num_integration_steps=6)
    rows, labels = jnp.asarray(X), jnp.asarray(y)

    def one(theta, key):
        first, second = jax.random.split(key)
        idx = jax.random.choice(first, N, (BATCH,), replace=True)
        return sampler.step(second, theta, (rows[idx], labels[idx]), 1e-8), None

    loop = jax.jit(lambda theta, keys: jax.lax.scan(one, theta, keys)[0])

    def run(n_steps):
        keys = jax.random.split(jax.random.key(0), n_steps // 5)
        jax.block_until_ready(loop(theta, keys))

    return run


def sgmcmcjax_steps(X, y):
    """Return a function that runs steps of SGMCMCJax's SG-HMC, one leapfrog each."""
    import jax
    import jax.numpy as jnp

    # Gone from jax, and SGMCMCJax imports it for its progress bar alone.
    stand_in = types.ModuleType("jax.experimental.host_callback")
    stand_in.id_tap = lambda tap, value, **options: value
    sys.modules.setdefault(stand_in.__name__, stand_in)
    jax.experimental.host_callback = stand_in
    from sgmcmcjax.kernels import build_sghmc_kernel

    log_prior, log_likelihood, theta = jax_log_densities(X, y)
    init, kernel, get = build_sghmc_kernel(
        1e-8, 1, log_likelihood, log_prior, (jnp.asarray(X), jnp.asarray(y)), BATCH
    )

    def one(carry, key):
        i, state = carry
        return (i + 1, kernel(i, key, state)), None

    loop = jax.jit(lambda carry, keys: jax.lax.scan(one, carry, keys)[0])
    state = init(jax.random.PRNGKey(0), theta)

    def run(n_steps):
        keys = jax.random.split(jax.random.PRNGKey(0), n_steps)
        jax.block_until_ready(loop((0, state), keys))

    return run


def posteriors_steps(X, y):
    """Return a function that runs steps of posteriors' SG-HMC in torch."""
    import posteriors
    import torch

    torch.set_num_threads(1)
    rows, labels = torch.from_numpy(X), torch.from_numpy(y)
    theta = dict(enumerate(torch.from_numpy(w) for w in start()))

    def log_density(theta, batch):
        x, label = batch
        z = torch.relu(x @ theta[0] + theta[1]) @ theta[2] + theta[3]
        fit = -torch.nn.functional.cross_entropy(z, label, reduction="sum")
        prior = sum(-0.5 * (w * w).sum() for w in theta.values())
        return prior + N / BATCH * fit, torch.empty(0)

    transform = posteriors.sgmcmc.sghmc.build(log_density, lr=1e-8, alpha=1.0)
    state = transform.init(theta)

    def run(n_steps):
        nonlocal state
        for _ in range(n_steps):
            idx = torch.randperm(N)[:BATCH]
            state, _ = transform.update(state, (rows[idx], labels[idx]))

    return run


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="fewer rounds")
    parser.add_argument("--no-peers", action="store_true", help="this package alone")
    args = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):  # no flag keeps jax to one thread
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    with threadpool_limits(1):
        compare(args.quick, args.no_peers)


def compare(quick, no_peers):
    """Time all contestants in turn and print a table."""
    X, y = data()
    builders = {"numpy pass (floor)": numpy_pass, "skbayes_sg BAOAB": ours}
    if not no_peers:
        builders["blackjax sghmc"] = blackjax_steps
        builders["- 5 on one minibatch"] = blackjax_trajectories
        builders["SGMCMCJax sghmc"] = sgmcmcjax_steps
        builders["posteriors sghmc"] = posteriors_steps
    contestants = {}
    for name, build in builders.items():
        try:
            contestants[name] = build(X, y)
        except ImportError as error:
            print(f"{name}: {error}")
    n_steps, n_rounds = (20, 3) if quick else (50, 15)
    best = dict.fromkeys(contestants, np.inf)
    for run in contestants.values():
        run(n_steps)  # compile
    for _ in range(n_rounds):
        for name, run in contestants.items():
            began = time.perf_counter()
            run(n_steps)
            seconds = (time.perf_counter() - began) / n_steps
            best[name] = min(best[name], seconds)
    floor = best["numpy pass (floor)"]
    mine = best["skbayes_sg BAOAB"]
    table = Table(f"{'':20}", "ms per step", "x floor", "x skbayes_sg")
    for name, seconds in best.items():
        ratios = f"{seconds / floor:.2f}", f"{seconds / mine:.2f}"
        table.row(name, f"{1e3 * seconds:.2f}", *ratios)


if __name__ == "__main__":
    main()
