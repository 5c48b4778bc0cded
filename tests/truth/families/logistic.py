"""Logistic regression of two or more classes."""

import numpy as np
import scipy.sparse as sp
from sklearn.utils.class_weight import compute_sample_weight

from skbayes_sg import (
    SGHMCLogisticRegression,
    SGLDLogisticRegression,
    SGMCMCLogisticRegression,
    SGNHTLogisticRegression,
)
from skbayes_sg.utils._design import far_centers
from tests.truth.densities import GLM
from tests.truth.references import exact

FEW_ROWS, FEW_COLUMNS = 300, 10  # up to which Riemannian samplers take seconds


class LogisticFamily:
    """Logistic regression of two or more classes; all coefficients are compared."""

    # The classes' own samplers first. Others, whose compilation takes longer than their
    # fits, come less often, and the slow Riemannian ones only where rows are few.
    samplers = {
        **{"sgld-lm": 8, "baoab": 8, "badodab": 8},
        **{"sgld": 2, "sghmc": 2, "sgnht": 2, "hmc": 2, "mala": 2, "psgld": 1},
        **{"sgrhmc": 0.3, "sgrld": 0.3, "sgrld-dense": 0.3},
    }
    gradients = {"auto": 6, "full": 1, "cv": 2, "minibatch": 1, "weighted-cv": 1}
    classes = {
        "sgld-lm": SGLDLogisticRegression,
        "baoab": SGHMCLogisticRegression,
        "badodab": SGNHTLogisticRegression,
    }

    def choices(self, problem, names):
        """Return the samplers or gradients that suit a problem, with their weights."""
        plain = problem.X.dtype == np.float64 and not sp.issparse(problem.X)
        if names is self.gradients:
            return names
        if not plain or len(set(problem.y)) > 2:
            return {name: names[name] for name in self.classes}
        n, p = problem.X.shape
        few = n < FEW_ROWS and p <= FEW_COLUMNS
        return {n: w for n, w in names.items() if few or not n.startswith("sgr")}

    def fit(self, problem, sampler, gradient, seed):
        if sampler in ("hmc", "mala"):
            gradient = "full"
        options = {"gradient": gradient, "random_state": seed, **problem.options}
        # The references know one variance for all.
        options["intercept_variance"] = options.get("prior_variance", 10.0)
        if sampler in self.classes:
            estimator = self.classes[sampler](**options)
        else:
            estimator = SGMCMCLogisticRegression(sampler=sampler, **options)
        estimator.fit(problem.X, problem.y, problem.sample_weight)
        return estimator.samples_

    def reference(self, problem, rng):
        options = problem.options
        weights = problem.sample_weight
        if options.get("class_weight") is not None:
            by_class = compute_sample_weight(options["class_weight"], problem.y)
            weights = by_class if weights is None else weights * by_class
        X = problem.X.toarray() if sp.issparse(problem.X) else problem.X
        A, center = X.astype(float), np.empty(0)
        if options.get("fit_intercept", True):
            center = far_centers(problem.X, weights)
            A = A - center if center.size else A
            A = np.column_stack([A, np.ones(len(A))])
        classes, codes = np.unique(problem.y, return_inverse=True)
        K = 1 if len(classes) == 2 else len(classes)
        variance = options.get("prior_variance", 10.0)

        def uncentered(theta):
            if not center.size:
                return theta
            theta = theta.reshape(len(theta), K, -1).copy()
            theta[..., -1] -= theta[..., :-1] @ center
            return theta.reshape(len(theta), -1)

        return reduced(A, codes, weights, 1.0 / variance, K, rng, uncentered)


def reduced(A, codes, weights, precision, K, rng, last=lambda theta: theta):
    """Return the reference of a GLM, of whose directions the data may see only some.

    With fewer rows than columns, theta = Q a + b: the data speak of a alone, and b,
    orthogonal to all rows, keeps its prior. `last` is done to theta at the end.
    """
    n, p = A.shape
    if n >= p:
        return exact(GLM(A, codes, weights, precision, K), rng, last)
    Q = np.linalg.qr(A.T)[0]  # (p, n)

    def transform(a):
        a = a.reshape(len(a), K, n)
        b = rng.standard_normal((len(a), K, p)) / np.sqrt(precision)
        return last((a @ Q.T + b - b @ Q @ Q.T).reshape(len(a), K * p))

    return exact(GLM(A @ Q, codes, weights, precision, K), rng, transform)
