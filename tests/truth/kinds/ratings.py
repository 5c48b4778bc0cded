"""Kinds of few ratings, all users and items rated."""

import numpy as np

from tests.truth.problems import Problem


def ratings(rng, noise_dof=None, **options):
    users, items = rng.integers(5, 10), rng.integers(4, 8)
    d = int(rng.integers(1, 3))
    pairs = np.stack(np.divmod(rng.permutation(users * items), items), axis=1)
    n = int(len(pairs) * rng.uniform(0.6, 0.9))
    # Each user and each item is rated once at least.
    cover = [(u % users, u % items) for u in range(max(users, items))]
    X = np.unique(np.concatenate([pairs[:n], cover]), axis=0)
    X = X[rng.permutation(len(X))]
    U, V = rng.standard_normal((users, d)), rng.standard_normal((items, d))
    y = (
        3.0
        + np.sum(U[X[:, 0]] * V[X[:, 1]], axis=1)
        + 0.7 * rng.standard_normal(len(X))
    )
    options |= {"n_factors": d, "noise_dof": noise_dof}
    options["n_draws"] = int(rng.choice([100, 1000]))
    return Problem("ratings", X, y, options)


def known_noise(rng):
    return ratings(rng, noise_precision=2.0)


def own_noise(rng):
    return ratings(rng, noise_dof=10.0)


KINDS = {
    "ratings": ratings,
    "ratings, known noise": known_noise,
    "ratings, own noise": own_noise,
}
