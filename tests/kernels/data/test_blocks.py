"""Blocks of rows: the same posterior, unbiased, with the variance of single rows."""

from itertools import combinations

import numba
import numpy as np
import pytest
import scipy.sparse

from skbayes_sg.kernels.capabilities.row_blocks import in_blocks, rows_per_term
from skbayes_sg.kernels.data import blocks
from skbayes_sg.kernels.data.blocks import RowBlocks, as_blocks, padded
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import OPTIONS, for_kernels
from skbayes_sg.kernels.gradients import ControlVariate, Minibatch, blocked
from skbayes_sg.kernels.gradients.blocked import Blocked
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.numerics.lanes import (
    GROUP,
    LINE,
    add_lanes,
    copy_lanes,
    dot_lanes,
)
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    init_work,
    n_parameters,
    n_rows,
)
from skbayes_sg.utils._design import design_rows
from tests.kernels.examples import FAMILIES, glm
from tests.kernels.test_gradients import Chain, expectation, full_gradient, theta_of

N = 45  # six blocks of float64, the last of five rows


@pytest.fixture
def always(monkeypatch):
    """Blocks for any data and minibatch."""
    monkeypatch.setattr(blocks, "MIN_BLOCKS", 0)
    monkeypatch.setattr(blocked, "MIN_BLOCKS_DRAWN", 0)


def regression(family="logistic", n=N, dtype=np.float64, weighted=False, **settings):
    rng = np.random.default_rng(5)
    example = glm(family, dtype=dtype, intercept=settings.get("intercept", True))
    p = example.rows.shape[1]
    y = rng.permutation(np.resize(example.y, n))
    weights = rng.uniform(0.5, 2, n) if weighted else np.empty(0)
    return for_kernels(
        example._replace(
            rows=rng.normal(size=(n, p)).astype(dtype),
            y=y.astype(dtype),
            weights=weights.astype(dtype),
            **settings,
        )
    )


def large(n=10_000, dtype=np.float64):
    X = np.random.default_rng(0).normal(size=(n, 2)).astype(dtype)
    y = np.zeros(n, dtype)
    return GLM(
        Bernoulli(),
        X,
        y,
        np.empty(0, dtype),
        np.full(X.shape[1] + 1, 0.1, dtype),
        True,
        1,
    )


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("n", [1, 8, 45, 5000])
def test_copies_hold_the_rows_in_order(n, dtype):
    k, rng = LINE // np.dtype(dtype).itemsize, np.random.default_rng(0)
    x, order = rng.normal(size=(n, 3)).astype(dtype), rng.permutation(n)
    for intercept in (False, True):
        data = as_blocks(x, order, intercept).data
        assert data.shape == (-(-n // k), 3 + intercept, k) and data.dtype == dtype
        flat = data.transpose(0, 2, 1).reshape(-1, 3 + intercept)
        np.testing.assert_array_equal(flat[:n, :3], x[order])
        assert (flat[:n, 3:] == 1).all() and (flat[n:] == 0).all()
    np.testing.assert_array_equal(padded(x[:, 0], order, k)[:n], x[order, 0])


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("p", [1, 3, 4, 11])
def test_compiled_lanes_equal_python(p, dtype):
    def products(x, idx, coef, values, eta, taken, out):
        for b in range(idx.size):
            dot_lanes(x, idx[b], coef, eta, b * x.shape[2])
            copy_lanes(values, idx[b], taken, b * x.shape[2])
        add_lanes(x, idx, eta, out)

    k, rng = LINE // np.dtype(dtype).itemsize, np.random.default_rng(0)
    x = rng.normal(size=(30, p, k)).astype(dtype)
    coef, values = (rng.normal(size=size).astype(dtype) for size in (p, 30 * k))
    compiled = numba.njit(products, **OPTIONS)
    for size in (0, 1, GROUP, 2 * GROUP + 3):
        idx = rng.permutation(30)[:size].astype(INDEX)
        results = []
        for function in (products, compiled):
            buffers = [np.zeros(m, dtype) for m in (size * k, size * k, p)]
            function(x, idx, coef, values, *buffers)
            results.append(buffers)
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(a, b, rtol=0, atol=1e4 * np.finfo(dtype).eps)


def check_gradient(model, copy, gradient):
    theta = theta_of(model, 0)
    exact = full_gradient(model, theta)
    tolerance = 1e-12 if theta.dtype == np.float64 else 1e-4
    np.testing.assert_allclose(gradient(copy, theta), exact, 0, tolerance * N)


def shuffled(model):
    return for_kernels(in_blocks(model, np.random.default_rng(0).permutation(N)))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("family", FAMILIES)
def test_blocks_have_the_gradient_of_the_rows(family, dtype, uncompiled):
    for weighted, intercept in ((False, True), (True, False), (True, True)):
        model = regression(family, N, dtype, weighted, intercept=intercept)
        copy = shuffled(model)
        assert n_parameters(copy) == n_parameters(model)
        check_gradient(model, copy, full_gradient)


@pytest.mark.parametrize(
    "family, dtype", [("logistic", np.float64), ("softmax", np.float32)]
)
def test_compiled_gradient_of_blocks(family, dtype):
    model = regression(family, N, dtype, weighted=True)

    def compiled(copy, theta):
        every, out = Minibatch(n_rows(copy)), np.empty((1, theta.size), dtype)
        rng = np.random.default_rng(0)
        memory, work = init_memory(every, copy, theta, rng), init_work(model)
        estimate_gradient(every, memory, copy, work, theta[None], rng, out)
        return out[0]

    check_gradient(model, shuffled(model), compiled)


@pytest.mark.parametrize("family", ["logistic", "softmax"])
@pytest.mark.parametrize("name", ["minibatch", "cv", "weighted-cv", "linear-cv"])
def test_unbiased_over_all_minibatches(name, family, always, uncompiled):
    model = regression(family, weighted=True)
    chain = Chain(name, model, batch_size=16)
    assert isinstance(chain.gradient, Blocked) and n_rows(chain.gradient.copy) == 6
    assert chain.gradient.gradient.batch_size == 2
    theta, memory = theta_of(model, 3), chain.memory.permutation.copy()

    def estimated(rng):
        chain.memory.permutation[:] = memory
        return chain.estimate(theta, rng)

    exact = full_gradient(model, theta)
    least = 1e-4 if name == "linear-cv" else 1e-3  # that it differs by
    assert np.abs(chain.estimate(theta) - exact).max() > least
    np.testing.assert_allclose(expectation(estimated), exact, 1e-12, 1e-12)


def test_all_blocks_are_the_full_gradient(always):
    model = regression()
    theta = theta_of(model, 3)
    for name in ("minibatch", "cv"):
        chain = Chain(name, model, batch_size=N)
        g = chain.estimate(theta)
        np.testing.assert_allclose(g, full_gradient(model, theta), 1e-12, 1e-12)


def test_variance_is_that_of_rows_on_average_over_orders(uncompiled):
    # A minibatch of 2 of 4 blocks, against 16 of 32 rows.
    n, m, rng = 32, 2, np.random.default_rng(1)
    model = regression(n=n)
    theta = theta_of(model, 3)

    def terms(model):
        out = np.zeros((n_rows(model), theta.size))
        for i, g in enumerate(out):
            add_gradient(model, init_work(model), theta, np.array([i], INDEX), 1.0, g)
        return out

    rows = terms(model)
    expected = n**2 / (8 * m) * (1 - 8 * m / n) * rows.var(axis=0, ddof=1)
    variances = []
    for _ in range(400):
        sums = terms(in_blocks(model, rng.permutation(n)))
        pairs = [4 / m * (sums[a] + sums[b]) for a, b in combinations(range(4), m)]
        variances.append(np.var(pairs, axis=0))
    error = np.std(variances, axis=0) / np.sqrt(len(variances))
    assert (np.abs(np.mean(variances, axis=0) - expected) < 4 * error).all()
    assert (error < 0.06 * expected).all()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_where_blocks_are_used(dtype, tmp_path):
    model, k = large(dtype=dtype), LINE // np.dtype(dtype).itemsize
    assert rows_per_term(model) == k
    gradient = prepare(Minibatch(1000), for_kernels(model))
    assert isinstance(gradient, Blocked) and gradient.batch_size == 1000
    assert isinstance(gradient.copy.rows, RowBlocks)
    assert gradient.gradient.batch_size == -(-1000 // k)
    mode = np.zeros(3, dtype)
    assert isinstance(prepare(ControlVariate(1000, mode), for_kernels(model)), Blocked)

    # Too few rows for so many parameters, or in the minibatch.
    assert rows_per_term(large(32 * k * 3 - 1, dtype)) == 1
    few = Minibatch(8 * k - 1)
    assert isinstance(prepare(few, for_kernels(model)), Minibatch)

    # Sparse, memory-mapped and large data are not copied.
    sparse = model._replace(rows=design_rows(scipy.sparse.csr_array(model.rows)))
    np.save(tmp_path / "X.npy", model.rows)
    mapped = model._replace(rows=np.load(tmp_path / "X.npy", mmap_mode="r"))
    for other in (sparse, mapped):
        assert rows_per_term(for_kernels(other)) == 1
        assert isinstance(prepare(Minibatch(1000), for_kernels(other)), Minibatch)


def test_large_data_are_not_copied(monkeypatch):
    monkeypatch.setattr(blocks, "MAX_BYTES", 1000)
    assert rows_per_term(large()) == 1
