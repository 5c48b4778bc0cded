"""Models of constrained parameters in free ones: derivatives, laws, and the rest."""

from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

from skbayes_sg import sample
from skbayes_sg.inference.curvature import curvature_diagonal, curvature_matrix
from skbayes_sg.inference.exploration.region import geometry
from skbayes_sg.inference.optimize import find_mode
from skbayes_sg.inference.scores import posterior_scores
from skbayes_sg.kernels.capabilities.local_variables import (
    check_local_variables,
    draw_local,
)
from skbayes_sg.kernels.capabilities.maps import (
    add_pulled_back,
    constrain,
    log_jacobian,
    n_free,
)
from skbayes_sg.kernels.capabilities.metrics import (
    metric,
    metric_diagonal,
    metric_divergence,
)
from skbayes_sg.kernels.coordinates import Diagonal
from skbayes_sg.kernels.data.minibatch import INDEX
from skbayes_sg.kernels.generic import for_kernels, implements
from skbayes_sg.kernels.gradients import GRADIENTS, ControlVariate, Full
from skbayes_sg.kernels.likelihoods.log_gamma import (
    log_gamma_curvature,
    log_gamma_density,
    log_gamma_slope,
)
from skbayes_sg.kernels.maps import (
    AdditiveLogRatio,
    CholeskyCovariance,
    Exp,
    Interval,
    Ordered,
    Real,
    Softplus,
    StickBreaking,
    joined,
)
from skbayes_sg.kernels.models import (
    DirichletMultinomial,
    GaussianMean,
    Transformed,
    mirrored,
)
from skbayes_sg.kernels.passes import log_posterior
from skbayes_sg.kernels.protocol.gradient import centered_at, with_batch_size
from skbayes_sg.kernels.protocol.model import (
    init_work,
    is_log_concave,
    record,
    refresh,
    theta_of,
    thinned,
    work_at,
)
from skbayes_sg.kernels.protocol.sampler import takes_estimates
from skbayes_sg.kernels.samplers import MALA, SAMPLERS, SGLD, LeimkuhlerMatthews
from skbayes_sg.metrics import kernel_stein_discrepancy
from tests.kernels.constrained import (
    InverseWishart,
    LogRatios,
    Mixture,
    Shapes,
    beta_marginals,
    check_moments,
)
from tests.kernels.examples import small_model
from tests.kernels.test_models import central_differences, gradient, value
from tests.targets import batch_means

ROWS = np.array([3, 0, 2], INDEX)
COUNTS = np.array([100, 60, 30, 10])
CATEGORIES = np.repeat(np.arange(4), COUNTS)
PRIOR = np.full(4, 0.5)
TOY = DirichletMultinomial(CATEGORIES, PRIOR)


def examples():
    wishart = InverseWishart(7.0, np.array([[2.0, 0.5], [0.5, 1.0]]))
    return {
        "logistic": Transformed(small_model("logistic"), joined(Ordered(2), Exp(2))),
        "network": Transformed(small_model("network"), Softplus(21)),
        "log ratio": mirrored(TOY, "entropic"),
        "stick breaking": Transformed(TOY, StickBreaking(4)),
        "covariance": Transformed(wishart, CholeskyCovariance(2)),
    }


@pytest.mark.parametrize("name", examples())
def test_gradient_by_central_differences(name, uncompiled):
    model = for_kernels(examples()[name])
    rows = ROWS[:1] * 0 if name == "covariance" else ROWS
    u = 0.5 * np.random.default_rng(0).normal(size=n_free(model.map))
    numeric = central_differences(lambda t: value(model, t, rows, 4.0), u)
    np.testing.assert_allclose(
        gradient(model, u, rows, 4.0), numeric, rtol=1e-6, atol=1e-6
    )


def test_log_precisions_of_likelihoods_go_through_the_map(uncompiled):
    """Their prior is a Gamma law by `Exp`, Jacobian included."""
    model = Transformed(Shapes(np.full(1, 2.5), np.ones(1), np.full(1, 0.7)), Exp(1))
    at, none = np.array([0.4]), ROWS[:0]
    expected = gradient(model, at, none)
    assert log_gamma_slope(0.4, 2.5, 0.7) == pytest.approx(expected[0])
    assert log_gamma_density(0.4, 2.5, 0.7) == pytest.approx(value(model, at, none))
    slopes = central_differences(lambda u: gradient(model, u, none), at)
    assert log_gamma_curvature(0.4, 0.7) == pytest.approx(-slopes[0, 0], rel=1e-6)


def test_recorded_draws_are_constrained_and_lead_back(uncompiled):
    model, u = mirrored(TOY, "entropic"), np.array([0.3, -1.0, 2.0])
    draw = np.empty(4)
    record(model, init_work(model), u, draw)
    assert abs(draw.sum() - 1) < 1e-12
    np.testing.assert_allclose(theta_of(model, draw), u)


def test_capabilities_are_those_of_the_model_inside():
    plain = mirrored(TOY, "entropic")
    assert not any(implements(op, plain) for op in (draw_local, refresh, work_at))
    assert not implements(thinned, plain)
    latent = Transformed(Mixture(np.ones((5, 2)), np.ones(2)), Exp(2))
    assert implements(draw_local, latent)
    with pytest.raises(ValueError, match="takes differences of gradients"):
        check_local_variables(ControlVariate(2, np.zeros(2)), latent)
    check_local_variables(ControlVariate(2, np.zeros(3)), plain)
    network = Transformed(small_model("network"), Real(21))
    assert implements(refresh, network) and not implements(work_at, network)


@pytest.mark.long
def test_no_constraint_changes_nothing():
    """Hyperparameters that are drawn after each step included."""
    network = small_model("network")._replace(learns_precision=True)
    plain, wrapped = (
        sample(model, SGLD(), Full(), step_size=0.01, n_draws=20, random_state=0)
        for model in (network, Transformed(network, Real(21)))
    )
    np.testing.assert_allclose(wrapped, plain, rtol=1e-10)
    assert np.ptp(plain[0, :, -4:]) > 0  # and they are drawn


def test_log_concave_where_the_pair_is():
    assert is_log_concave(mirrored(TOY, "entropic"))
    assert not is_log_concave(Transformed(TOY, StickBreaking(4)))
    gaussian = GaussianMean(np.zeros((2, 2)), np.eye(2))
    assert is_log_concave(Transformed(gaussian, Real(2)))
    assert not is_log_concave(Transformed(gaussian, Exp(2)))


def test_refusals():
    with pytest.raises(ValueError, match="gives 3 parameters, but Dirichlet.* has 4"):
        init_work(Transformed(TOY, AdditiveLogRatio(3)))
    with pytest.raises(ValueError, match="'cubic' is not"):
        mirrored(TOY, "cubic")
    with pytest.raises(ValueError, match="low and high"):
        mirrored(TOY, "logit")


def test_mirror_of_a_box():
    model = mirrored(TOY, "logit", low=0.0, high=np.ones(4))
    assert isinstance(model.map, Interval)
    np.testing.assert_array_equal(model.map.low, np.zeros(4))


# Laws. MALA has no error of its own, so that a wrong density shows.
class Forgetful(NamedTuple):
    """A map without the Jacobian of its parts."""

    map: NamedTuple


@n_free.register(Forgetful)
def _(map_):
    return n_free(map_.map)


@constrain.register(Forgetful)
def _(map_, u, out):
    constrain(map_.map, u, out)


@add_pulled_back.register(Forgetful)
def _(map_, u, x, g, share, out):
    add_pulled_back(map_.map, u, x, g, 0.0, out)


@log_jacobian.register(Forgetful)
def _(map_, u, x):
    return 0.0


def law_of(map_, sampler=MALA(), h=1.0, n_draws=40_000):  # noqa: B008
    """Draws of two Gamma laws and two Beta laws through a map."""
    shapes = np.array(
        [[3.0, 3.0, 2.0, 2.0], [1.0, 1.0, 3.0, 3.0], [2.0, 2.0, 0.0, 0.0]]
    )
    model = Transformed(Shapes(*shapes), map_)
    options = {"n_draws": n_draws, "thin": round(4 / h), "random_state": 0}
    draws = sample(model, sampler, Full(), step_size=h, **options)
    return draws[0], [stats.gamma(3, scale=0.5)] * 2 + [stats.beta(2, 3)] * 2


def four_maps():
    return joined(Exp(1), Softplus(1), Interval(np.zeros(2), np.ones(2)))


def test_gamma_and_beta_laws():
    """40,000 draws: Monte Carlo errors of about 1 %."""
    check_moments(*law_of(four_maps()))


def test_a_forgotten_jacobian_is_rejected():
    with pytest.raises(AssertionError):
        check_moments(*law_of(Forgetful(four_maps())))


@pytest.mark.long
def test_mirrored_langevin_on_the_posterior_of_its_paper():
    """11 parts, counts of 10000, 10 and 10, shapes of 0.1 (Hsieh et al., 2018).

    All parts but the largest in units of their own, variances within 6 % + 4 MCSE; as
    one row and a prior that holds all others, which is the same posterior.
    """
    b = np.array([0.1] * 8 + [10.1, 10.1, 10000.1])
    model = DirichletMultinomial(np.array([10]), b - np.eye(11)[10])
    x = b / b.sum()
    center, scale = np.log(x[:10] / x[10]), (b * (1 - x))[:10] ** -0.5
    draws = sample(
        mirrored(model, "entropic"),
        LeimkuhlerMatthews(),
        Full(),
        step_size=0.02,
        n_draws=4000,
        thin=2000,
        burn_in=10_000,
        start=center,
        coordinates=Diagonal(center, scale),
        random_state=0,
    )[0]
    laws = beta_marginals(b)
    check_moments(draws[:, 8:], laws[8:], tolerance=0.06)
    empty, error = batch_means(draws[:, :8].mean(axis=1))
    assert error < 0.05 * x[0]
    assert abs(empty - x[0]) < 4 * error


@pytest.mark.long
def test_inverse_wishart_by_cholesky():
    scale = np.array([[2.0, 0.5], [0.5, 1.0]])
    model = Transformed(InverseWishart(9.0, scale), CholeskyCovariance(2))
    options = {"step_size": 0.2, "n_draws": 100_000, "thin": 5, "random_state": 0}
    draws = sample(model, MALA(), Full(), **options)[0]
    np.testing.assert_allclose(draws.mean(axis=0), scale.ravel() / 6, rtol=0.02)
    law = stats.invwishart(9.0, scale)
    np.testing.assert_allclose(draws.var(axis=0), law.var().ravel(), rtol=0.1)


@pytest.mark.long
def test_ordered_normals_are_order_statistics():
    model = Transformed(GaussianMean(np.zeros((1, 3)), np.eye(3)), Ordered(3))
    options = {"step_size": 0.5, "n_draws": 100_000, "thin": 5, "random_state": 0}
    draws = sample(model, MALA(), Full(), **options)[0]
    np.testing.assert_allclose(draws.mean(axis=0), [-0.8463, 0, 0.8463], atol=0.015)
    np.testing.assert_allclose(draws.var(axis=0), [0.5595, 0.4487, 0.5595], rtol=0.02)


# Every sampler with every gradient estimator
SMALL = np.array([2, 0, 1, 0, 1, 0, 2, 0, 1, 0])


@pytest.fixture(scope="module")
def log_ratios():
    """The posterior of log ratios through a map, worked out by hand, and a mode."""
    shape = np.array([0.5, 1.0, 2.0])
    x = (np.bincount(SMALL) + shape) / (SMALL.size + shape.sum())
    mode = np.log(x[:2] / x[2])
    inside = DirichletMultinomial(SMALL, shape)
    return mirrored(inside, "entropic"), LogRatios(SMALL, shape), mode


@pytest.mark.parametrize("gradient", GRADIENTS)
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_chains_are_those_of_the_model_worked_out_by_hand(
    sampler, gradient, log_ratios, uncompiled
):
    """Step by step, for all samplers and gradient estimators, but for rounding."""
    mapped, by_hand, mode = log_ratios
    sampler = SAMPLERS[sampler]()
    if not takes_estimates(sampler) and gradient != "full":
        return  # Metropolis samplers refuse estimates, whatever the model
    gradient = centered_at(with_batch_size(GRADIENTS[gradient](), 4), mode)
    options = {"step_size": 0.1, "n_draws": 4, "start": mode + 0.3, "random_state": 0}
    options["scale"] = np.ones(2)
    x = sample(mapped, sampler, gradient, **options)[0]
    u = sample(by_hand, sampler, gradient, **options)[0]
    assert np.ptp(u, axis=0).min() > 0
    found = np.log(x[:, :2] / x[:, 2:])
    np.testing.assert_allclose(found, u, rtol=1e-6, atol=1e-7)


METRICS = {
    "simplex": mirrored(TOY, "entropic"),
    "regression": Transformed(small_model("logistic"), joined(Ordered(2), Exp(2))),
    "mixed": Transformed(small_model("softmax"), joined(Real(6), Softplus(6))),
}


@pytest.mark.parametrize("name", METRICS)
def test_metrics_through_maps(name, uncompiled):
    """They are positive definite, and so are their derivatives: by differences."""
    model = for_kernels(METRICS[name])
    d = n_free(model.map)
    rng, work, rows = np.random.default_rng(0), init_work(model), ROWS
    u, factor = 0.5 * rng.normal(size=d), rng.normal(size=(d, d))

    def dense(u):
        out = np.zeros((d, d))
        metric(model, work, u, rows, out)
        return out

    def diagonal(u):
        out, slope = np.zeros((2, d))
        metric_diagonal(model, work, u, rows, out, slope)
        return out, slope

    assert np.linalg.eigvalsh(dense(u)).min() > 0
    slopes = central_differences(dense, u)  # d_j G_km
    expected = np.einsum("jkm,mj->k", slopes, factor.T @ factor)
    found = np.zeros(d)
    metric_divergence(model, work, u, rows, factor, found)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    values, found = diagonal(u)
    assert (values > 0).all()
    own = np.diagonal(central_differences(lambda v: diagonal(v)[0], u))
    np.testing.assert_allclose(found, own, rtol=1e-4, atol=1e-5)


@pytest.mark.long
@pytest.mark.parametrize("sampler", ["sgrld", "sgrld-dense", "sgrhmc"])
def test_riemannian_samplers_have_the_law(sampler):
    """A Dirichlet posterior, of variances within 5 % + 4 MCSE at h = 0.1."""
    b = PRIOR + COUNTS
    x = b / b.sum()
    center, scale = np.log(x[:3] / x[3]), (b.sum() * x * (1 - x))[:3] ** -0.5
    draws = sample(
        mirrored(TOY, "entropic"),
        SAMPLERS[sampler](),
        Full(),
        step_size=0.1,
        n_draws=20_000,
        thin=20,
        burn_in=200,
        start=center,
        coordinates=Diagonal(center, scale),
        random_state=0,
    )[0]
    check_moments(draws, beta_marginals(PRIOR + COUNTS), tolerance=0.05)


# What the rest of the package does with such a model
def test_mode_curvature_control_variates_and_scores():
    """A Dirichlet posterior by everything that a regression's goes through."""
    model, b = mirrored(TOY, "entropic"), PRIOR + COUNTS
    mode = find_mode(model)
    x = b / b.sum()
    np.testing.assert_allclose(mode, np.log(x[:3] / x[3]), atol=1e-3)
    exact = b.sum() * (np.diag(x) - np.outer(x, x))[:3, :3]
    np.testing.assert_allclose(
        curvature_matrix(model, mode), exact, rtol=0.01, atol=0.1
    )
    np.testing.assert_allclose(
        curvature_diagonal(model, mode), np.diag(exact), rtol=0.01
    )
    region = geometry(model, mode)
    draws = sample(
        model,
        LeimkuhlerMatthews(),
        ControlVariate(20, mode),
        step_size=0.3,
        n_draws=40_000,
        thin=4,
        burn_in=100,
        coordinates=region.coordinates,
        start=mode,
        random_state=0,
    )[0]
    # A minibatch of differences inflates variances by less than 3 %.
    check_moments(draws, beta_marginals(b), tolerance=0.03)
    # KSD in the free parameters: of these draws, and of draws 1.2 times too wide.
    some = draws[::40]
    scores = posterior_scores(model, some)
    free = np.array([theta_of(model, draw) for draw in some])
    wide = free.mean(axis=0) + 1.2 * (free - free.mean(axis=0))
    ends = np.exp(np.column_stack([wide, np.zeros(len(wide))]))
    ends /= ends.sum(axis=1, keepdims=True)
    good = kernel_stein_discrepancy(free, scores)
    bad = kernel_stein_discrepancy(wide, posterior_scores(model, ends))
    assert bad > 1.5 * good


def test_mode_of_a_model_that_is_not_log_concave():
    model = Transformed(TOY, StickBreaking(4))
    mode = find_mode(model)
    out = np.zeros(3)
    log_posterior(model, init_work(model), mode, out)
    sd = 1 / np.sqrt(curvature_diagonal(model, mode))
    assert np.abs(out * sd).max() < 0.01
