"""Every gradient estimator: unbiased, exact where it must be, compiled or not."""

import copy
from itertools import product

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.inference.running import NOISE_EVERY
from skbayes_sg.kernels.capabilities import tables
from skbayes_sg.kernels.capabilities.curvature import add_hessian, add_hessian_diagonal
from skbayes_sg.kernels.capabilities.linearization import add_remainder, linearize
from skbayes_sg.kernels.capabilities.strata import leverages
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import (
    GRADIENTS,
    Minibatch,
    linear_control_variate,
)
from skbayes_sg.kernels.gradients.control_variate import REACH
from skbayes_sg.kernels.gradients.stratified import allocate
from skbayes_sg.kernels.models import GLM, GaussianMean, glm_passes
from skbayes_sg.kernels.protocol.gradient import estimate, init_memory, prepare
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    n_parameters,
    n_rows,
    parameter_dtype,
)
from skbayes_sg.kernels.samplers import SGLD
from tests.kernels.conftest import skip_compiler
from tests.kernels.examples import FAMILIES, glm, small_model

N, BATCH = 6, 2
NAMES = list(GRADIENTS)
MODELS = ["logistic", "softmax", "gaussian", "network"]
# Products with Hessians are differences of gradients there, unless a model has its own.
BY_DIFFERENCES = {"taylor-cv": 1e-6}


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
    return for_kernels(prepare(kind(**settings), model))


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
    tolerance = BY_DIFFERENCES.get(name, 1e-12)
    assert_close(moments(chain, theta)[0], full_gradient(model, theta), tolerance)


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("name", NAMES)
def test_all_rows_give_the_exact_gradient(name, model, uncompiled):
    model = small_model(model)
    chain, theta = Chain(name, model, batch_size=n_rows(model)), theta_of(model, 1)
    tolerance = BY_DIFFERENCES.get(name, 1e-12)
    for _ in range(3):
        assert_close(chain.estimate(theta), full_gradient(model, theta), tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_compiled_equals_python(name, monkeypatch):
    model = small_model("logistic")
    with monkeypatch.context() as patch:  # the passes of `prepare` are tested elsewhere
        skip_compiler(patch)
        chain = Chain(name, model, batch_size=5)
    thetas = np.array([theta_of(model, seed) for seed in range(6)])
    memory, out = copy.deepcopy(chain.memory), np.empty_like(thetas)
    estimate_gradient(
        chain.gradient, memory, model, chain.work, thetas, copy.deepcopy(chain.rng), out
    )
    for theta, compiled in zip(thetas, out, strict=True):
        tolerance = BY_DIFFERENCES.get(name, 1e-12)
        assert_close(compiled, chain.estimate(theta), tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_float32(name, uncompiled):
    single, double = (glm("softmax", dtype=d) for d in (np.float32, np.float64))
    chains = [Chain(name, model, batch_size=7).run(2) for model in (single, double)]
    theta = theta_of(single, 1)
    result = chains[0].estimate(theta)
    assert result.dtype == np.float32
    tolerance = 1e-2 if name in BY_DIFFERENCES else 1e-5
    assert_close(result, chains[1].estimate(theta.astype(np.float64)), tolerance)


@pytest.mark.parametrize("name", NAMES)
def test_chains_share_no_memory(name, uncompiled):
    model = small_model("logistic")
    one, other = Chain(name, model), Chain(name, model)
    for a in one.memory:
        for b in (*other.memory, *one.gradient):
            assert not (isinstance(b, np.ndarray) and np.shares_memory(a, b))


@pytest.mark.parametrize("name", NAMES)
def test_preparing_twice_changes_nothing(name, uncompiled):
    model = small_model("gaussian")
    once = build(name, model)
    twice = for_kernels(prepare(once, model))
    for a, b in zip(flat(once), flat(twice), strict=True):
        np.testing.assert_array_equal(a, b)


def flat(component):
    for value in component:
        if hasattr(value, "_fields"):
            yield from flat(value)
        else:
            yield value


@pytest.mark.parametrize("model", MODELS)
def test_control_variate_is_exact_at_the_mode(model, uncompiled):
    model = small_model(model)
    for name in ("cv", "weighted-cv", "linear-cv", "taylor-cv"):
        chain = Chain(name, model, batch_size=4)
        mode = chain.gradient.mode
        for _ in range(10):
            assert_close(chain.estimate(mode), full_gradient(model, mode))


@pytest.mark.parametrize("name", ["cv", "weighted-cv"])
def test_control_variate_falls_back_beyond_its_reach(name, uncompiled):
    # Beyond `REACH` sqrt(N) posterior sds it is the simple estimate, on the same rows.
    model = small_model("gaussian", N)
    simple = "minibatch" if name == "cv" else "weighted"
    far, near = Chain(name, model), Chain(name, model)
    mode = far.gradient.mode
    direction = np.array([1.0, -2.0, 0.5])
    direction *= REACH * np.sqrt(N / (np.diag(model.precision) @ direction**2))
    expected = Chain(simple, model).estimate(mode + 1.001 * direction)
    assert_close(far.estimate(mode + 1.001 * direction), expected)
    expected = Chain(simple, model).estimate(mode + 0.999 * direction)
    assert abs(near.estimate(mode + 0.999 * direction) - expected).max() > 0.01

    theta = mode + 5 * direction
    assert_close(moments(far, theta)[0], full_gradient(model, theta))


def test_differences_of_a_regression_reach_everywhere(uncompiled):
    model = small_model("logistic", N)
    assert build("cv", model).reach == np.inf
    limited = Chain("cv", model, reach=0.5)
    theta = theta_of(model, 0) + 10.0
    assert_close(limited.estimate(theta), Chain("minibatch", model).estimate(theta))
    for chain in (limited, Chain("cv", model)):
        assert_close(moments(chain, theta)[0], full_gradient(model, theta))


def test_variance_of_the_simple_estimator(uncompiled):
    # (1 - n/N) N^2/n times the variance of the rows' gradients.
    model, theta = small_model("logistic", N), theta_of(small_model("logistic"), 1)
    rows = np.zeros((N, theta.size))
    for i in range(N):
        idx = np.array([i], INDEX)
        add_gradient(model, init_work(model), theta, idx, 1.0, rows[i])
    expected = (1 - BATCH / N) * N**2 / BATCH * rows.var(axis=0, ddof=1)
    assert_close(moments(Chain("minibatch", model), theta)[1], expected)


@pytest.mark.parametrize(
    "name", ["cv", "weighted-cv", "linear-cv", "taylor-cv", "saga", "svrg"]
)
def test_differences_have_less_variance_near_their_anchor(name, uncompiled):
    model = small_model("softmax", N)
    chain, mode = Chain(name, model), theta_of(model, 0)
    chain.estimate(mode)  # an anchor for those that have no mode
    theta = mode + 0.01 * theta_of(model, 1)
    _, variance = moments(chain, theta)
    _, simple = moments(Chain("minibatch", model), theta)
    assert variance.sum() < 1e-3 * simple.sum()


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_linear_functions(name, sparse, uncompiled):
    # At one point, Taylor expansions: the gradient there, and minus the Hessian.
    model = glm(name, sparse=sparse, weighted=True)
    mode, work = theta_of(model, 0), init_work(model)
    linear = linearize(model, mode[None])
    rows, d = np.arange(20, dtype=INDEX), mode.size
    total, matrix = np.zeros(d), np.zeros((d, d))
    add_gradient(model, work, mode, rows, 1.0, total)
    add_hessian(model, work, mode, rows, 1.0, matrix)
    np.testing.assert_array_equal(linear.center, mode)
    assert_close(linear.total, total)
    assert_close(linear.matrix, matrix)
    assert not linear.sizes.any()

    # Over several, means of these; and what a row has more than its own function.
    draws = mode + 0.3 * np.random.default_rng(3).normal(size=(5, d))
    several = linearize(model, draws)
    each = [linearize(model, theta[None]) for theta in draws]
    assert_close(several.center, draws.mean(axis=0))
    assert_close(several.total, np.mean([one.total for one in each], axis=0))
    assert_close(several.matrix, np.mean([one.matrix for one in each], axis=0))
    theta, i = theta_of(model, 1), rows[7:8]
    rest, own, slope = np.zeros(d), np.zeros(d), np.zeros((d, d))
    add_remainder(model, work, theta, several.table, i, np.array([2.0]), rest)
    add_gradient(model, work, theta, i, 1.0, own)
    for draw in draws:
        add_gradient(model, work, draw, i, -0.2, own)
        add_hessian(model, work, draw, i, 0.2, slope)
    assert_close(rest, 2.0 * (own + slope @ (theta - several.center)))


def test_linear_functions_leave_nothing_of_a_linear_model(uncompiled):
    model = small_model("linear", N)
    theta = theta_of(model, 1) + 10.0
    for draws in (None, theta_of(model, 2)[None] + np.eye(4)):
        chain = Chain("linear-cv", model, draws=draws)
        for _ in range(5):
            assert_close(chain.estimate(theta), full_gradient(model, theta))


def test_linear_functions_leave_little_to_the_minibatch(uncompiled):
    # Around draws that scatter by s, differences are of order s and rests of s^2.
    model, rng = small_model("logistic", 100), np.random.default_rng(0)
    mode, variance = theta_of(model, 0), {}
    for name in ("weighted-cv", "linear-cv"):
        for s in (0.02, 0.2):
            draws = mode + s * rng.normal(size=(40, mode.size))
            chain = Chain(name, model, batch_size=30, draws=draws[::2])
            errors = [chain.estimate(t) - full_gradient(model, t) for t in draws[1::2]]
            variance[name, s] = np.mean(np.square(errors))
    assert variance["linear-cv", 0.2] < 0.05 * variance["weighted-cv", 0.2]
    assert variance["linear-cv", 0.02] < 5e-4 * variance["weighted-cv", 0.02]


def test_models_without_linear_functions_get_differences(monkeypatch, uncompiled):
    network = build("linear-cv", small_model("network", N))
    assert isinstance(network, GRADIENTS["weighted-cv"])
    monkeypatch.setattr(linear_control_variate, "MAX_PARAMETERS", 3)
    regression = build("linear-cv", small_model("logistic"))
    assert isinstance(regression, GRADIENTS["weighted-cv"])


@pytest.mark.parametrize(("name", "n_numbers"), [("logistic", 2), ("softmax", 12)])
def test_the_table_of_linear_functions_is_bounded(
    name, n_numbers, monkeypatch, uncompiled
):
    model, n_bytes = small_model(name), 20 * 8 * n_numbers
    for limit, kind in ((n_bytes, "linear-cv"), (n_bytes - 1, "weighted-cv")):
        monkeypatch.setattr(glm_passes, "MAX_LINEAR_BYTES", limit)
        assert isinstance(build("linear-cv", model, batch_size=5), GRADIENTS[kind])


def test_saga_remembers_where_each_row_was_seen(uncompiled):
    for name in MODELS:
        model = small_model(name, N)
        chain, last = Chain("saga", model), {}
        for seed in range(30):
            theta = theta_of(model, seed)
            chain.estimate(theta)
            seen = range(N) if seed == 0 else chain.memory.permutation[:BATCH]
            last |= {i: theta for i in seen}
        total = np.zeros(theta.size)
        for i, theta in last.items():
            idx = np.array([i], INDEX)
            add_gradient(model, chain.work, theta, idx, 1.0, total)
        assert_close(chain.memory.total, total)


def test_saga_table_is_bounded(monkeypatch, uncompiled):
    model = small_model("gaussian")
    monkeypatch.setattr(tables, "MAX_TABLE_BYTES", 20 * 3 * 8 - 1)
    with pytest.raises(ValueError, match="20 rows with 3 parameters .*svrg"):
        Chain("saga", model)
    regression = Chain("saga", small_model("softmax"))
    assert regression.memory.table.shape == (3, 20)


def test_svrg_moves_its_anchor_on_time(uncompiled):
    model = small_model("gaussian", N)
    assert build("svrg", model, batch_size=4).refresh_every == 2
    chain = Chain("svrg", model, refresh_every=3)
    thetas = [theta_of(model, seed) for seed in range(7)]
    for k, theta in enumerate(thetas):
        chain.estimate(theta)
        np.testing.assert_array_equal(chain.memory.anchor, thetas[3 * (k // 3)])


def test_weights_say_how_often_rows_are_drawn(uncompiled):
    model = small_model("gaussian", 400)
    weights = np.random.default_rng(0).exponential(size=400) ** 2
    design = build("weighted", model, batch_size=100, weights=weights).design
    assert design.counts.sum() == 100
    sizes = np.diff(design.starts)
    heaviness = np.add.reduceat(weights[design.rows], design.starts[:-1]) / sizes
    chance = design.counts / sizes  # w_i of the rows of each stratum
    assert np.all(np.diff(chance) >= 0) and np.all(np.diff(heaviness) > 0)
    assert chance[-1] == 1.0
    # In proportion to the weights where a row is not drawn always, but for rounding.
    ratio = (chance / heaviness)[chance < 1]
    assert ratio.size >= 5 and ratio.max() < 1.3 * ratio.min()


def test_weights_reduce_the_variance(uncompiled):
    # Rows of very different sizes: the best weights are the sizes of the gradients.
    rng = np.random.default_rng(0)
    sizes = rng.exponential(size=100) ** 2
    y = sizes[:, None] * rng.choice([-1.0, 1.0], (100, 2))
    model = for_kernels(GaussianMean(y, np.eye(2)))
    variance = {}
    for name in ("minibatch", "weighted"):
        chain = Chain(name, model, batch_size=20, weights=sizes)
        theta = np.zeros(2)
        estimates = np.array([chain.estimate(theta) for _ in range(2000)])
        assert np.all(  # unbiased, within 4 Monte Carlo errors
            abs(estimates.mean(axis=0) - y.mean(axis=0))
            < 4 * estimates.std(axis=0) / np.sqrt(2000)
        )
        variance[name] = estimates.var(axis=0).sum()
    # sum |g_i|^2 / w_i of optimal weights, against N/n sum |g_i|^2.
    assert variance["weighted"] < 0.25 * variance["minibatch"]


@pytest.mark.parametrize("sparse", [True, False])
@pytest.mark.parametrize("name", FAMILIES)
def test_leverages(name, sparse, uncompiled):
    model = glm(name, sparse=sparse, weighted=True)
    X = np.column_stack((glm(name).rows, np.ones(20)))
    mode, work = theta_of(model, 0), init_work(model)
    curvature = np.zeros(20)  # of the intercepts: the sum of their diagonal
    for i in range(20):
        out = np.zeros(mode.size)
        add_hessian_diagonal(model, work, mode, np.array([i], INDEX), 1.0, out)
        curvature[i] = out.reshape(model.n_outputs, -1)[:, -1].sum()
    expected = curvature * (X**2 / (curvature @ X**2)).sum(axis=1)
    np.testing.assert_allclose(leverages(model, mode), expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("sizes", "shares", "n", "expected"),
    [
        ([50, 30, 20], [50, 30, 20], 10, [5, 3, 2]),
        ([90, 9, 1], [90, 9, 1], 10, [8, 1, 1]),
        ([3, 3, 3], [3, 3, 3], 9, [3, 3, 3]),
        ([2, 50, 50], [1, 1, 1], 60, [2, 29, 29]),
        ([5, 5], [5, 5], 2, [1, 1]),
    ],
)
def test_allocation(sizes, shares, n, expected):
    counts = allocate(n, np.array(sizes), np.array(shares))
    np.testing.assert_array_equal(counts, expected)


@pytest.mark.parametrize("n", [16, 17, 100, 399, 400])
def test_allocation_keeps_its_bounds(n, rng):
    sizes = rng.multinomial(400 - 16, rng.dirichlet(np.full(16, 0.3))) + 1
    counts = allocate(n, sizes, rng.dirichlet(np.full(16, 0.3)))
    assert counts.sum() == n
    assert np.all((counts >= 1) & (counts <= sizes))


def test_strata_may_be_named(uncompiled):
    model = small_model("gaussian", N)
    names = np.array(["b", "a", "b", "a", "b", "a"])
    design = build("stratified", model, strata=names).design
    np.testing.assert_array_equal(design.rows, [1, 3, 5, 0, 2, 4])
    np.testing.assert_array_equal(design.starts, [0, 3, 6])
    np.testing.assert_array_equal(design.counts, [1, 1])


def test_classes_are_strata_of_a_classifier(uncompiled):
    model = small_model("softmax")
    chain = Chain("stratified", model, batch_size=6)
    chain.estimate(theta_of(model, 0))
    starts, counts = chain.gradient.design.starts, chain.gradient.design.counts
    np.testing.assert_array_equal(counts, [2, 2, 2])
    for k in range(3):
        drawn = chain.memory.permutation[starts[k] : starts[k] + counts[k]]
        assert set(model.y[drawn]) == {k}


@pytest.mark.parametrize(
    ("name", "settings", "message"),
    [
        ("stratified", {"strata": np.arange(N)}, "batch_size=2 .* strata, 6"),
        ("stratified", {"strata": np.arange(3)}, r"strata has shape \(3,\)"),
        ("weighted", {"weights": np.ones(3)}, r"weights has shape \(3,\)"),
        ("weighted", {"weights": -np.ones(N)}, "not negative"),
        ("weighted", {"weights": np.zeros(N)}, "not all zero"),
        ("weighted", {"weights": np.full(N, np.nan)}, "finite"),
        ("weighted", {"weights": np.full(N, np.inf)}, "finite"),
        ("weighted", {"weights": None}, "GaussianMean needs .* give weights"),
        ("weighted-cv", {"weights": None}, "GaussianMean needs .* give weights"),
        ("stratified", {"strata": None}, "GaussianMean has no classes; give strata"),
    ],
)
def test_bad_settings(name, settings, message, uncompiled):
    with pytest.raises(ValueError, match=message):
        build(name, small_model("gaussian", N), **settings)


@pytest.mark.parametrize("batch_size", [5, 15])
def test_measured_variance_is_the_analytic_one(batch_size):
    # (1/n - 1/N) times the variance of N times a row's gradient: the simple estimator,
    # with the correction for a finite population.
    model = small_model("gaussian", 20)
    n_chains, n_measured = 100, 100
    _, info = sample(
        model,
        SGLD(),
        Minibatch(batch_size),
        step_size=0.05,
        n_draws=1,
        burn_in=NOISE_EVERY * n_measured,
        n_chains=n_chains,
        random_state=0,
        return_info=True,
    )
    rows = model.y @ model.precision
    expected = (1 / batch_size - 1 / 20) * rows.var(axis=0, ddof=1)
    # Each measurement, half a squared difference, has relative sd at most sqrt(2).
    error = np.sqrt(2 / (n_chains * n_measured))
    measured = info.gradient_variance.mean(axis=0)
    np.testing.assert_allclose(measured, expected, rtol=4 * error)
    assert 4 * error < 0.06


@pytest.mark.parametrize("name", ["saga", "svrg"])
def test_anchors_that_follow_a_chain_keep_its_law(name):
    # Widely spread rows: the simple estimator would make the variance ten times as
    # large. SVRG is exact here; SAGA's anchors are older by some relaxation times, so
    # that V = (1/n - 1/N) of the variance of theta adds h V / 4 = 2 %.
    rng = np.random.default_rng(0)
    y, h = 20.0 * rng.standard_normal((50, 2)), 0.5
    (draws,) = sample(
        for_kernels(GaussianMean(y, np.eye(2))),
        SGLD(),
        GRADIENTS[name](5),
        step_size=h,
        n_draws=40_000,
        burn_in=100,
        start=y.mean(axis=0),
        random_state=0,
    )
    added = 0.02 if name == "saga" else 0.0
    variance = (1 + added) / (1 - h / 4)
    # The autocorrelation 0.75^k leaves 5,700 effective draws for the mean, 11,000 for
    # the variance.
    error = np.sqrt(7 * variance / len(draws))
    assert np.all(abs(draws.mean(axis=0) - y.mean(axis=0)) < 4 * error)
    tolerance = 0.5 * added + 4 * 0.0134
    np.testing.assert_allclose(draws.var(axis=0), variance, rtol=tolerance)
