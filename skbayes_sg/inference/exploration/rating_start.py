"""Where chains of a matrix factorization start: random factors, and their noise."""

import numpy as np

from skbayes_sg.kernels.models.matrix_factorization_rows import n_theta_rows, width
from skbayes_sg.kernels.protocol.model import init_work

NOISE_ROUNDS = 3  # of conditional means, from which the noise starts
ENOUGH = 1_000_000  # ratings at which the noise looks, at most twice as many


def random_start(model, rng):
    """Return a recorded draw with factors from the prior's start and no biases."""
    n, q = n_theta_rows(model), width(model)
    work = init_work(model)
    rows = rng.standard_normal((n, q)) / np.sqrt(
        np.repeat(work.hyper[:, 1], np.diff(model.firsts), axis=0)
    )
    rows[:, model.n_factors :] = 0.0
    parts = (rows, work.hyper, work.noise, work.links)
    return np.concatenate([part.ravel() for part in parts]).astype(model.y.dtype)


def with_noise(model):
    """Return the model with its noise starting where ratings without factors put it.

    A rating far out would drag its factors along before the noise of its user and its
    item has grown. Conditional means, in turn.
    """
    some = slice(None, None, max(1, model.y.size // ENOUGH))
    n, users, items = model.n_users, *model.pairs[some, :2].T
    alpha, rate, learns, dof, own, unobserved = model.noise
    if unobserved > 0.0:
        return model
    y, own = model.y[some].astype(np.float64), own.astype(np.float64)
    weights = model.weights[some] if model.weights.size else np.ones(y.size)
    squares = weights * y**2
    item_rows = slice(n, n + model.n_items)
    sides = (users, items, slice(n)), (items, users, item_rows)
    for _ in range(NOISE_ROUNDS):
        for code, other, here in sides:
            if dof > 0.0:
                total = np.bincount(code, own[other] * squares, own.size)[here]
                count = np.bincount(code, weights, own.size)[here]
                own[here] = (dof + count) / (dof + alpha * total)
            if learns:
                total = np.sum(own[users] * own[items] * squares)
                alpha = (2.0 + weights.sum()) / (2.0 * rate + total)
    noise = model.noise._replace(precision=float(alpha), own=own.astype(model.y.dtype))
    return model._replace(noise=noise)
