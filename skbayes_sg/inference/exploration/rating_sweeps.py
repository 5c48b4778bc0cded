"""Gibbs sweeps that take chains of many ratings to the posterior.

With millions of ratings an iteration of a chain takes as long as all iterations of a
warm-up of few ratings. A handful of sweeps replaces hundreds of iterations there.
"""

from itertools import pairwise

import joblib
import numpy as np

from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.models.matrix_factorization import MatrixFactorization
from skbayes_sg.kernels.models.matrix_factorization_sweeps import (
    Side,
    draw_others,
    draw_rows,
)
from skbayes_sg.kernels.protocol.model import n_rows, theta_of, work_at

MANY = 2_000_000  # ratings
N_SWEEPS = 6
N_PARTS = 8  # of the users and of the items, which threads share


def is_swept(model):
    """Whether chains start by sweeps: for many ratings by labels alone."""
    return type(model) is MatrixFactorization and n_rows(model) > MANY


def sides_of(model):
    """Return the ratings in the order of users, and in that of items."""
    n, sides = n_rows(model), []
    for side, size in enumerate(np.diff(model.firsts)):
        rows = model.pairs[:, side]
        order = np.argsort(rows.astype(np.int64) * n + np.arange(n))
        starts = np.searchsorted(rows[order], model.firsts[side] + np.arange(size + 1))
        sides.append(
            Side(
                others=model.pairs[order, 1 - side],
                y=model.y[order],
                weights=model.weights[order] if model.weights.size else model.weights,
                starts=starts,
            )
        )
    return tuple(for_kernels(side) for side in sides)


def swept(model, draws, seed, n_jobs):
    """Return recorded draws, (n_chains, dim), after a number of sweeps.

    The rows of a side are drawn in parts, each with a generator of its own, so that the
    draws do not depend on the number of threads.
    """
    sides, seeds = sides_of(model), seed.spawn(len(draws))
    with joblib.Parallel(n_jobs, require="sharedmem") as run:
        chains = [
            _swept(model, draw, sides, [*map(np.random.default_rng, own)], run)
            for draw, own in zip(
                draws, (own.spawn(1 + N_PARTS) for own in seeds), strict=True
            )
        ]
    return np.stack(chains)


def _swept(model, draw, sides, rngs, run):
    work, theta = work_at(model, draw), theta_of(model, draw)
    for _ in range(N_SWEEPS):
        for side, rated in enumerate(sides):
            ends = np.linspace(*model.firsts[side : side + 2], N_PARTS + 1).astype(int)
            parts = zip(pairwise(ends.tolist()), rngs[1:], strict=True)
            run(
                joblib.delayed(draw_rows)(model, work, theta, side, rated, *ends, rng)
                for ends, rng in parts
            )
        draw_others(model, work, theta, rngs[0])
    parts = theta, work.hyper, work.noise, work.links
    return np.concatenate([part.ravel() for part in parts])
