"""Gibbs sampling of matrix factorization, one exact conditional after another.

The model of `skbayes_sg.kernels.models.matrix_factorization`, written again in plain
numpy, without features: the reference for what `SGBPMFRecommender` predicts.
"""

import numpy as np


class Gibbs:
    """A chain; `noise_precision` and `dof` fix or free the noise as the estimator."""

    def __init__(
        self, users, items, y, d, *, rate, dof=10.0, noise_precision=None, seed=0
    ):
        self.rng = np.random.default_rng(seed)
        self.codes, self.d, self.dof, self.rate = (users, items), d, dof, rate
        self.mean_rating, self.variance = y.mean(), y.var()
        self.y = y - self.mean_rating
        self.sizes = users.max() + 1, items.max() + 1
        self.learns = noise_precision is None
        self.alpha = 2.0 / self.variance if self.learns else noise_precision
        self.own = [np.ones(n) for n in self.sizes]  # s, t
        self.rows = [0.3 * self.rng.normal(size=(n, d + 1)) for n in self.sizes]
        self.hyper = [np.stack([np.zeros(d + 1), np.ones(d + 1)]) for _ in self.sizes]
        self.places = [
            np.split(np.argsort(code, kind="stable"), np.cumsum(np.bincount(code))[:-1])
            for code in self.codes
        ]

    def sweep(self):
        for side in (0, 1):
            self._draw_hyper(side)
            self._draw_rows(side)
        for side in (0, 1):
            self._draw_noise(side)

    def signal(self, users, items):
        """Return U_i . V_j + b_i + c_j."""
        u, v, d = self.rows[0][users], self.rows[1][items], self.d
        return np.sum(u[:, :d] * v[:, :d], axis=1) + u[:, d] + v[:, d]

    def noise_variance(self, users, items):
        return 1.0 / (self.alpha * self.own[0][users] * self.own[1][items])

    def _draw_hyper(self, side):
        x, n = self.rows[side], self.sizes[side]
        center = x.sum(axis=0) / (n + 1)
        squares = np.sum(x**2, axis=0) - (n + 1) * center**2
        scale = 1.0 / (self.rate + 0.5 * squares)
        inverse = self.rng.gamma(1.0 + 0.5 * n, scale)
        m = center + self.rng.normal(size=center.size) / np.sqrt(inverse * (n + 1))
        self.hyper[side] = np.stack([m, inverse])

    def _draw_rows(self, side):
        m, inverse = self.hyper[side]
        d, other = self.d, 1 - side
        for i, here in enumerate(self.places[side]):
            code = self.codes[other][here]
            x = self.rows[other][code]
            design = np.column_stack([x[:, :d], np.ones(len(here))])
            w = self.alpha * self.own[side][i] * self.own[other][code]
            precision = (design.T * w) @ design + np.diag(inverse)
            linear = (design.T * w) @ (self.y[here] - x[:, d]) + inverse * m
            factor = np.linalg.cholesky(precision)
            z = np.linalg.solve(factor, linear) + self.rng.normal(size=d + 1)
            self.rows[side][i] = np.linalg.solve(factor.T, z)

    def _draw_noise(self, side):
        code, n, half = self.codes[side], self.sizes[side], 0.5 * self.dof
        squares = (self.y - self.signal(*self.codes)) ** 2
        if half:
            squares = squares * self.own[1 - side][self.codes[1 - side]]
            count = np.bincount(code, minlength=n)
            rate = half + 0.5 * self.alpha * np.bincount(code, squares, n)
            self.own[side] = self.rng.gamma(half + 0.5 * count, 1.0 / rate)
            squares = squares * self.own[side][code]
        if self.learns:
            rate = self.variance + 0.5 * squares.sum()
            self.alpha = self.rng.gamma(1.0 + 0.5 * len(self.y), 1.0 / rate)


def gibbs_predictions(chain, pairs, n_burn, n_sweeps):
    """Return mean and standard deviation of the ratings of pairs of codes."""
    total = np.zeros((3, len(pairs)))
    for t in range(n_burn + n_sweeps):
        chain.sweep()
        if t >= n_burn:
            f = chain.signal(*pairs.T)
            total += f, f**2, chain.noise_variance(*pairs.T)
    mean, square, noise = total / n_sweeps
    return chain.mean_rating + mean, np.sqrt(square - mean**2 + noise)
