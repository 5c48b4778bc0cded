"""Networks small enough for importance sampling, with their likelihood as it is."""

import numpy as np

from skbayes_sg import (
    SGHMCClassifierMLP,
    SGHMCRegressorMLP,
    SGLDClassifierMLP,
    SGLDRegressorMLP,
    SGNHTClassifierMLP,
    SGNHTRegressorMLP,
)
from skbayes_sg.neural_network._regressor import NOISE_RATE, NOISE_SHAPE
from tests.truth.densities import GLM, Numeric
from tests.truth.references import exact


class Networks:
    """Networks of the classes' own samplers, at temperature 1."""

    samplers = {"sgld-lm": 1, "baoab": 2, "badodab": 1}
    gradients = {"minibatch": 3, "cv": 1}

    def choices(self, problem, names):
        if names is self.gradients and problem.options["hidden_layer_sizes"]:
            return {"minibatch": 1}  # control variates are for one mode
        return names

    def fit(self, problem, sampler, gradient, seed):
        options = {**problem.options, "gradient": gradient, "random_state": seed}
        estimator = self.classes[sampler](temperature=1.0, **options)
        estimator.fit(problem.X, problem.y, problem.sample_weight)
        return self.quantities(problem, estimator)


class ClassNetworks(Networks):
    """Softmax regression as a network without hidden units; weights are compared.

    Learned precisions make tails heavy: the mean over K classes of p weights, of which
    the data say nothing, has a Student t law of 2 + p (K - 1) degrees of freedom, 3 for
    the biases of two classes. Standard errors of an sd need fourth moments, so weights
    are compared after `with_moments` there.
    """

    classes = {
        "sgld-lm": SGLDClassifierMLP,
        "baoab": SGHMCClassifierMLP,
        "badodab": SGNHTClassifierMLP,
    }

    def quantities(self, problem, estimator):
        p, K = problem.X.shape[1], len(estimator.classes_)
        draws = estimator.samples_[..., : (p + 1) * K].astype(float)
        by_class = np.moveaxis(draws.reshape(*draws.shape[:2], p + 1, K), 2, 3)
        if problem.options["weight_precision"] == "gamma":
            by_class = with_moments(by_class)
        return by_class.reshape(*draws.shape[:2], -1)

    def reference(self, problem, rng):
        X = np.asarray(problem.X, np.float32).astype(float)
        A, K = np.column_stack([X, np.ones(len(X))]), len(set(problem.y))
        precision = problem.options["weight_precision"]
        glm = GLM(A, problem.y, None, 0.0 if precision == "gamma" else precision, K)
        if precision != "gamma":
            return exact(glm, rng)

        def log(thetas):
            blocks = thetas.reshape(len(thetas), K, -1)
            return glm.log(thetas) + _learned(blocks[:, :, :-1], blocks[:, :, -1])

        def transform(thetas):
            return with_moments(thetas.reshape(len(thetas), K, -1)).reshape(
                len(thetas), -1
            )

        return exact(Numeric(log, glm.dim, glm.cost), rng, transform)


class NumberNetworks(Networks):
    """Regression with noise of unknown precision; predictions and noise are compared.

    Without hidden units or with one unit of tanh, whose sign is arbitrary and does not
    show in predictions.
    """

    classes = {
        "sgld-lm": SGLDRegressorMLP,
        "baoab": SGHMCRegressorMLP,
        "badodab": SGNHTRegressorMLP,
    }

    def quantities(self, problem, estimator):
        p, hidden = problem.X.shape[1], problem.options["hidden_layer_sizes"]
        draws = estimator.samples_[..., : (p + 4 if hidden else p + 2)].astype(float)
        return _predictions(problem, draws)

    def reference(self, problem, rng):
        X = np.asarray(problem.X, np.float32).astype(float)
        y = ((problem.y - problem.y.mean()) / problem.y.std()).astype(np.float32)
        precision = problem.options["weight_precision"]
        hidden = bool(problem.options["hidden_layer_sizes"])

        def log(thetas):
            t = thetas[:, -1]
            residual = y - _outputs(thetas, X, hidden)
            squares = np.sum(residual**2, axis=1)
            prior = -0.5 * precision * np.sum(thetas[:, :-1] ** 2, axis=1)
            noise = NOISE_SHAPE * t - NOISE_RATE * np.exp(t)
            return prior + 0.5 * (len(y) * t - np.exp(t) * squares) + noise

        p = X.shape[1]
        d = p + 4 if hidden else p + 2
        density = Numeric(log, d, len(y), 0.5 * rng.standard_normal(d))
        return exact(density, rng, lambda thetas: _predictions(problem, thetas))


def with_moments(weights):
    """Return (..., K + 1, p) quantities that have all moments, of (..., K, p) weights.

    They are differences from the mean over classes, and the mean, on the scale of
    asinh: that is linear up to the prior's scale, which is one, and a logarithm beyond.
    """
    mean = weights.mean(axis=-2, keepdims=True)
    return np.arcsinh(np.concatenate([weights - mean, mean], axis=-2))


def _outputs(thetas, X, hidden):
    """Return outputs (..., N) of networks with one tanh unit, or none."""
    p = X.shape[1]
    z = thetas[..., :p] @ X.T + thetas[..., p : p + 1]
    if hidden:
        z = np.tanh(z) * thetas[..., p + 1 : p + 2] + thetas[..., p + 2 : p + 3]
    return z


def _predictions(problem, thetas):
    """Return standardized predictions at the first rows, and log noise precisions."""
    X = np.asarray(problem.X[:6], float)
    outputs = _outputs(thetas, X, bool(problem.options["hidden_layer_sizes"]))
    return np.concatenate([outputs, thetas[..., -1:]], axis=-1)


def _learned(weights, biases):
    """Return the log prior of (m, ...) blocks with Gamma(1, 1) precisions."""
    total = 0.0
    for block in (weights, biases):
        flat = block.reshape(len(block), -1)
        squares = np.sum(flat**2, axis=1)
        total = total - (1 + flat.shape[1] / 2) * np.log1p(squares / 2)
    return total
