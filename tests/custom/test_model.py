import pickle
import subprocess
import sys

import numpy as np
import pytensor.tensor as pt
import pytest
from pytensor.graph.basic import Apply
from pytensor.graph.op import Op
from scipy.sparse import csr_array
from scipy.special import expit

from skbayes_sg import Interval, Model, Positive, Real, Simplex, sample
from skbayes_sg.custom import _functions, _programs
from skbayes_sg.custom._by_row import ancestors
from skbayes_sg.custom._graphs import python_function, without_transposes
from skbayes_sg.inference.curvature import curvature_matrix, whitening
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.kernels.capabilities.expansion import init_expansion
from skbayes_sg.kernels.capabilities.row_blocks import in_blocks
from skbayes_sg.kernels.engine import estimate_gradient
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import GRADIENTS, Minibatch
from skbayes_sg.kernels.likelihoods import Bernoulli
from skbayes_sg.kernels.models import GLM
from skbayes_sg.kernels.passes import (
    hessian,
    hessian_product,
    log_posterior,
    prior_gradient,
    row_gradient,
)
from skbayes_sg.kernels.protocol.gradient import init_memory, prepare
from skbayes_sg.kernels.protocol.model import add_prior_gradient, init_work
from skbayes_sg.kernels.samplers import SGLD
from tests.custom.models import COLUMNS, CONJUGATE, LINEAR, LOGISTIC, ROWS, SPACES

LONG = pytest.mark.long  # for everything that is compiled, apart from one model
X, Y = COLUMNS["X"], (COLUMNS["y"] > 1).astype(float)


@pytest.fixture(scope="module")
def linear():
    return for_kernels(LINEAR.bind(**ROWS))


@pytest.fixture(scope="module")
def logistic():
    return for_kernels(LOGISTIC.bind(X=X, y=Y))


@pytest.fixture(scope="module")
def conjugate():
    return for_kernels(CONJUGATE.bind(**COLUMNS))


def finite_differences(value, theta, width=1e-5):
    eye = width * np.eye(theta.size)
    return np.array([value(theta + e) - value(theta - e) for e in eye]) / (2 * width)


WHICH = ["linear", *(pytest.param(x, marks=LONG) for x in ("logistic", "conjugate"))]


@pytest.mark.parametrize("which", WHICH)
def test_gradient_is_that_of_the_value(which, request):
    model = request.getfixturevalue(which)
    work, g = init_work(model), np.zeros(model.d)
    theta = 0.3 * np.random.default_rng(1).standard_normal(model.d)
    expected = finite_differences(lambda t: log_posterior(model, work, t, g), theta)
    log_posterior(model, work, theta, g)
    assert np.allclose(g, expected, rtol=1e-6, atol=1e-3)


@LONG
def test_spaces_have_their_jacobians():
    model = for_kernels(SPACES.bind(y=np.zeros(4)))
    work, theta = init_work(model), np.array([0.3, -0.2, 0.4, 0.1])
    p = -1 + 3 * expit(0.3)
    cut = np.cumsum([-0.2, np.exp(0.4), np.exp(0.1)])
    value = -2 * (p + cut[1]) ** 2 - 0.5 * (cut**2).sum()
    value += np.log(3 * expit(0.3) * expit(-0.3)) + 0.4 + 0.1
    assert np.isclose(log_posterior(model, work, theta, np.zeros(4)), value)
    draw = sample(model, SGLD(), Minibatch(4), step_size=1e-12, n_draws=1, start=theta)
    assert np.allclose(SPACES.unpack(draw)["cut"], cut, atol=1e-4)


@LONG
@pytest.mark.parametrize("eta", [-800.0, -40.0, 40.0, 800.0])
def test_gradients_are_finite_at_extreme_arguments(logistic, eta):
    work, g = init_work(logistic), np.zeros(2)
    row_gradient(logistic, work, np.array([eta, 0.0]), g)
    expected = X.T @ (Y - expit(eta * X[:, 0]))
    assert np.allclose(g, expected, rtol=1e-9)


def test_hessian(linear):
    theta, out = np.array([0.5, -0.2, 0.7]), np.zeros((3, 3))
    hessian(linear, init_work(linear), theta, out)
    assert np.allclose(out[:2, :2], X.T @ X * np.exp(-1.4))
    residual = ROWS["y"] - X @ theta[:2]
    assert np.allclose(out[2, :2], 2 * X.T @ residual * np.exp(-1.4))
    assert np.allclose(out[2, 2], 2 * residual @ residual * np.exp(-1.4))


@LONG
def test_same_draws_as_the_model_of_the_package(logistic):
    glm = GLM(
        likelihood=Bernoulli(),
        rows=X,
        y=Y,
        weights=np.empty(0),
        prior_precision=np.ones(2),
        intercept=False,
        n_outputs=1,
    )
    options = dict(step_size=1e-5, n_draws=50, random_state=0)
    # So few rows that neither model makes blocks of them.
    ours = sample(logistic, SGLD(), Minibatch(50), **options)
    theirs = sample(glm, SGLD(), Minibatch(50), **options)
    assert np.allclose(ours, theirs, rtol=0, atol=1e-12)


@LONG
@pytest.mark.parametrize("name", [n for n in GRADIENTS if n != "stratified"])
def test_estimates_are_unbiased(conjugate, name):
    theta = np.array([1.0, -2.0, np.log(1.5), -0.9, -0.5])
    exact = np.zeros(5)
    log_posterior(conjugate, init_work(conjugate), theta, exact)
    kind = GRADIENTS[name]
    options = {} if name == "full" else {"batch_size": 300}
    if "mode" in kind._fields:
        options["mode"] = theta + 0.02
    gradient = for_kernels(prepare(kind(**options), conjugate))
    rng = np.random.default_rng(0)
    memory = init_memory(gradient, conjugate, theta, rng)
    thetas = np.tile(theta, (400, 1))
    out = np.empty_like(thetas)
    estimate_gradient(
        gradient, memory, conjugate, init_work(conjugate), thetas, rng, out
    )
    error = out.std(axis=0) / np.sqrt(len(out)) + 1e-6 * np.abs(exact) + 1e-3
    assert np.all(np.abs(out.mean(axis=0) - exact) < 4.5 * error)


@LONG
def test_taylor_has_far_less_variance_than_differences(conjugate):
    mode = np.array([1.0, -2.0, np.log(1.5), -0.9, -0.5])
    spread = []
    for name in ("cv", "taylor-cv"):
        gradient = for_kernels(prepare(GRADIENTS[name](300, mode), conjugate))
        rng = np.random.default_rng(0)
        memory = init_memory(gradient, conjugate, mode, rng)
        thetas = np.tile(mode + 0.02, (200, 1))
        out = np.empty_like(thetas)
        work = init_work(conjugate)
        estimate_gradient(gradient, memory, conjugate, work, thetas, rng, out)
        spread.append(out[:, 3:].var(axis=0).sum())
    assert spread[1] < 1e-2 * spread[0] + 1e-12


def test_hessian_is_computed_once_at_a_point(linear, monkeypatch):
    calls, eye = [], np.eye(3)
    monkeypatch.setattr(_functions, "_LAST", _functions._LAST)
    monkeypatch.setattr(_functions, "_hessian", lambda *args: calls.append(1) or eye)
    for scale in (1.0, 1.0, 2.0):
        out = np.ones((3, 3))
        hessian(for_kernels(linear), init_work(linear), np.full(3, scale), out)
        assert np.array_equal(out, 1 + eye)
    assert len(calls) == 2
    copied = for_kernels(linear._replace(rows=linear.rows.copy()))
    hessian(copied, init_work(linear), np.full(3, 2.0), out)
    assert len(calls) == 3


def test_mode_is_that_of_all_rows(linear):
    """Where there are many, the search for it begins on some of them."""
    mode, g = find_mode(linear, random_state=0), np.zeros(3)
    log_posterior(linear, init_work(linear), mode, g)
    in_sds = whitening(curvature_matrix(linear, mode)).T @ g
    assert np.abs(in_sds).max() < 2e-3


def test_gradients_multiply_matrices_as_they_are_stored():
    """Machine code copies what is transposed: here v, which is short, but not A."""
    a, v = pt.dmatrix("a"), pt.dvector("v")
    (product,) = without_transposes([pt.dot(a.T, v)])
    nodes = ancestors([product], ())
    assert not any(node.op == a.T.owner.op and a in node.inputs for node in nodes)
    matrix = np.arange(6.0).reshape(3, 2)
    value = python_function([a, v], product)(matrix, np.arange(3.0))
    assert np.array_equal(value, matrix.T @ np.arange(3.0))


def test_expansion_is_compiled(linear):
    assert init_expansion(linear, np.zeros(3)).address != 0


@LONG
def test_prior_has_its_whole_hessian(conjugate):
    theta = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    work = init_work(conjugate)
    column = hessian_product(prior_gradient, conjugate, work, theta, np.eye(5)[3])
    assert abs(column[4]) > 1e-3  # of the simplex


def test_a_model_travels_with_its_program(linear):
    data = pickle.dumps(linear)
    kept = _programs.PROGRAMS.pop(linear.program.tobytes())
    try:
        again = pickle.loads(data)
        assert _programs.program_of(again).d == 3
    finally:
        _programs.PROGRAMS[linear.program.tobytes()] = kept


def test_equal_models_have_equal_digests(linear):
    again = LINEAR.bind(**ROWS)
    assert np.array_equal(again.program, linear.program)
    model = Model(lambda b, y: -b * y, lambda b: -b, b=Positive())
    other = Model(lambda b, y: -b * y, lambda b: -2.0 * b, b=Positive())
    y = np.arange(4.0)
    assert not np.array_equal(model.bind(y=y).program, other.bind(y=y).program)


def test_digests_are_those_of_other_processes(linear):
    code = """
from tests.custom.models import LINEAR, ROWS, SPACES
SPACES.bind(y=[0.0, 1.0])  # counts variables
print(LINEAR.bind(**ROWS).program.tobytes().hex())
"""
    run = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert run.stdout.strip() == linear.program.tobytes().hex()


@LONG
def test_blocks_hold_every_row_once(logistic):
    part = logistic._replace(rows=logistic.rows[:2999])
    blocks = for_kernels(in_blocks(part, np.arange(2999)))
    assert blocks.each == 8
    ours, theirs = np.zeros(2), X[:2999].T @ (Y[:2999] - 0.5)
    row_gradient(blocks, init_work(blocks), np.zeros(2), ours)
    assert np.allclose(ours, theirs)


GOOD = {"y": np.arange(6.0), "g": np.arange(6) % 2}


def rows(b, y, g):
    return -0.5 * (y - b[g]) ** 2


def summed(b, y, g):
    return rows(b, y, g).sum()


def centered(b, y, g):
    return rows(b, y - y.mean(), g)


def in_numpy(b, y, g):
    return np.where(y > b[g], y, 0.0)


def of_fixed_rows(b, y, g):
    return y - pt.as_tensor(np.ones((6, 2))) @ b


def in_float32(b, y, g):
    return rows(b, y, g).astype("float32")


def nothing(b, y, g):
    return None


def anything(*args):
    return args[0]


def prior(b):
    return -0.5 * (b**2).sum()


def negative(b):
    return pt.log(b - 9).sum()


def of_scales(b, y, g):
    return -pt.log(b[0]) - 0.5 * (y / b[0]) ** 2


def too_wide(b, X, y, g):
    return y - X @ b


def of_no_data(b):
    return -(b**2)


def of_weights(b, sample_weight):
    return -b[0] * sample_weight


def not_summed(b):
    return -(b**2)


def of_data(y):
    return y


TWO, WIDE = Real(2), np.ones((6, 3))


def bind(likelihood=rows, prior=prior, b=TWO, mean=None, **columns):
    given = {k: v for k, v in (GOOD | columns).items() if v is not None}
    return Model(likelihood, prior, mean=mean, b=b).bind(**given)


@pytest.mark.parametrize(
    ("error", "match", "options"),
    [
        (TypeError, "pt.where", {"likelihood": in_numpy}),
        (ValueError, "one number per row", {"likelihood": summed}),
        (ValueError, "depend on one another", {"likelihood": centered}),
        (ValueError, "args", {"likelihood": anything}),
        (ValueError, "must be columns", {"likelihood": of_fixed_rows}),
        (TypeError, "leave out casts", {"likelihood": in_float32}),
        (TypeError, "pytensor.tensor", {"likelihood": nothing}),
        (ValueError, "sigma=Positive", {"likelihood": of_scales}),
        (ValueError, "Negative values", {"sample_weight": np.full(6, -1.0)}),
        (ValueError, "sample_weight", {"sample_weight": np.ones(3)}),
        (ValueError, "out of range", {"g": np.arange(6)}),
        (ValueError, "same number of rows", {"g": [0, 1]}),
        (ValueError, "lacks the column 'g'", {"g": None}),
        (ValueError, "no column 'x'", {"x": [0]}),
        (TypeError, "return_inverse", {"g": list("ababab")}),
        (TypeError, "toarray", {"y": csr_array((6, 2))}),
        (ValueError, "NaN or infinity", {"y": [np.nan] * 6}),
        (ValueError, "log_prior is NaN", {"prior": negative}),
        (ValueError, "add up its terms", {"prior": not_summed}),
        (ValueError, "is no parameter", {"prior": of_data}),
        (TypeError, "is no space", {"b": 3}),
        (
            TypeError,
            r"X \(n, 3\) float64",
            {"likelihood": too_wide, "X": WIDE},
        ),
        (TypeError, r"g \(n,\) float64", {"g": np.arange(6) % 2 * 1.0}),
        (ValueError, "one or more", {"likelihood": of_no_data, "y": None, "g": None}),
        (ValueError, "other names", {"likelihood": of_weights}),
        (ValueError, "option of Model", {"mean": TWO}),
    ],
)
def test_errors_name_the_remedy(error, match, options):
    with pytest.raises(error, match=match):
        bind(**options)


class Opaque(Op):
    """An operation of Python's own, without a gradient."""

    def make_node(self, x):
        return Apply(self, [x], [x.type()])

    def perform(self, node, inputs, outputs):
        outputs[0][0] = np.sin(inputs[0])


def test_models_without_gradients_are_refused():
    model = bind(lambda b, y, g: Opaque()(y * b[0]))
    with pytest.raises(TypeError, match="cannot be differentiated"):
        init_work(model)


def test_parameters_of_another_type_are_refused(linear):
    with pytest.raises(TypeError, match="compute in float64"):
        add_prior_gradient(linear, init_work(linear), np.zeros(3, int), np.zeros(3))


@LONG
def test_operations_without_machine_code_are_announced():
    model = bind(lambda b, y, g: pt.psi(y**2 + b[0] ** 2 + 1.0))
    with pytest.warns(RuntimeWarning, match="has no machine code"):
        draws = sample(model, SGLD(), Minibatch(3), step_size=1e-3, n_draws=2)
    assert np.isfinite(draws).all()


@pytest.mark.parametrize(
    ("match", "make"),
    [
        ("high", lambda: Interval(1, 0)),
        ("shape", lambda: Simplex(1)),
        ("names of their own", lambda: Simplex((2, 3))),
        ("one name per axis", lambda: Positive(2, dims=("a", "b"))),
    ],
)
def test_errors_of_spaces(match, make):
    with pytest.raises(ValueError, match=match):
        make()
