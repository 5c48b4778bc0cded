"""Sweeps draw the rows of users and of items from their conditionals."""

from itertools import pairwise

import numpy as np
import pytest

from skbayes_sg.inference.exploration.rating_sweeps import sides_of
from skbayes_sg.kernels.models.matrix_factorization_rows import width
from skbayes_sg.kernels.models.matrix_factorization_sweeps import draw_others, draw_rows
from skbayes_sg.kernels.protocol.model import init_work
from tests.kernels.test_matrix_factorization import (
    KINDS,
    N_ITEMS,
    N_USERS,
    factorization,
    random_theta,
    random_work,
)

N_DRAWS = 500


def conditional(model, work, x, side, row):
    """Return mean and precision of a row given all else, in plain numpy."""
    d, q, pairs = model.n_factors, x.shape[1], model.pairs
    precision = np.diag(work.hyper[side, 1])
    linear = work.hyper[side, 1] * work.mean[row]
    for k in np.flatnonzero(pairs[:, side] == row):
        i, j = pairs[k, 0], pairs[k, 1]
        other = x[pairs[k, 1 - side]]
        w = work.noise[0] * work.noise[1 + i] * work.noise[1 + j]
        w *= model.weights[k] if model.weights.size else 1.0
        v = np.append(other[:d], np.ones(q - d))
        precision = precision + w * np.outer(v, v)
        linear = linear + w * (model.y[k] - other[d:].sum()) * v
    return np.linalg.solve(precision, linear), precision


@pytest.mark.parametrize("kind", ["plain", "biases", "features"])
def test_rows_have_their_conditional_laws(kind):
    # Standardized draws have mean 0 and variance 1, within 5 Monte Carlo errors of
    # 500 draws: for users given where items start, for items given the users drawn.
    model, scores = factorization(**KINDS[kind]), []
    rng, start = np.random.default_rng(0), random_theta(model)
    sides = sides_of(model)
    for _ in range(N_DRAWS):
        work, theta, before = random_work(model), start.copy(), random_work(model)
        for side, (first, last) in enumerate(pairwise(model.firsts)):
            draw_rows(model, work, theta, side, sides[side], first, last, rng)
        draw_others(model, work, theta, rng)
        x, known = theta.reshape(-1, width(model)), start.reshape(-1, width(model))
        at_users = np.concatenate([x[:N_USERS], known[N_USERS:]])
        for row in range(N_USERS + N_ITEMS):
            side = int(row >= N_USERS)
            given = x if side else at_users
            mean, precision = conditional(model, before, given, side, row)
            scores.append(np.linalg.cholesky(precision).T @ (x[row] - mean))
    z = np.reshape(scores, (N_DRAWS, -1))
    assert np.all(np.abs(z.mean(axis=0)) < 5 / np.sqrt(N_DRAWS))
    assert np.all(np.abs(z.var(axis=0) - 1) < 5 * np.sqrt(2 / N_DRAWS))
    assert not np.array_equal(work.hyper, init_work(model).hyper)
