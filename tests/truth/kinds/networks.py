"""Kinds of data for networks whose exact posterior can be had."""

import numpy as np

from tests.truth.kinds.logistic import labels, normal
from tests.truth.problems import Problem

N_DRAWS = (100, 400)  # the default, and more, which see smaller errors


def classes(rng, precisions=(0.1, 1.0, 10.0)):
    X, K = normal(rng, (30, 300), (1, 4)), rng.integers(2, 4)
    y = labels(X, rng, 2.0, n_classes=K)
    return Problem("class networks", X, y, _options(rng, precisions))


def learned_precision(rng):
    return classes(rng, ("gamma",))


def minibatches(rng):
    X = normal(rng, (1_000, 3_000), (1, 3))
    options = _options(rng, (0.1, 1.0))
    return Problem("class networks", X, labels(X, rng), options)


def numbers(rng):
    X = normal(rng, (20, 300), (1, 5))
    y = X @ rng.standard_normal(X.shape[1]) + rng.standard_normal(len(X))
    return Problem("number networks", X, y, _options(rng, (0.1, 1.0, 10.0)))


def hidden_unit(rng):
    X = normal(rng, (50, 300), (1, 3))
    B = rng.standard_normal(X.shape[1])
    y = np.tanh(2 * X @ B / np.linalg.norm(B)) + 0.2 * rng.standard_normal(len(X))
    return Problem("number networks", X, y, _options(rng, (0.3, 1.0), (1,)))


def _options(rng, precisions, hidden=()):
    precision = rng.choice(np.array(precisions, object))
    return {
        "hidden_layer_sizes": hidden,
        "activation": "tanh",
        "weight_precision": precision,
        "n_draws": int(rng.choice(N_DRAWS)),
    }


KINDS = {
    "network, classes": classes,
    "network, learned precision": learned_precision,
    "network, minibatches": minibatches,
    "network, numbers": numbers,
    "network, hidden unit": hidden_unit,
}
