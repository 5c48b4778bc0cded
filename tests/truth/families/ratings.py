"""Matrix factorization of few ratings, against Gibbs sampling."""

import numpy as np

from skbayes_sg import SGBPMFRecommender
from tests.decomposition.gibbs import Gibbs
from tests.truth.references import from_chains

CHAINS, BURN_IN, SWEEPS = 12, 100, 300


class Ratings:
    """Mean ratings of some pairs are compared; factors themselves may turn."""

    samplers = {"default": 3, "sgld-lm": 1, "badodab": 1}
    gradients = {"auto": 3, "minibatch": 1}

    def choices(self, problem, names):
        return names

    def fit(self, problem, sampler, gradient, seed):
        options = {**problem.options, "gradient": gradient, "random_state": seed}
        if sampler != "default":
            options["sampler"] = sampler
        estimator = SGBPMFRecommender(**options).fit(problem.X, problem.y)
        users, items = problem.X.max(axis=0) + 1
        q = estimator.n_factors + 1
        rows = estimator.samples_[..., : (users + items) * q].astype(float)
        rows = rows.reshape(*rows.shape[:2], users + items, q)
        return _signals(problem, rows[..., :users, :], rows[..., users:, :])

    def reference(self, problem, rng):
        options, y, d = problem.options, problem.y, problem.options["n_factors"]
        precision, draws = options.get("noise_precision"), []
        rate = 0.1 * np.array([y.std()] * d + [y.var()])
        for _ in range(CHAINS):
            chain = Gibbs(
                *problem.X.T,
                y,
                d,
                rate=rate,
                dof=options["noise_dof"] or 0.0,
                noise_precision=precision,
                seed=rng.integers(2**31),
            )
            states = [self._sweep(chain) for _ in range(BURN_IN + SWEEPS)][BURN_IN:]
            draws.append([_signals(problem, *rows) for rows in states])
        return from_chains(np.array(draws), "gibbs")

    def _sweep(self, chain):
        chain.sweep()
        return [rows.copy() for rows in chain.rows]


def _signals(problem, users, items):
    """Return U_i . V_j + b_i + c_j of the first pairs, known to the fit."""
    i, j = problem.X[:8].T
    u, v = users[..., i, :], items[..., j, :]
    return np.sum(u[..., :-1] * v[..., :-1], axis=-1) + u[..., -1] + v[..., -1]
