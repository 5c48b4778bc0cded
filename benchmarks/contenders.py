"""The logistic regression of the benchmarks, sampled by this package and by others.

Each contender is a function of (X, y, sampler, cv, n, center) that returns a function
of a number of iterations, compiled by its first call and done when it returns. Sampler
is "sgld", "sghmc" (five steps an iteration) or "sgnht"; `cv` says whether with control
variates around `center`. A contender that lacks the combination returns None. Steps are
so small that nothing moves far: time is all that counts here.

All draw a fresh minibatch of n rows for every gradient. Here, rows are drawn without
replacement; SGMCMCJax draws with replacement, and so do the loops around blackjax and
posteriors, because a draw without replacement costs them far more. blackjax's SG-HMC
keeps one minibatch for all steps of an iteration; here its steps are made one by one,
each with a fresh minibatch. With all cores, the JAX packages use the threads that XLA
takes, and torch as many as there are cores.
"""

import sys
import types

import numpy as np

STEP, LEAPFROGS = 1e-9, 5


def _chain(X, y, sampler, cv, n, center):
    from skbayes_sg.inference.targets import make_target
    from skbayes_sg.kernels.coordinates import Identity
    from skbayes_sg.kernels.engine import run_chain
    from skbayes_sg.kernels.generic import for_kernels
    from skbayes_sg.kernels.gradients import ControlVariate, Minibatch
    from skbayes_sg.kernels.protocol.gradient import prepare
    from skbayes_sg.kernels.protocol.sampler import init_state
    from skbayes_sg.kernels.samplers import SAMPLERS
    from skbayes_sg.kernels.schedules import Constant

    model, rng = _model(X, y), np.random.default_rng(0)
    gradient = ControlVariate(n, center) if cv else Minibatch(n)
    gradient = for_kernels(prepare(gradient, model))
    target = make_target(model, gradient, Identity(), rng)
    sampler = for_kernels(SAMPLERS[sampler]())
    state, schedule = (
        init_state(sampler, center, rng),
        for_kernels(Constant(STEP)),
    )

    def run(n_iter):
        draws = np.empty((n_iter, center.size), center.dtype)
        run_chain(sampler, state, target, schedule, rng, 0, n_iter, 0, 1, 1, 0, draws)

    return run


def _model(X, y):
    from skbayes_sg.kernels.generic import for_kernels
    from skbayes_sg.kernels.likelihoods import Bernoulli
    from skbayes_sg.kernels.models import GLM

    return for_kernels(
        GLM(
            Bernoulli(),
            X,
            y,
            np.empty(0, X.dtype),
            np.full(X.shape[1], 0.1, X.dtype),
            False,
            1,
        )
    )


def limit(X, y, sampler, cv, n, center):
    """Multiply the rows of given blocks with a vector and back, and nothing else."""
    import numba

    from skbayes_sg.kernels.data.blocks import as_blocks
    from skbayes_sg.kernels.generic import OPTIONS
    from skbayes_sg.kernels.numerics.lanes import add_lanes, dot_lanes

    rng, steps = np.random.default_rng(0), LEAPFROGS if sampler == "sghmc" else 1
    x = as_blocks(X, rng.permutation(len(X)), False).data
    k = x.shape[2]
    m = -(-n // k)
    chosen = [rng.choice(len(x), m, replace=False) for _ in range(500)]
    chosen, eta = np.array(chosen, np.int32), np.empty(128, X.dtype)

    @numba.njit(**OPTIONS)
    def products(x, chosen, coef, eta, out, count):
        tile = eta.size // x.shape[2]
        for t in range(count):
            idx = chosen[t % len(chosen)]
            for first in range(0, idx.size, tile):
                part = idx[first : first + tile]
                for b in range(part.size):
                    dot_lanes(x, part[b], coef, eta, b * x.shape[2])
                add_lanes(x, part, eta, out)

    return lambda n_iter: products(
        x, chosen, center, eta, np.zeros_like(center), n_iter * steps
    )


def _jax(X):
    """Return jax, set to the precision of X."""
    import jax

    jax.config.update("jax_enable_x64", X.dtype == np.float64)
    return jax


def _log_densities(jnp):
    def likelihood(theta, x, y):
        return -jnp.logaddexp(0.0, -(2.0 * y - 1.0) * jnp.dot(x, theta))

    return likelihood, lambda theta: -0.05 * jnp.dot(theta, theta)


def sgmcmcjax(X, y, sampler, cv, n, center):
    jax = _jax(X)
    # Gone from JAX, and used for progress bars only.
    absent = types.ModuleType("jax.experimental.host_callback")
    sys.modules[absent.__name__] = jax.experimental.host_callback = absent
    from sgmcmcjax import samplers

    build = getattr(samplers, f"build_{sampler}{'CV' * cv}_sampler")
    likelihood, prior = _log_densities(jax.numpy)
    steps = (LEAPFROGS,) if sampler == "sghmc" else ()
    centers = (jax.numpy.array(center),) if cv else ()
    data = jax.numpy.array(X), jax.numpy.array(y)
    sample = build(STEP, *steps, likelihood, prior, data, n, *centers, pbar=False)
    key, start = jax.random.PRNGKey(0), jax.numpy.array(center)
    return lambda n_iter: sample(key, n_iter, start).block_until_ready()


def blackjax(X, y, sampler, cv, n, center):
    jax = _jax(X)
    import blackjax
    from blackjax.sgmcmc import diffusions, gradients

    likelihood, prior = _log_densities(jax.numpy)
    data, N = (jax.numpy.array(X), jax.numpy.array(y)), len(X)
    start = jax.numpy.array(center)
    gradient = gradients.grad_estimator(prior, lambda t, row: likelihood(t, *row), N)
    if cv:
        gradient = gradients.control_variates(gradient, start, data)
    key, steps = jax.random.PRNGKey(0), LEAPFROGS if sampler == "sghmc" else 1
    if sampler == "sghmc":
        move, state = diffusions.sghmc(), (start, jax.numpy.zeros_like(start))

        def step(key, state, batch):
            return move(key, *state, gradient(state[0], batch), STEP)

    else:
        algorithm = getattr(blackjax, sampler)(gradient)
        state = algorithm.init(start, *((key,) if sampler == "sgnht" else ()))

        def step(key, state, batch):
            return algorithm.step(key, state, batch, STEP)

    def chain(data, state, key, n_iter):
        def one(state, key):
            drawing, moving = jax.random.split(key)
            idx = jax.random.randint(drawing, (n,), 0, N)
            state = step(moving, state, tuple(part[idx] for part in data))
            return state, state

        keys = jax.random.split(key, n_iter * steps)
        return jax.lax.scan(one, state, keys)[1]

    chain = jax.jit(chain, static_argnums=3)
    return lambda n_iter: jax.block_until_ready(chain(data, state, key, n_iter))


def posteriors(X, y, sampler, cv, n, center):
    if cv:
        return None
    import torch
    from posteriors import sgmcmc

    data, N = (torch.from_numpy(X), torch.from_numpy(y)), len(X)
    steps = LEAPFROGS if sampler == "sghmc" else 1

    def log_posterior(theta, batch):
        x, y = batch
        terms = torch.nn.functional.logsigmoid((2 * y - 1) * (x @ theta))
        return N * terms.mean() - 0.05 * theta @ theta, torch.tensor([])

    transform = getattr(sgmcmc, sampler).build(log_posterior, lr=STEP)

    def run(n_iter):
        state = transform.init(torch.from_numpy(center.copy()))
        for _ in range(n_iter * steps):
            idx = torch.randint(N, (n,))
            state, _ = transform.update(state, tuple(part[idx] for part in data))

    return run


CONTENDERS = {
    "skbayes_sg": _chain,
    "limit": limit,
    "sgmcmcjax": sgmcmcjax,
    "blackjax": blackjax,
    "posteriors": posteriors,
}
