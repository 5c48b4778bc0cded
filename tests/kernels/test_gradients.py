"""Every gradient estimator: unbiased, exact where it must be, compiled or not."""

import copy
from itertools import product

import numpy as np
import pytest

from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.gradients import GRADIENTS
from skbayes_sg.kernels.minibatch import INDEX
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.ops import (
    add_gradient,
    add_prior_gradient,
    estimate,
    init_memory,
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
    prepare,
    typed,
)
from tests.kernels.examples import glm, small_model

N, BATCH = 6, 2
NAMES = list(GRADIENTS)
MODELS = ["logistic", "softmax", "gaussian"]


class Scripted:
    """A generator that returns the given uniforms, and counts them."""

    def __init__(self, values=()):
        self.values, self.count = values, 0

    def random(self):
        self.count += 1
        return self.values[self.count - 1] if self.count <= len(self.values) else 0.5


def expectation(function):
    """Return E function(rng), exactly.

    `function` depends on each uniform only through the cell that it falls into, between
    two of the `EDGES`.
    """
    middles, widths = (EDGES[1:] + EDGES[:-1]) / 2, np.diff(EDGES)
    trial = Scripted()
    function(trial)
    total = 0.0
    for cells in product(range(middles.size), repeat=trial.count):
        cells = list(cells)
        total += widths[cells].prod() * function(Scripted(middles[cells]))
    return total


# A row out of m = 1, ..., 6 changes where the uniform crosses k / m.
EDGES = np.array(sorted({k / m for m in range(1, N + 1) for k in range(m + 1)}))


def theta_of(model, seed):
    theta = 0.5 * np.random.default_rng(seed).normal(size=n_parameters(model))
    return theta.astype(parameter_dtype(model))


def full_gradient(model, theta):
    """The definition, from the model's two terms."""
    work, out = init_work(model), np.zeros_like(theta)
    add_prior_gradient(model, work, theta, out)
    add_gradient(model, work, theta, np.arange(n_rows(model), dtype=INDEX), 1.0, out)
    return out


def build(name, model, batch_size=BATCH, **settings):
    """Return the named estimator, prepared as `sample` prepares it."""
    kind, n = GRADIENTS[name], n_rows(model)
    if not isinstance(model, GLM) or batch_size < model.n_outputs:
        settings = {
            "weights": np.arange(n) + 1.0,
            "strata": np.arange(n) % 2,
        } | settings
    settings = {"batch_size": batch_size, "mode": theta_of(model, 0)} | settings
    settings = {key: value for key, value in settings.items() if key in kind._fields}
    return typed(prepare(kind(**settings), model))


class Chain:
    """An estimator with the memory of one chain, run without the compiler."""

    def __init__(self, name, model, **settings):
        self.model, self.work = model, init_work(model)
        self.gradient = build(name, model, **settings)
        self.rng = np.random.default_rng(1)
        theta = theta_of(model, 0)
        self.memory = init_memory(self.gradient, model, theta, self.rng)

    def estimate(self, theta, rng=None, memory=None):
        out = np.full_like(theta, np.nan)
        estimate(
            self.gradient,
            self.memory if memory is None else memory,
            self.model,
            self.work,
            theta,
            self.rng if rng is None else rng,
            out,
        )
        return out

    def run(self, n_steps):
        """Give the memory a past."""
        for seed in range(n_steps):
            self.estimate(theta_of(self.model, 10 + seed))
        return self


def moments(chain, theta):
    """Return mean and variance of the estimate at `theta`, by enumeration."""

    def powers(rng):
        g = chain.estimate(theta, rng, copy.deepcopy(chain.memory))
        return np.array([g, g**2])

    mean, square = expectation(powers)
    return mean, square - mean**2


def assert_close(actual, expected, tolerance=1e-12):
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * max(1.0, abs(expected).max())
    )


@pytest.mark.parametrize("n_past", [0, 1, 3])
@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_unbiased_over_all_minibatches(name, model, n_past, uncompiled):
    model = small_model(model, N)
    chain, theta = Chain(name, model).run(n_past), theta_of(model, 1)
    assert_close(moments(chain, theta)[0], full_gradient(model, theta))


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_all_rows_give_the_exact_gradient(name, model, uncompiled):
    model = small_model(model)
    chain, theta = Chain(name, model, batch_size=n_rows(model)), theta_of(model, 1)
    for _ in range(3):
        assert_close(chain.estimate(theta), full_gradient(model, theta))


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_python(name):
    model = small_model("logistic")
    chain = Chain(name, model, batch_size=5)
    thetas = np.array([theta_of(model, seed) for seed in range(6)])
    memory, out = copy.deepcopy(chain.memory), np.empty_like(thetas)
    estimate_gradient(
        chain.gradient, memory, model, chain.work, thetas, copy.deepcopy(chain.rng), out
    )
    for theta, compiled in zip(thetas, out, strict=True):
        assert_close(compiled, chain.estimate(theta))


@pytest.mark.parametrize("name", NAMES)
def test_float32(name, uncompiled):
    single, double = (glm("softmax", dtype=d) for d in (np.float32, np.float64))
    chains = [Chain(name, model, batch_size=7).run(2) for model in (single, double)]
    theta = theta_of(single, 1)
    result = chains[0].estimate(theta)
    assert result.dtype == np.float32
    assert_close(result, chains[1].estimate(theta.astype(np.float64)), 1e-5)


@pytest.mark.parametrize("name", NAMES)
def test_chains_share_no_memory(name, uncompiled):
    model = small_model("logistic")
    one, other = Chain(name, model), Chain(name, model)
    for a in one.memory:
        for b in (*other.memory, *one.gradient):
            assert not (isinstance(b, np.ndarray) and np.shares_memory(a, b))


@pytest.mark.parametrize("model", MODELS)
def test_control_variate_is_exact_at_the_mode(model, uncompiled):
    model = small_model(model)
    chain = Chain("cv", model)
    mode = chain.gradient.mode
    for _ in range(10):
        assert_close(chain.estimate(mode), full_gradient(model, mode))
