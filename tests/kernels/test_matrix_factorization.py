"""Matrix factorization: derivatives, unbiased gradients, conjugate conditionals."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.capabilities.anchors import add_difference, init_anchor
from skbayes_sg.kernels.capabilities.curvature import (
    add_hessian_diagonal,
    add_prior_hessian_diagonal,
)
from skbayes_sg.kernels.coordinates import Identity
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.data.rows import CSRRows
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import ControlVariate, Full
from skbayes_sg.kernels.models import (
    ContextFactorization,
    ImplicitFactorization,
    LogScaleFactorization,
    MatrixFactorization,
    RatingNoise,
    RowPrior,
)
from skbayes_sg.kernels.models.matrix_factorization_curvature import (
    apply_curvature,
    largest_curvature,
)
from skbayes_sg.kernels.models.matrix_factorization_ratings import residuals
from skbayes_sg.kernels.models.matrix_factorization_rows import as_matrix, width
from skbayes_sg.kernels.protocol.gradient import prepare
from skbayes_sg.kernels.protocol.model import (
    add_gradient,
    add_prior_gradient,
    init_work,
    log_likelihood,
    log_prior,
    n_parameters,
    n_recorded,
    n_rows,
    record,
    refresh,
)
from tests.kernels.test_models import assert_close, central_differences

N_USERS, N_ITEMS = 4, 3
N_FURTHER = 3, 1  # labels of a further column, and the one row of numbers
KINDS = {
    "plain": {"biases": False, "features": False, "dof": 0.0},
    "biases": {"features": False, "weighted": True},
    "features": {},
    "log scale": {"kind": LogScaleFactorization, "weighted": True},
    "implicit": {
        "kind": ImplicitFactorization,
        "biases": False,
        "dof": 0.0,
        "weighted": True,
        "unobserved": 0.7,
    },
    "context": {"kind": ContextFactorization, "weighted": True},
}


def features_of(Z_users, Z_items):
    """Return the features of both sides, a column each, as the model takes them."""
    matrix = sp.csc_array(sp.block_diag([Z_users, Z_items]))
    indices, indptr = matrix.indices.astype(np.int32), matrix.indptr.astype(np.int64)
    return CSRRows(matrix.data, indices, indptr, matrix.shape[0])


def factorization(
    n=6,
    d=2,
    biases=True,
    features=True,
    dof=5.0,
    weighted=False,
    kind=MatrixFactorization,
    unobserved=0.0,
):
    """Return a small model, every cell of the matrix rated at most once."""
    rng = np.random.default_rng(n)
    q = d + biases
    cells = rng.permutation(N_USERS * N_ITEMS)[:n]
    context = kind is ContextFactorization
    sizes = [N_USERS, N_ITEMS, *(N_FURTHER if context else ())]
    firsts = np.cumsum([0, *sizes])
    pairs = np.stack([cells // N_ITEMS, N_USERS + cells % N_ITEMS], 1)
    values = np.ones((n, len(sizes) - 2))
    if context:
        others = [rng.integers(size, size=n) for size in N_FURTHER]
        pairs = np.column_stack([pairs, np.stack(others, axis=1) + firsts[2:-1]])
        values[:, 1] = rng.normal(size=n)
    p = 2 if features else 0
    Z = rng.normal(size=(N_USERS + N_ITEMS, p))
    Z[0] = 0.0
    start = np.concatenate(
        [rng.normal(size=(len(sizes), 1, q)), rng.uniform(1, 3, (len(sizes), 1, q))],
        axis=1,
    )
    return for_kernels(
        kind(
            pairs=pairs.astype(INDEX),
            values=values,
            y=rng.normal(size=n),
            weights=rng.uniform(0.5, 2.0, n if weighted else 0),
            n_users=N_USERS,
            n_items=N_ITEMS,
            firsts=firsts,
            n_factors=d,
            biases=biases,
            features=features_of(Z[:N_USERS], Z[N_USERS:]),
            n_user_features=p,
            prior=RowPrior(start, 3.0, rng.uniform(1, 2, q), True),
            noise=RatingNoise(1.7, 2.0, True, dof, np.ones(firsts[-1]), unobserved),
            refresh_every=1,
        )
    )


def random_work(model, seed=0):
    """Return work whose unknowns are not where they start."""
    rng, work = np.random.default_rng(seed), init_work(model)
    work.noise[:] = rng.uniform(0.5, 2.0, work.noise.size)
    if model.noise.dof == 0.0:
        work.noise[1:] = 1.0
    work.noise[1 + N_USERS + N_ITEMS :] = 1.0  # of further columns
    work.links[:] = rng.normal(size=work.links.shape)
    data, indices, indptr, n = model.features
    Z = sp.csr_array((data, indices, indptr), (len(work.links), n))
    work.mean[:n] += Z.T @ work.links
    return work


def random_theta(model, seed=0):
    return 0.5 * np.random.default_rng(seed).normal(size=n_parameters(model))


def all_rows(model):
    return np.arange(n_rows(model), dtype=INDEX)


def gradient(model, work, theta, idx, scale=1.0):
    out = np.zeros_like(theta)
    add_prior_gradient(model, work, theta, out)
    add_gradient(model, work, theta, idx, scale, out)
    return out


@pytest.mark.parametrize("kind", KINDS)
def test_derivatives_by_central_differences(kind):
    model = factorization(**KINDS[kind])
    work, theta, idx = random_work(model), random_theta(model), all_rows(model)[::2]

    def value(theta):
        likelihood = log_likelihood(model, work, theta, idx)
        return log_prior(model, work, theta) + 3.0 * likelihood

    numeric = central_differences(value, theta)
    assert_close(gradient(model, work, theta, idx, 3.0), numeric, 1e-6)

    diagonal = np.zeros_like(theta)
    add_hessian_diagonal(model, work, theta, idx, 3.0, diagonal)
    add_prior_hessian_diagonal(model, work, theta, diagonal)
    numeric = central_differences(lambda t: gradient(model, work, t, idx, 3.0), theta)
    assert_close(diagonal, -np.diag(numeric), 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_minibatches_average_to_the_full_gradient(kind):
    # The prior enters once: it is not scaled by N/n.
    model = factorization(**KINDS[kind])
    work, theta, n = random_work(model), random_theta(model), n_rows(model)
    batches = [np.array(b, INDEX) for b in itertools.combinations(range(n), 2)]
    mean = np.mean([gradient(model, work, theta, b, n / 2) for b in batches], axis=0)
    assert_close(mean, gradient(model, work, theta, all_rows(model)), 1e-12)


@pytest.mark.parametrize("kind", KINDS)
def test_control_variates_are_unbiased_after_the_noise_has_changed(kind, uncompiled):
    model = factorization(**KINDS[kind])
    theta, center, n = random_theta(model, 1), random_theta(model), n_rows(model)
    prepared = prepare(ControlVariate(2, mode=center), model)
    work = random_work(model)
    total, count = np.zeros_like(theta), 0
    for batch in itertools.combinations(range(n), 2):
        out = prepared.likelihood.copy()
        add_prior_gradient(model, work, theta, out)
        idx = np.array(batch, INDEX)
        add_difference(model, work, theta, prepared.anchor, idx, n / 2, out)
        total, count = total + out, count + 1
    assert_close(total / count, gradient(model, work, theta, all_rows(model)), 1e-12)


def test_difference_vanishes_at_the_anchor(uncompiled):
    model = factorization()
    work, theta = init_work(model), random_theta(model)
    anchor, out = init_anchor(model, work, theta), np.zeros_like(theta)
    add_difference(model, work, theta, anchor, all_rows(model), 2.0, out)
    np.testing.assert_allclose(out, 0.0, atol=1e-12)


def test_float32_agrees():
    double = factorization(weighted=True)

    def single(value):
        if hasattr(value, "_fields"):
            return type(value)(*map(single, value))
        floats = isinstance(value, np.ndarray) and value.dtype == np.float64
        return value.astype(np.float32) if floats else value

    theta, idx = random_theta(double), all_rows(double)
    expected = gradient(double, init_work(double), theta, idx)
    model = for_kernels(single(double))
    actual = gradient(model, init_work(model), theta.astype(np.float32), idx)
    assert actual.dtype == np.float32
    assert_close(actual, expected, 1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_a_recorded_draw_holds_all_unknowns(kind):
    model = factorization(**KINDS[kind])
    work, theta = random_work(model), random_theta(model)
    out = np.full(n_recorded(model), np.nan)
    record(model, work, theta, out)
    q, n_sides = model.n_factors + model.biases, len(model.firsts) - 1
    rows = model.firsts[-1] * q
    np.testing.assert_array_equal(out[:rows], theta[:rows])
    hyper = out[rows : rows + 2 * n_sides * q].reshape(n_sides, 2, q)
    if isinstance(model, LogScaleFactorization):
        m, log_precision = theta[rows:].reshape(2, 2, q).swapaxes(0, 1)
        np.testing.assert_allclose(hyper, np.stack([m, np.exp(log_precision)], 1))
    else:
        np.testing.assert_array_equal(hyper, work.hyper)
    rest = np.concatenate([work.noise, work.links.ravel()])
    np.testing.assert_array_equal(out[rows + 2 * n_sides * q :], rest)


@pytest.mark.parametrize("beta", [1.0, 0.5])
def test_conditionals_in_closed_form(beta):
    # m, lambda and alpha given theta, each to the power beta, where they are
    # independent draws: 4 Monte Carlo errors of the means of 400 of them.
    model = factorization(features=False, dof=0.0)
    theta, n = random_theta(model), 400
    rng = np.random.default_rng(0)
    target = make_target(model, Full(), Identity(), rng, inverse_temperature=beta)
    draws = []
    for _ in range(n):
        refresh(model, target, theta, rng)
        draws.append(np.append(target.work.hyper.ravel(), target.work.noise[0]))
    x = theta.reshape(N_USERS + N_ITEMS, 3)
    expected = []
    for rows in (x[:N_USERS], x[N_USERS:]):
        size = len(rows)
        center = rows.sum(axis=0) / (size + 1)
        rate = model.prior.rate + 0.5 * ((rows**2).sum(axis=0) - (size + 1) * center**2)
        shape = 0.5 + beta * (3.0 - 1.0 + 0.5 * (size + 1))
        expected += [center, shape / (beta * rate)]
    users, items = x[model.pairs[:, 0]], x[model.pairs[:, 1]]
    mean = (users[:, :2] * items[:, :2]).sum(axis=1) + users[:, 2] + items[:, 2]
    rate = beta * (2.0 + 0.5 * ((model.y - mean) ** 2).sum())
    expected = np.append(np.concatenate(expected), (1.0 + 0.5 * beta * 6) / rate)
    error = np.std(draws, axis=0) / np.sqrt(n)
    assert np.all(np.abs(np.mean(draws, axis=0) - expected) < 4 * error)


def test_conditionals_leave_the_joint_law_invariant():
    # Geweke (2004): where theta and y are drawn from the model given other unknowns,
    # and these from their conditionals, in turn, each unknown keeps its prior.
    # Means and variances within 4 Monte Carlo errors, from 30 batches of 200.
    model = factorization(d=1)
    y = model.y.copy()
    model, rng = model._replace(y=y), np.random.default_rng(1)
    target = make_target(model, Full(), Identity(), rng)
    work, (i, j), draws = target.work, model.pairs.T, []
    side = np.repeat([0, 1], [N_USERS, N_ITEMS])
    for _ in range(6000):
        x = work.mean + rng.normal(size=work.mean.shape) / np.sqrt(work.hyper[side, 1])
        precision = work.noise[0] * work.noise[1 + i] * work.noise[1 + j]
        y[:] = x[i, 0] * x[j, 0] + x[i, 1] + x[j, 1]
        y += rng.normal(size=y.size) / np.sqrt(precision)
        refresh(model, target, x.ravel(), rng)
        (m, _), (inverse, _) = work.hyper[0]
        link = work.links[2, 1] * np.sqrt(work.kappa[1] * work.hyper[1, 1, 1])
        below, (alpha, s, *_) = np.exp(-work.kappa[1]), work.noise
        t = work.noise[1 + N_USERS]
        draws.append([inverse, m * np.sqrt(inverse), below, link, alpha, s, t])
    rate = model.prior.rate[0]
    moments = {  # mean and variance of each prior
        "lambda ~ Gamma(3, rate)": (3.0 / rate, 3.0 / rate**2),
        "m sqrt(lambda) ~ N(0, 1)": (0.0, 1.0),
        "exp(-kappa) ~ U(0, 1), kappa ~ Gamma(1, 1)": (0.5, 1.0 / 12.0),
        "B sqrt(kappa lambda) ~ N(0, 1)": (0.0, 1.0),
        "alpha ~ Gamma(1, 2)": (0.5, 0.25),
        "s ~ Gamma(5/2, 5/2)": (1.0, 0.4),
        "t ~ Gamma(5/2, 5/2)": (1.0, 0.4),
    }
    for (name, (mean, variance)), z in zip(
        moments.items(), np.transpose(draws), strict=True
    ):
        for values, expected in ((z, mean), ((z - mean) ** 2, variance)):
            batches = values.reshape(30, -1).mean(axis=1)
            error = batches.std() / np.sqrt(30)
            assert abs(values.mean() - expected) < 4 * error, name
            assert error < 0.12 * max(variance, variance**0.5), name


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "implicit"])
def test_curvature_is_the_hessian_where_the_fit_is_perfect(kind):
    model = factorization(**KINDS[kind])
    work, theta, idx = random_work(model), random_theta(model), all_rows(model)
    residual, _ = residuals(model, work, as_matrix(theta, width(model)), idx)
    model = for_kernels(model._replace(y=model.y - residual))
    v, out, eps = random_theta(model, 2), np.zeros_like(theta), 1e-6
    apply_curvature(model, work, theta, v, out)
    sides = []
    for shift in (eps, -eps):
        g = np.zeros_like(theta)
        add_gradient(model, work, theta + shift * v, idx, 1.0, g)
        sides.append(g)
    assert_close(out, (sides[1] - sides[0]) / (2 * eps), 1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_largest_curvature_is_the_largest_eigenvalue(kind):
    model = factorization(**KINDS[kind])
    work, theta = random_work(model), random_theta(model)
    n, q = model.firsts[-1], width(model)
    unit, H = np.random.default_rng(0).uniform(0.5, 2.0, theta.size), []
    for direction in np.eye(theta.size, dtype=theta.dtype)[: n * q]:
        out = np.zeros_like(theta)
        apply_curvature(model, work, theta, direction, out)
        H.append(out[: n * q])
    H += np.diag(np.repeat(work.hyper[:, 1], np.diff(model.firsts), 0).ravel())
    expected = np.linalg.eigvalsh(H * np.outer(unit, unit)[: n * q, : n * q])[-1]
    guess = np.random.default_rng(1).normal(size=theta.size)
    found = largest_curvature(model, work, theta, unit, guess, 300)
    assert found == pytest.approx(expected, rel=1e-3)
