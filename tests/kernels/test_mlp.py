"""Networks: packing, derivatives, block sizes, hyperparameters."""

import itertools

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.inference.exploration.mlp_units import column_squares, seen_rows
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.coordinates import Diagonal, Identity
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import ControlVariate, Full
from skbayes_sg.kernels.likelihoods import (
    Categorical,
    Gaussian,
    InputDependentGaussian,
)
from skbayes_sg.kernels.likelihoods.input_dependent import REACH
from skbayes_sg.kernels.models.mlp import (
    MLP,
    REFRESH_EVERY,
    network_outputs,
    pack,
    unpack,
)
from skbayes_sg.kernels.models.mlp_layers import ACTIVATIONS, SoftmaxUnits, activate
from skbayes_sg.kernels.models.mlp_passes import CHUNK
from skbayes_sg.kernels.passes import hessian_diagonal, log_posterior
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    record,
    refresh,
)
from skbayes_sg.kernels.samplers import LeimkuhlerMatthews
from tests.kernels.examples import csr, features

HIDDEN = {"linear": (), "one": (4,), "two": (4, 3), "three": (3, 4, 2)}
OUTPUTS = {
    "classes": (Categorical(), 3),
    "numbers": (Gaussian(), 2),
    "varying": (InputDependentGaussian(), 4),
}
ROWS = np.array([3, 0, 17, 4, 10], INDEX)
STEP = 1e-5


def network(
    activation="tanh",
    outputs="classes",
    hidden=(4,),
    n=20,
    p=3,
    dtype=np.float64,
    sparse=False,
    weighted=True,
    learns_precision=True,
    **settings,
):
    """Return a network on random data, the same at every call."""
    rng = np.random.default_rng(n)
    likelihood, n_outputs = OUTPUTS[outputs]
    X = features(rng, n, p).astype(dtype)
    y = np.arange(n) % 3 if outputs == "classes" else rng.normal(size=(n, 2))
    n_parts = 2 * len(hidden) + 2 + (p - 1 if settings.get("by_input") else 0)
    model = MLP(
        activation=ACTIVATIONS[activation](),
        likelihood=likelihood,
        rows=csr(X) if sparse else X,
        y=y.astype(dtype),
        weights=rng.uniform(0.5, 2.0, n if weighted else 0).astype(dtype),
        sizes=np.array([p, *hidden, n_outputs]),
        precision=rng.uniform(0.5, 2.0, n_parts).astype(dtype),
        learns_precision=learns_precision,
        **settings,
    )
    return for_kernels(model)


def random_theta(model, seed=0):
    theta = np.random.default_rng(seed).normal(size=n_parameters(model))
    return theta.astype(model.precision.dtype)


def value(model, theta, idx=ROWS, scale=4.0):
    work = init_work(model)
    likelihood = log_likelihood(model, work, theta, idx)
    return log_prior(model, work, theta) + scale * likelihood


def gradient(model, theta, idx=ROWS, scale=4.0):
    work, out = init_work(model), np.zeros_like(theta)
    add_prior_gradient(model, work, theta, out)
    add_gradient(model, work, theta, idx, scale, out)
    return out


def written_outputs(activation, model, theta):
    """Return z_L of all rows, and the noise's parameters, with numpy alone."""
    weights, biases, noise = unpack(theta, model.sizes)
    function = {
        "relu": lambda z: np.maximum(z, 0.0),
        "tanh": np.tanh,
        "softmax": lambda z: np.exp(z) / np.exp(z).sum(axis=1, keepdims=True),
    }[activation]
    a = model.rows
    for w, b in zip(weights[:-1], biases[:-1], strict=True):
        a = function(a @ w + b)
    return a @ weights[-1] + biases[-1], noise


def central_differences(function, theta):
    steps = STEP * np.eye(theta.size)
    return np.array(
        [(function(theta + e) - function(theta - e)) / (2 * STEP) for e in steps]
    )


def assert_close(actual, expected, tolerance):
    """Compare relative to the largest element."""
    np.testing.assert_allclose(
        actual, expected, rtol=0, atol=tolerance * abs(np.asarray(expected)).max()
    )


@pytest.mark.parametrize("hidden", HIDDEN.values(), ids=HIDDEN)
@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_gradient_by_central_differences(activation, outputs, hidden):
    model = network(activation, outputs, hidden)
    theta = random_theta(model)
    numeric = central_differences(lambda t: value(model, t), theta)
    assert_close(gradient(model, theta), numeric, 1e-6)


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_log_likelihood_is_that_of_the_written_network(activation, outputs):
    model = network(activation, outputs, (4, 3))
    theta, idx = random_theta(model), np.arange(20, dtype=INDEX)
    z, noise = written_outputs(activation, model, theta)
    if outputs == "classes":
        log_p = z - np.log(np.exp(z).sum(axis=1, keepdims=True))
        rows = log_p[idx, model.y.astype(int)]
    else:
        if outputs == "varying":
            z, noise = z[:, :2], REACH * np.tanh(z[:, 2:] / REACH)
        rows = 0.5 * (noise - np.exp(noise) * (model.y - z) ** 2).sum(axis=1)
    actual = log_likelihood(model, init_work(model), theta, idx)
    np.testing.assert_allclose(actual, model.weights @ rows, rtol=1e-12)


def test_log_prior_is_gaussian_by_block_and_gamma_for_the_noise():
    model = network(outputs="numbers")
    theta = random_theta(model)
    weights, biases, noise = unpack(theta, model.sizes)
    blocks = [block for pair in zip(weights, biases, strict=True) for block in pair]
    expected = np.sum(noise - np.exp(noise))
    for block, precision in zip(blocks, model.precision, strict=True):
        expected += 0.5 * block.size * np.log(precision)
        expected -= 0.5 * precision * (block**2).sum()
    actual = log_prior(model, init_work(model), theta)
    np.testing.assert_allclose(actual, expected, rtol=1e-12)


def test_a_precision_of_zero_is_integrated_out():
    # Of m weights w: integral over lambda of e^-lambda lambda^(m/2) e^(-lambda |w|^2/2)
    # is Gamma(1 + m/2) (1 + |w|^2/2)^-(1 + m/2).
    model = network(outputs="numbers")
    model = model._replace(precision=np.zeros_like(model.precision))
    theta, work = random_theta(model), init_work(model)
    weights, biases, noise = unpack(theta, model.sizes)
    expected = np.sum(noise - np.exp(noise))
    for block in (*weights, *biases):
        expected -= (1 + block.size / 2) * np.log1p((block**2).sum() / 2)
    np.testing.assert_allclose(log_prior(model, work, theta), expected, rtol=1e-12)
    out = np.zeros_like(theta)
    add_prior_gradient(model, work, theta, out)
    numeric = central_differences(lambda t: log_prior(model, work, t), theta)
    assert_close(out, numeric, 1e-6)


def test_prior_curvature_by_central_differences():
    model = network(outputs="numbers")
    theta, work = random_theta(model), init_work(model)

    def prior_gradient(t):
        out = np.zeros_like(t)
        add_prior_gradient(model, work, t, out)
        return out

    diagonal = np.zeros(theta.size)
    add_prior_hessian_diagonal(model, work, theta, diagonal)
    numeric = -central_differences(prior_gradient, theta)
    assert_close(np.diag(diagonal), numeric, 1e-6)


def test_pack_undoes_unpack():
    model = network(outputs="numbers", hidden=(4, 3))
    theta = random_theta(model)
    np.testing.assert_array_equal(pack(*unpack(theta, model.sizes)), theta)
    draws = np.stack([[theta, 2 * theta, 3 * theta]] * 2)
    weights, biases, noise = unpack(draws, model.sizes)
    assert weights[1].shape == (2, 3, 4, 3)
    assert biases[1].shape == (2, 3, 3)
    np.testing.assert_array_equal(noise[:, 2], 3 * noise[:, 0])


@pytest.mark.parametrize("outputs", OUTPUTS)
@pytest.mark.parametrize("activation", ACTIVATIONS)
def test_curvature_is_the_fisher_information(activation, outputs):
    # By its definition: squared scores of a row, in expectation over y.
    model = network(activation, outputs, (4, 3), weighted=False)
    theta = random_theta(model)
    actual = np.zeros(theta.size)
    idx = np.arange(6, dtype=INDEX)
    add_hessian_diagonal(model, init_work(model), theta, idx, 2.0, actual)
    z, noise = written_outputs(activation, model, theta)
    expected = np.zeros(theta.size)
    if outputs == "classes":
        p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
        cases = [(np.full(20, float(k)), p[:, k]) for k in range(3)]
    elif outputs == "varying":
        # Nodes of the Gauss-Hermite rule, whose second and fourth moments are exact.
        nodes, mass = np.polynomial.hermite_e.hermegauss(3)
        sd = np.exp(-0.5 * REACH * np.tanh(z[:, 2:] / REACH))
        mass = mass / mass.sum()
        cases = [
            (z[:, :2] + sd * nodes[[i, j]], np.full(20, mass[i] * mass[j]))
            for i, j in itertools.product(range(3), repeat=2)
        ]
    else:
        # Errors of +-s in each output: y has the second moments, not the fourth.
        sd = np.exp(-0.5 * noise)
        signs = itertools.product([-1, 1], repeat=2)
        cases = [(z + sd * np.array(s), np.full(20, 0.25)) for s in signs]
    for y, probability in cases:
        for i in idx:
            g = np.zeros(theta.size)
            row = for_kernels(model._replace(y=y))
            add_gradient(row, init_work(model), theta, idx[i : i + 1], 1.0, g)
            expected += 2.0 * probability[i] * g**2
    if outputs == "numbers":
        expected[-2:] = 2.0 * 6 * 0.5  # Var (1 - chi^2) / 2 = 1/2 for each row
    assert_close(actual, expected, 1e-10)


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_sparse_rows_equal_dense_rows(outputs):
    dense, sparse = (network(outputs=outputs, sparse=s) for s in (False, True))
    theta = random_theta(dense)
    assert_close(value(sparse, theta), value(dense, theta), 1e-12)
    assert_close(gradient(sparse, theta), gradient(dense, theta), 1e-12)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_network_sees_its_rows_standardized(sparse):
    center, size = np.array([5.0, -2.0, 0.0]), np.array([0.1, 3.0, 20.0])
    model = network(sparse=sparse, center=center, size=size)
    seen = (network().rows - center) / size
    by_hand = for_kernels(network()._replace(rows=seen))
    theta = random_theta(model)
    assert_close(value(model, theta), value(by_hand, theta), 1e-12)
    assert_close(gradient(model, theta), gradient(by_hand, theta), 1e-12)
    idx = np.array([0, 5, 11])
    np.testing.assert_allclose(seen_rows(model, idx), seen[idx], rtol=1e-12)
    squares = np.sum(seen**2, axis=0)
    np.testing.assert_allclose(column_squares(model), squares, rtol=1e-10)


def test_any_number_of_rows_at_once():
    n = 2 * CHUNK + 7
    model = network(n=n)
    theta, idx = random_theta(model), np.arange(n, dtype=INDEX)[::-1].copy()
    work, parts, total = init_work(model), np.zeros_like(theta), 0.0
    for some in np.array_split(idx, 10):
        add_gradient(model, work, theta, some, 3.0, parts)
        total += log_likelihood(model, work, theta, some)
    whole = np.zeros_like(theta)
    add_gradient(model, work, theta, idx, 3.0, whole)
    assert_close(whole, parts, 1e-12)
    assert_close(log_likelihood(model, work, theta, idx), total, 1e-12)


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_weights_equal_repetition(outputs):
    model = network(outputs=outputs, weighted=False)
    theta, idx = random_theta(model), np.arange(20, dtype=INDEX)
    counts = idx % 4
    weighted = for_kernels(model._replace(weights=counts.astype(np.float64)))
    repeated = np.repeat(idx, counts)
    curvatures = np.zeros((2, theta.size))
    for k, (kind, rows) in enumerate([(weighted, idx), (model, repeated)]):
        add_hessian_diagonal(kind, init_work(kind), theta, rows, 1.0, curvatures[k])
    assert_close(*curvatures, 1e-12)
    for function in (value, gradient):
        assert_close(
            function(weighted, theta, idx), function(model, theta, repeated), 1e-12
        )


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_compiled_passes_equal_python(outputs):
    model = network("relu", outputs, (4, 3))
    theta, idx = random_theta(model), np.arange(20, dtype=INDEX)
    work, out = init_work(model), np.zeros_like(theta)
    compiled = log_posterior(model, work, theta, out)
    assert_close(compiled, value(model, theta, idx, 1.0), 1e-12)
    assert_close(out, gradient(model, theta, idx, 1.0), 1e-12)
    diagonals = np.zeros((2, theta.size))
    hessian_diagonal(model, work, theta, diagonals[0])
    add_hessian_diagonal(model, work, theta, idx, 1.0, diagonals[1])
    assert_close(*diagonals, 1e-12)
    z = np.empty((20, model.sizes[-1]))
    network_outputs(model, work, theta, z)
    assert_close(z, written_outputs("relu", model, theta)[0], 1e-12)


def test_float32_agrees():
    single, double = (network("relu", dtype=d) for d in (np.float32, np.float64))
    theta = random_theta(single)
    result = gradient(single, theta)
    assert theta.dtype == result.dtype == np.float32
    assert_close(result, gradient(double, theta.astype(np.float64)), 2e-6)


def test_control_variate_at_the_mode_is_the_full_gradient():
    model = network()
    theta = random_theta(model)
    target = make_target(model, Full(), Identity(), np.random.default_rng(0))
    full = prepare(ControlVariate(5, mode=theta), model).likelihood
    expected = gradient(model, theta, np.arange(20, dtype=INDEX), 1.0)
    add_prior_gradient(model, target.work, theta, full)
    assert_close(full, expected, 1e-12)


def test_tiny_shares_are_zero_and_never_subnormal():
    z = np.array([[0, -40, -42, -95], [np.nan, 0, 0, 0]], np.float32)
    activate(SoftmaxUnits(), z)
    np.testing.assert_allclose(z[0], [1, np.exp(-40.0), 0, 0], rtol=1e-6)
    assert np.isnan(z[1]).any()


def test_large_weights_stay_finite():
    for activation in ACTIVATIONS:
        model = network(activation)
        theta = 1e3 * random_theta(model)
        assert np.isfinite(value(model, theta))
        assert np.all(np.isfinite(gradient(model, theta)))


@pytest.mark.parametrize("beta", [1.0, 2.5])
def test_precisions_are_drawn_from_their_gamma_conditionals(beta):
    model = network()
    theta, rng = random_theta(model), np.random.default_rng(3)
    target = make_target(model, Full(), Identity(), rng)
    target = target._replace(inverse_temperature=beta)
    draws, n = [], 4000
    for _ in range(n):
        for _ in range(REFRESH_EVERY):
            before = target.work.precision.copy()
            refresh(model, target, theta, rng)
        assert (target.work.precision != before).all()
        draws.append(target.work.precision.copy())
    weights, biases, _ = unpack(theta, model.sizes)
    blocks = [block for pair in zip(weights, biases, strict=True) for block in pair]
    for block, sampled in zip(blocks, np.transpose(draws), strict=True):
        shape = 1.0 + beta * block.size / 2
        rate = beta * (1.0 + (block**2).sum() / 2)
        error = np.sqrt(shape) / rate / np.sqrt(n)
        assert abs(sampled.mean() - shape / rate) < 4 * error
        # The sample variance has relative error sqrt((2 + 6 / shape) / n) < 0.04.
        np.testing.assert_allclose(sampled.var(), shape / rate**2, rtol=0.16)


def test_precisions_by_input_have_priors_and_conditionals_of_their_own():
    shape, rate = np.linspace(1.0, 3.0, 6), np.linspace(0.5, 2.0, 6)
    model = network(by_input=True, shape=shape, rate=rate)
    theta, rng = random_theta(model), np.random.default_rng(3)
    weights, biases, _ = unpack(theta, model.sizes)
    blocks = [*weights[0], biases[0], weights[1], biases[1]]
    assert len(blocks) == model.precision.size == n_recorded(model) - theta.size
    target, draws, n = make_target(model, Full(), Identity(), rng), [], 2000
    expected = 0.0
    for block, precision in zip(blocks, model.precision, strict=True):
        expected += 0.5 * block.size * np.log(precision)
        expected -= 0.5 * precision * (block**2).sum()
    assert_close(log_prior(model, target.work, theta), expected, 1e-12)
    for _ in range(n):
        for _ in range(REFRESH_EVERY):
            refresh(model, target, theta, rng)
        draws.append(target.work.precision.copy())
    for block, a, b, sampled in zip(
        blocks, shape, rate, np.transpose(draws), strict=True
    ):
        a, b = a + block.size / 2, b + (block**2).sum() / 2
        assert abs(sampled.mean() - a / b) < 4 * np.sqrt(a / n) / b
    integrated = model._replace(precision=np.zeros_like(model.precision))
    work, out = init_work(integrated), np.zeros_like(theta)
    add_prior_gradient(integrated, work, theta, out)
    numeric = central_differences(lambda t: log_prior(integrated, work, t), theta)
    assert_close(out, numeric, 1e-6)


@pytest.mark.parametrize("n", [20, CHUNK + 30])
def test_noise_is_drawn_from_its_gamma_conditional(n):
    model = network(outputs="numbers", n=n, p=2, hidden=(3,), learns_precision=False)
    theta, rng = random_theta(model), np.random.default_rng(3)
    scale = np.linspace(0.5, 2.0, theta.size)
    target = make_target(model, Full(), Diagonal(0.1 + 0 * scale, scale), rng)
    position = (theta - 0.1) / scale
    draws, n_draws = [], 1000 if n == 20 else 300
    for _ in range(n_draws):
        for _ in range(REFRESH_EVERY):
            refresh(model, target, position, rng)
        draws.append((0.1 + scale * position)[-2:])
    np.testing.assert_allclose((0.1 + scale * position)[:-2], theta[:-2], rtol=1e-12)
    z, _ = written_outputs("tanh", model, theta)
    squares = model.weights @ (model.y - z) ** 2
    a, b = 1.0 + model.weights.sum() / 2, 1.0 + squares / 2
    precisions = np.exp(draws)
    np.testing.assert_array_less(
        np.abs(precisions.mean(axis=0) - a / b), 4 * np.sqrt(a / n_draws) / b
    )
    np.testing.assert_allclose(precisions.var(axis=0), a / b**2, rtol=0.35)


def test_a_batch_of_a_stream_does_not_draw_the_noise():
    model = network(outputs="numbers", learns_precision=False, draws_noise=False)
    theta, rng = random_theta(model), np.random.default_rng(3)
    before, target = theta.copy(), make_target(model, Full(), Identity(), rng)
    for _ in range(REFRESH_EVERY):
        refresh(model, target, theta, rng)
    np.testing.assert_array_equal(theta, before)


def test_fixed_precisions_stay():
    model = network(learns_precision=False)
    target = make_target(model, Full(), Identity(), np.random.default_rng(0))
    refresh(model, target, random_theta(model), np.random.default_rng(0))
    np.testing.assert_array_equal(target.work.precision, model.precision)


def test_draws_record_the_precisions_after_theta():
    model = network()
    work, theta = init_work(model), random_theta(model)
    out = np.empty(n_recorded(model))
    record(model, work, theta, out)
    np.testing.assert_array_equal(out, [*theta, *model.precision])


def test_without_data_the_chain_draws_from_the_prior():
    # Zero weights leave the prior. lambda ~ Gamma(1, 1) has mean 1 and sd 1, and its
    # log has mean -0.5772 and sd pi / sqrt(6).
    base = network(outputs="numbers", hidden=(), p=2, weighted=False)
    model = for_kernels(base._replace(weights=np.zeros(20)))
    draws = sample(
        model,
        LeimkuhlerMatthews(),
        Full(),
        step_size=0.1,
        n_draws=10_000,
        burn_in=500,
        thin=20,
        n_chains=4,
        random_state=0,
    )
    noise, precision = draws[..., 6:8], draws[..., 8:]
    for values, mean, sd in [
        (noise, -np.euler_gamma, np.pi / np.sqrt(6)),
        (precision, 1.0, 1.0),
    ]:
        chains = values.mean(axis=1)
        error = chains.std(axis=0, ddof=1).max() / 2
        assert error < 0.05
        np.testing.assert_allclose(chains.mean(axis=0), mean, atol=4 * error + 0.02)
        np.testing.assert_allclose(values.std(axis=(0, 1)), sd, rtol=0.1)
