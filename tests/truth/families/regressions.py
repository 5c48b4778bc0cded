"""Regressions of counts and of numbers, with their likelihood as it is."""

import numpy as np

from skbayes_sg import SGMCMCLinearRegression, SGMCMCPoissonRegressor
from skbayes_sg.utils._design import far_centers
from tests.truth.densities import Numeric
from tests.truth.references import exact

VAGUE = 1e-3  # shape and rate of the prior of the noise's precision


class Regressions:
    """All coefficients are compared, and the noise of numbers."""

    samplers = {"sgld-lm": 2, "baoab": 2, "badodab": 2, "sgld": 1}
    gradients = {"auto": 3, "full": 1, "cv": 1}

    def choices(self, problem, names):
        return names

    def fit(self, problem, sampler, gradient, seed):
        options = {**problem.options, "sampler": sampler, "gradient": gradient}
        estimator = self.estimator(random_state=seed, **options)
        return estimator.fit(problem.X, problem.y).samples_

    def prior(self, problem, thetas):
        """Return log p of coefficients and intercept, the last one, (m,)."""
        options = problem.options
        squares = np.sum(thetas[:, :-1] ** 2, axis=1) / options["prior_variance"]
        return -0.5 * (squares + thetas[:, -1] ** 2 / options["intercept_variance"])

    def design(self, problem):
        """Return the rows, all of whose columns are near zero, and an intercept's."""
        assert not far_centers(problem.X, None).size
        return np.column_stack([problem.X, np.ones(len(problem.X))])


class Counts(Regressions):
    """Poisson regression; the intercept is about the logarithm of the mean."""

    estimator = SGMCMCPoissonRegressor

    def reference(self, problem, rng):
        A, y, rate = self.design(problem), problem.y, np.log(problem.y.mean())

        def log(thetas):
            with np.errstate(over="ignore"):
                eta = thetas @ A.T + rate
                value = eta @ y - np.exp(eta).sum(axis=1)
            return value + self.prior(problem, thetas)

        def recorded(thetas):
            thetas = thetas.copy()
            thetas[:, -1] += rate
            return thetas

        return exact(Numeric(log, A.shape[1], len(y)), rng, recorded)


class Numbers(Regressions):
    """Linear regression of standardized y with noise of unknown precision."""

    estimator = SGMCMCLinearRegression

    def reference(self, problem, rng):
        A, y = self.design(problem), problem.y
        center, scale = y.mean(), y.std()
        z, d = (y - center) / scale, A.shape[1]

        def log(thetas):
            t = thetas[:, -1]
            squares = np.sum((z - thetas[:, :-1] @ A.T) ** 2, axis=1)
            with np.errstate(over="ignore"):
                value = 0.5 * (len(z) * t - np.exp(t) * squares)
                value += VAGUE * (t - np.exp(t))
            return value + self.prior(problem, thetas[:, :-1])

        def recorded(thetas):
            out = scale * thetas
            out[:, d - 1] += center
            out[:, -1] = scale * np.exp(-0.5 * thetas[:, -1])
            return out

        beta = np.linalg.lstsq(A, z)[0]
        noise = -np.log(np.mean((z - A @ beta) ** 2))
        start = np.append(beta, noise)
        return exact(Numeric(log, d + 1, len(z), start), rng, recorded)
