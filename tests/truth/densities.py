"""Log posterior densities in plain numpy, for many parameter vectors at once."""

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

ELEMENTS = 2**18  # predictors held at a time, which stay in cache


class GLM:
    """Logistic regression (K = 1) or softmax regression of K classes, by design A.

    The prior is N(0, 1 / precision) for all K * p parameters; theta is (K, p) by rows.
    """

    def __init__(self, A, y, weights, precision, n_outputs=1):
        self.A, self.precision, self.K = np.asarray(A, float), precision, n_outputs
        self.y = np.asarray(y)
        n, p = self.A.shape
        self.weights = np.ones(n) if weights is None else np.asarray(weights, float)
        self.dim, self.cost = n_outputs * p, n * n_outputs
        classes = np.arange(1, 2) if n_outputs == 1 else np.arange(n_outputs)
        self.targets = (self.y[:, None] == classes).astype(float)  # (N, K)
        self.linear = ((self.targets * self.weights[:, None]).T @ self.A).ravel()

    def log(self, thetas):
        """Return log p of (m, d) thetas, up to a constant."""
        out = thetas @ self.linear - 0.5 * self.precision * np.sum(thetas**2, axis=1)
        size = max(1, ELEMENTS // self.cost)
        for first in range(0, len(thetas), size):
            block = slice(first, first + size)
            out[block] -= self._normalisers(thetas[block]) @ self.weights
        return out

    def _normalisers(self, thetas):
        """Return log(1 + e^eta) or log sum_k e^eta_k of all rows, (m, N)."""
        m, p = len(thetas), self.A.shape[1]
        if self.K == 1:
            eta = thetas @ self.A.T
            return np.maximum(eta, 0.0) + np.log1p(np.exp(-np.abs(eta)))
        eta = (thetas.reshape(m * self.K, p) @ self.A.T).reshape(m, self.K, -1)
        top = eta.max(axis=1)
        return top + np.log(np.exp(eta - top[:, None]).sum(axis=1))

    def derivatives(self, theta):
        """Return log p, its gradient and minus its Hessian."""
        eta = self.A @ theta.reshape(self.K, -1).T
        p = expit(eta) if self.K == 1 else softmax(eta, axis=1)
        w = self.weights[:, None]
        g = (w * (self.targets - p)).T @ self.A
        H = np.eye(self.dim) * self.precision
        size = self.A.shape[1]
        for k in range(self.K):
            for j in range(self.K):
                same = p[:, k] if k == j else 0.0
                factor = self.weights * (same - p[:, k] * p[:, j])
                block = self.A.T @ (factor[:, None] * self.A)
                H[k * size : (k + 1) * size, j * size : (j + 1) * size] += block
        return self.log(theta[None])[0], g.ravel() - self.precision * theta, H

    def laplace(self):
        """Return the mode and the covariance of the Gaussian there, by Newton."""
        theta = np.zeros(self.dim)
        value, g, H = self.derivatives(theta)
        for _ in range(200):
            step = np.linalg.solve(H, g)
            size = 1.0
            while size > 1e-12 and not self._improves(theta + size * step, value):
                size /= 2
            theta = theta + size * step
            if g @ step < 1e-10:
                break
            value, g, H = self.derivatives(theta)
        return theta, np.linalg.inv(H)

    def _improves(self, theta, value):
        return self.log(theta[None])[0] > value


class Numeric:
    """A density given by a function of (m, d) thetas; the mode is found numerically."""

    def __init__(self, log, dim, cost, start=None):
        self.log, self.dim, self.cost = log, dim, cost
        self.start = np.zeros(dim) if start is None else start

    def laplace(self):
        """Return the mode and a covariance from central second differences."""

        def negative(theta):
            return -self.log(theta[None])[0]

        mode = minimize(negative, self.start, method="BFGS").x
        mode = minimize(negative, mode, method="Nelder-Mead").x
        e = 1e-3 * np.eye(self.dim)
        H = np.array([[self._second(mode, a, b) for a in e] for b in e]) / 1e-6
        values, vectors = np.linalg.eigh((H + H.T) / 2)
        return mode, (vectors / np.maximum(values, 1e-3 * values[-1])) @ vectors.T

    def _second(self, mode, a, b):
        at = np.stack([mode + a + b, mode + a - b, mode - a + b, mode - a - b])
        pp, pm, mp, mm = self.log(at)
        return -(pp - pm - mp + mm) / 4
