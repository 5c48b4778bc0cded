"""Networks: where their chains start, in which units they move, how far.

A network's posterior has many modes and is far from Gaussian: the curvature at one mode
does not say enough. Each chain starts from weights of its own, trained by Adam, and the
units are measured again where the chains are, several times during burn-in.
"""

import math
from typing import NamedTuple

import numpy as np

from skbayes_sg.inference.chains import DivergenceError, sample
from skbayes_sg.kernels.coordinates import Diagonal
from skbayes_sg.kernels.gradients import Minibatch
from skbayes_sg.kernels.minibatch import INDEX
from skbayes_sg.kernels.models.mlp import rows_curvature, rows_gradient, unpack
from skbayes_sg.kernels.ops import (
    accurate_step,
    add_prior_hessian_diagonal,
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
    stable_step,
)
from skbayes_sg.kernels.optimizers import Adam
from skbayes_sg.kernels.schedules import Polynomial

PILOT_ROWS = 2048  # rows from which curvatures are measured
PILOT_PAIRS = 8  # pairs of gradients that measure their noise
MARGIN = 2.0  # by how much curvatures may grow beyond those measured
EXCESS = 0.005  # nats per row by which gradient noise may raise the training loss
TOLERANCE = 0.1  # what the same means as a relative excess of variances, see below
EPOCHS = 20  # of training
N_ROUNDS = 3  # of burn-in, each with new units
MAX_RETRIES = 3  # with smaller steps, after a divergence


def random_weights(model, rng):
    """Return theta with the random weights of Glorot & Bengio (2010), (d,)."""
    theta = np.zeros(n_parameters(model), parameter_dtype(model))
    weights, _, _ = unpack(theta, model.sizes)
    for w in weights:
        w[:] = rng.standard_normal(w.shape) * math.sqrt(2.0 / sum(w.shape))
    return theta


def train(model, starts, batch_size, random_state, **options):
    """Maximise log p from each of `starts` by Adam; return (n_chains, d)."""
    n_iter = max(1000, EPOCHS * n_rows(model) // batch_size)
    draws = sample(
        # Without noise, learnt precisions would rise until all weights are zero.
        model._replace(learns_precision=False),
        Adam(),
        Minibatch(batch_size),
        step_size=Polynomial(0.005, 1.0, n_iter / 10),
        n_draws=1,
        thin=n_iter,
        n_chains=len(starts),
        start=starts,
        scale=np.ones(starts.shape[1]),
        random_state=random_state,
        **options,
    )
    return draws[:, 0, : starts.shape[1]]


class NetworkGeometry(NamedTuple):
    """Units in which no curvature of -log p is larger than one."""

    coordinates: Diagonal
    theta_sd: np.ndarray  # (d,) rough posterior sds of single weights
    ratio: float  # the largest curvature over that of a typical weight
    noise: float  # variance of gradient estimates in these units


def network_geometry(model, thetas, batch_size, rng):
    """Measure curvature and gradient noise at `thetas`, (n_chains, d).

    A weight moves in units of (c F + lambda)^-1/2, F its Fisher information averaged
    over exchangeable units. What the data say of a single weight, times c, covers what
    they say of all together; a weight of which they say nothing moves at the speed of
    its prior.
    """
    n, d, dtype = n_rows(model), thetas.shape[1], parameter_dtype(model)
    thetas = np.ascontiguousarray(thetas, dtype)
    size = min(PILOT_ROWS, n)
    works = [_work_at(model, theta) for theta in thetas]
    rows = [rng.choice(n, size, replace=False).astype(INDEX) for _ in thetas]
    places = list(zip(thetas, works, rows, strict=True))
    fisher, prior, out = np.zeros(d), np.zeros(d), np.zeros(d)
    for theta, work, idx in places:
        rows_curvature(model, work, theta, idx, n / size, out)
        fisher += out / len(thetas)
        add_prior_hessian_diagonal(model, work, theta, prior)
    prior /= len(thetas)
    fisher = exchangeable_mean(fisher, model.sizes)
    c = max(_ratio(model, *place, fisher, prior) for place in places)
    unit = 1.0 / np.sqrt(MARGIN * (c * fisher + prior))
    # Gradient noise of variance V in a direction raises the variance there by a factor
    # 1 + TOLERANCE, and -log p by TOLERANCE / 2 on average. The trace of V is spread
    # over as many directions as make EXCESS of it for each row.
    variance = sum(_gradient_variance(model, *p[:2], batch_size, rng) for p in places)
    n_directions = 2 * EXCESS * n / TOLERANCE
    return NetworkGeometry(
        coordinates=Diagonal(np.zeros(d, dtype), unit.astype(dtype)),
        theta_sd=1.0 / np.sqrt(fisher + prior),
        ratio=MARGIN * c,
        noise=np.sum(unit**2 * variance) / len(thetas) / n_directions,
    )


def damped(sampler, where):
    """Return the sampler with the friction that serves typical weights best.

    Critical friction for their curvature, or as much as lets the longest stable step
    through where the noise of gradients would not.
    """
    friction = max(2.0 / math.sqrt(where.ratio), 0.5 * where.noise / TOLERANCE)
    given = {"friction": min(friction, 2.0), "diffusion": min(friction, 2.0)}
    return sampler._replace(**{k: given[k] for k in sampler._fields if k in given})


def network_step(sampler, where):
    """Return the step size whose gradient noise heats by `TOLERANCE` at the most."""
    return accurate_step(sampler, where.noise, TOLERANCE)


def run_networks(model, sampler, gradient, where, step_size, **options):
    """Run `sample` in the units of `where`; return its draws, its info and the step.

    An automatic step is a quarter as long after each divergence.
    """
    h = network_step(sampler, where) if step_size == "auto" else step_size
    schedule = options.pop("schedule")
    for retries in range(MAX_RETRIES, -1, -1):
        try:
            draws, info = sample(
                model,
                sampler,
                gradient,
                step_size=schedule(h),
                coordinates=where.coordinates,
                scale=where.theta_sd,
                step_limit=stable_step(sampler),
                return_info=True,
                **options,
            )
            return draws, info, h
        except DivergenceError:
            if step_size != "auto" or retries == 0:
                raise
            h /= 4


def exchangeable_mean(values, sizes):
    """Average (d,) values over the hidden units of a layer, which have no order.

    What is left differs by input feature in the first layer, by output in the last.
    """
    out = values.copy()
    weights, biases, _ = unpack(out, sizes)
    last = len(weights) - 1
    for k, (w, b) in enumerate(zip(weights, biases, strict=True)):
        axes = tuple(axis for axis, hidden in enumerate((k > 0, k < last)) if hidden)
        if axes:
            w[:] = w.mean(axis=axes, keepdims=True)
        if k < last:
            b[:] = b.mean()
    return out


def _work_at(model, theta):
    """Return a work whose lambdas have their conditional means given theta."""
    work = init_work(model)
    if model.learns_precision:
        weights, biases, _ = unpack(theta, model.sizes)
        blocks = [block for pair in zip(weights, biases, strict=True) for block in pair]
        for k, block in enumerate(blocks):
            work.precision[k] = (1 + block.size / 2) / (1 + np.sum(block**2) / 2)
    return work


def _ratio(model, theta, work, idx, fisher, prior, n_rounds=3):
    """Return c that makes the largest curvature one in units (c F + lambda)^-1/2."""
    c, v = 30.0, np.random.default_rng(0).standard_normal(theta.size)
    for _ in range(n_rounds):
        unit = 1.0 / np.sqrt(c * fisher + prior)
        value, v = _largest_curvature(model, theta, work, idx, unit, v)
        c = max(1.0, c * value)
    return c


def _largest_curvature(model, theta, work, idx, unit, v, n_iter=8):
    """Return the Hessian's largest eigenvalue in these units, and its eigenvector.

    By power iteration on differences of gradients, from `v`.
    """
    scale = n_rows(model) / idx.size
    ahead, behind = np.empty_like(theta), np.empty_like(theta)
    for _ in range(n_iter):
        v = v / np.linalg.norm(v)
        width = 1e-2 * math.sqrt(v.size)  # a hundredth of a unit for each weight
        for side, out in ((width, ahead), (-width, behind)):
            moved = (theta + side * unit * v).astype(theta.dtype)
            rows_gradient(model, work, moved, idx, scale, out)
        v = unit * (behind.astype(float) - ahead) / (2 * width)
    return np.linalg.norm(v), v


def _gradient_variance(model, theta, work, batch_size, rng):
    """Return the variance of minibatch gradients at theta, (d,)."""
    n, total = n_rows(model), np.zeros(theta.size)
    if batch_size < n:
        pair = np.empty((2, theta.size), theta.dtype)
        for _ in range(PILOT_PAIRS):
            for out in pair:
                idx = rng.choice(n, batch_size, replace=False).astype(INDEX)
                rows_gradient(model, work, theta, idx, n / batch_size, out)
            total += 0.5 * (pair[0].astype(float) - pair[1]) ** 2 / PILOT_PAIRS
    return total
