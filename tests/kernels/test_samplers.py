"""What every listed sampler promises, and the bugs that none may have."""

import numpy as np
import pytest

from skbayes_sg import sample
from skbayes_sg.inference.targets import make_target
from skbayes_sg.kernels.coordinates import Dense, Identity
from skbayes_sg.kernels.generic import for_kernels
from skbayes_sg.kernels.gradients import Full, Minibatch
from skbayes_sg.kernels.models import GaussianMean
from skbayes_sg.kernels.protocol.gradient import is_exact
from skbayes_sg.kernels.protocol.sampler import (
    accurate_step,
    init_state,
    least_friction,
    relaxation,
    sampler_stats,
    stable_step,
    step,
    with_noise_absorbed,
)
from skbayes_sg.kernels.protocol.target import locate
from skbayes_sg.kernels.samplers import (
    BADODAB,
    HMC,
    MALA,
    PSGLD,
    SAMPLERS,
    SGHMC,
    SGLD,
    SGNHT,
    SGRLD,
)
from tests.probe import (
    Scripted,
    advance,
    linear_map,
    new_state,
    noise_map,
    stationary_covariance,
    target_of,
    variables,
)
from tests.targets import (
    NoisyFull,
    check_law,
    gaussian,
    gradient_covariance,
    posterior,
    regression,
    sgld_law,
)

EXACT = ("mala", "hmc")
LINEAR = (
    "sgld",
    "sgld-lm",
    "sgrld",
    "sgrld-dense",
    "sghmc",
    "sgrhmc",
    "baoab",
    "recipe",
)
THERMOSTATS = ("sgnht", "badodab")
INEXACT = [name for name in SAMPLERS if name not in EXACT]
UNIT = gaussian(2, smallest=1.0)  # precision I


def gradient_of(name, batch_size=4):
    return Full() if name in EXACT else Minibatch(batch_size)


@pytest.mark.parametrize("name", SAMPLERS)
def test_state_is_of_the_positions_dtype_and_its_own(name):
    position = np.arange(3, dtype=np.float32)
    state = init_state(SAMPLERS[name](), position, np.random.default_rng(0))
    np.testing.assert_array_equal(state.position, position)
    assert not np.shares_memory(state.position, position)
    arrays = [array for array in state if array.ndim and array.shape[-1] == 3]
    assert all(array.dtype == np.float32 for array in arrays)


@pytest.mark.parametrize("name", SAMPLERS)
def test_zero_gradient_and_no_noise_leave_it_still(name):
    target = target_of(UNIT)
    mean, _ = posterior(UNIT)
    state = new_state(SAMPLERS[name](), target, position=mean)
    for _ in range(3):
        step(SAMPLERS[name](), state, target, 0.5, Scripted())
    np.testing.assert_allclose(state.position, mean, rtol=1e-14)


@pytest.mark.parametrize("name", SAMPLERS)
def test_compiled_steps_are_the_same_as_in_python(name):
    sampler, gradient, n_steps = SAMPLERS[name](), gradient_of(name, 2), 5
    model = for_kernels(gaussian(10, smallest=1.0))
    start, _ = posterior(model)
    draws = sample(
        model,
        sampler,
        gradient,
        step_size=0.3,
        n_draws=n_steps,
        start=start,
        random_state=np.random.SeedSequence(5),
    )[0]
    rng = np.random.default_rng(np.random.SeedSequence(5).spawn(1)[0])
    target = make_target(model, for_kernels(gradient), Identity(), rng)
    state = init_state(sampler, start, rng)
    for draw in draws:
        step(for_kernels(sampler), state, target, 0.3, rng)
        np.testing.assert_allclose(draw, locate(target, state.position), rtol=1e-10)
    assert np.ptp(draws, axis=0).min() > 0  # and they do move


@pytest.mark.parametrize("name", SAMPLERS)
def test_accurate_step_gives_the_accuracy_it_promises(name):
    """Draws within the tolerance of 4 %, plus 4 MCSE of at most 1 %."""
    sampler, model = SAMPLERS[name](), gaussian(10, smallest=1.0)
    mean, precision = posterior(model)
    h = accurate_step(sampler, 0.0, 0.04)
    thin = max(1, round(relaxation(sampler, h) / 2))
    draws, info = sample(
        model,
        sampler,
        gradient_of(name),
        step_size=h,
        n_draws=100_000,
        thin=thin,
        burn_in=1000,
        start=mean,
        random_state=3,
        return_info=True,
    )
    check_law(draws[0], mean, np.linalg.inv(precision), tolerance=0.041)
    assert (name in EXACT) == ("acceptance" in info.stats[0])


@pytest.mark.parametrize("tolerance", [0.01, 0.04])
@pytest.mark.parametrize("variance", [0.0, 0.1, 1.0, 20.0])
@pytest.mark.parametrize("name", LINEAR)
def test_accurate_step_by_the_law_of_the_scheme(name, variance, tolerance):
    """The error is the tolerance, or the step as large as stability lets it be."""
    sampler = SAMPLERS[name]()
    h = accurate_step(sampler, variance, tolerance)
    covariance = stationary_covariance(sampler, target_of(UNIT, NoisyFull(variance)), h)
    error = np.abs(np.diag(covariance) - 1.0).max()
    assert error <= tolerance * (1 + 1e-6)
    assert error > 0.9 * tolerance or h >= 0.25 * stable_step(sampler)


@pytest.mark.parametrize("name", LINEAR)
def test_stable_step_is_the_limit_of_stability(name):
    sampler = SAMPLERS[name]()
    for factor, stable in ((0.99, True), (1.01, False)):
        a, _ = linear_map(sampler, target_of(UNIT), factor * stable_step(sampler))
        assert (np.abs(np.linalg.eigvals(a)).max() < 1) == stable


@pytest.mark.parametrize("name", LINEAR)
def test_relaxation_is_that_of_the_scheme(name):
    sampler = SAMPLERS[name]()
    for h in (0.1, 0.5):
        a, _ = linear_map(sampler, target_of(UNIT), h)
        radius = np.abs(np.linalg.eigvals(a)).max()
        expected = max(-1 / np.log(radius), 1.0)
        np.testing.assert_allclose(relaxation(sampler, h), expected, rtol=1e-6)


@pytest.mark.parametrize("name", SAMPLERS)
def test_step_sizes_are_in_order(name):
    sampler = SAMPLERS[name]()
    steps = [accurate_step(sampler, v, 0.04) for v in (0.0, 0.1, 1.0, 100.0)]
    assert 0 < steps[-1]
    assert steps[0] < stable_step(sampler)
    if name != "psgld":  # its units grow with the noise
        assert np.all(np.diff(steps) <= 0)
    assert accurate_step(sampler, 1.0, 0.01) <= accurate_step(sampler, 1.0, 0.04)
    assert relaxation(sampler, 0.1) >= relaxation(sampler, 0.2) >= 1.0


@pytest.mark.parametrize("name", LINEAR)
def test_bias_falls_with_the_step_size(name):
    sampler, target = SAMPLERS[name](), target_of(UNIT, NoisyFull(0.5))
    biases = [
        abs(stationary_covariance(sampler, target, h)[0, 0] - 1.0)
        for h in (0.8, 0.4, 0.2)
    ]
    assert biases[0] > biases[1] > biases[2] > 0


@pytest.mark.parametrize("name", LINEAR)
def test_temperature(name):
    """At temperature 2 the variances are twice as large."""
    model = gaussian(2)
    covariance = stationary_covariance(
        SAMPLERS[name](), target_of(model, temperature=2.0), 0.01
    )
    expected = 2 * np.linalg.inv(model.precision)
    np.testing.assert_allclose(covariance, expected, rtol=0.01, atol=0.01)


@pytest.mark.parametrize("name", [*EXACT, *THERMOSTATS, "psgld"])
def test_temperature_of_nonlinear_schemes(name):
    """A step at temperature 2 is a step on the target with half the precision."""
    model, sampler = gaussian(2), SAMPLERS[name]()
    flat = model._replace(precision=0.5 * model.precision)
    normals = np.random.default_rng(0).standard_normal(20)
    z = variables(new_state(sampler, target_of(model))) + 0.3
    hot, _ = advance(sampler, target_of(model, temperature=2.0), z, 0.3, normals)
    np.testing.assert_allclose(
        hot, advance(sampler, target_of(flat), z, 0.3, normals)[0]
    )


@pytest.mark.parametrize("name", LINEAR)
def test_noise_correction_gives_the_law_of_exact_gradients(name):
    sampler, h = SAMPLERS[name](), 0.3

    def variance(noise, removed):
        target = target_of(UNIT, NoisyFull(noise), removed=removed)
        return stationary_covariance(sampler, target, h)[0, 0]

    exact, noisy, corrected = variance(0, 0), variance(2, 0), variance(2, 2)
    assert noisy > 1.1 * exact
    assert abs(corrected - exact) < 0.1 * (noisy - exact)


@pytest.mark.parametrize("name", [*THERMOSTATS, "psgld"])
def test_noise_correction_makes_room_for_the_gradient_noise(name):
    """Injected and gradient noise of a step together: that of exact gradients."""
    sampler = SAMPLERS[name]()
    z = variables(new_state(sampler, target_of(UNIT))) + 0.2

    def spread(noise, removed):
        target = target_of(UNIT, NoisyFull(noise), removed=removed)
        b = noise_map(sampler, target, z, 0.3)
        return b @ b.T

    exact, noisy, corrected = spread(0, 0), spread(2, 0), spread(2, 2)
    assert np.abs(noisy - exact).max() > 0.03 * np.abs(exact).max()
    assert np.abs(corrected - exact).max() < 0.15 * np.abs(noisy - exact).max()


@pytest.mark.parametrize("name", INEXACT)
def test_noise_correction_stops_at_no_noise(name):
    """Where the gradient brings more noise than there should be, none is injected."""
    sampler, target = SAMPLERS[name](), target_of(UNIT, removed=1e6)
    z = variables(new_state(sampler, target)) + 0.2
    b = noise_map(sampler, target, z, 0.3)
    assert np.isfinite(b).all()
    assert np.abs(b[:2]).max() < 1e-12 or name == "sgld-lm"


@pytest.mark.parametrize("corrects", [False, True])
def test_noise_correction_removes_the_inflation(corrects):
    """The variance on line, from minibatches: that of exact gradients, or inflated."""
    model, h = gaussian(1, spread=4.0), 0.5
    mean, precision = posterior(model)
    draws = sample(
        model,
        SGLD(),
        Minibatch(2),
        step_size=h,
        n_draws=200_000,
        burn_in=2000,
        start=mean,
        noise_correction=corrects,
        random_state=0,
    )[0]
    noise = gradient_covariance(model, 2)
    exact, noisy = sgld_law(precision, 0 * noise, h), sgld_law(precision, noise, h)
    assert noisy[0, 0] > 1.1 * exact[0, 0]
    if corrects:  # but for the error of the variance on line, a slow average
        check_law(draws, mean, exact, tolerance=0.01)
    else:
        check_law(draws, mean, noisy)


def noisy_gaussian(variances):
    """A unit Gaussian; minibatches of one row have gradients of these variances."""
    d = len(variances)
    spikes = np.diag(np.sqrt(d * variances))
    model = GaussianMean(10.0 + np.vstack([spikes, -spikes]), np.eye(d))
    noise = gradient_covariance(model, 1)
    np.testing.assert_allclose(noise, np.diag(variances), atol=1e-12)
    return model


@pytest.mark.parametrize("name", THERMOSTATS)
def test_thermostats_absorb_gradient_noise(name):
    """Noise alike in all directions: within 2 % + 4 MCSE, far beyond SGLD's step."""
    d, h = 10, 0.3
    model = noisy_gaussian(np.full(d, 4.0))
    mean, precision = posterior(model)
    noise = gradient_covariance(model, 1)
    assert sgld_law(precision, noise, h)[0, 0] > 1.3
    draws = sample(
        model,
        SAMPLERS[name](),
        Minibatch(1),
        step_size=h,
        n_draws=100_000,
        thin=8,
        burn_in=1000,
        start=mean,
        random_state=1,
    )[0]
    # Euler's variance is 1 - eps eta / 2 where eta = A + eps V / 2 and eps = h / 2.
    variance = 1 - 0.25 * h * (0.5 + 0.25 * h * 4.0) if name == "sgnht" else 1.0
    check_law(draws, mean, variance * np.eye(d), tolerance=0.02)


@pytest.mark.parametrize("name", THERMOSTATS)
def test_steps_of_thermostats_allow_for_what_they_absorb(name):
    """Draws within the tolerance of 4 %, and as long remembered as foreseen."""
    sampler, variances = SAMPLERS[name](), np.linspace(195.0, 205.0, 10)
    model = noisy_gaussian(variances)
    mean, precision = posterior(model)
    h = accurate_step(sampler, variances, 0.04)
    assert h > 2 * accurate_step(sampler, 200.0, 0.04)  # in one coordinate alone
    alike = with_noise_absorbed(sampler, h, 200.0)
    draws = sample(
        model,
        sampler,
        Minibatch(1),
        step_size=h,
        n_draws=100_000,
        thin=round(relaxation(alike, h) / 2),
        burn_in=1000,
        start=mean,
        random_state=4,
    )[0]
    check_law(draws, mean, np.linalg.inv(precision), tolerance=0.041)
    lag = np.mean((draws[2:] - mean) * (draws[:-2] - mean)) / draws.var()
    assert 0.25 < lag < 0.65  # 1 / e, or 2 / e at the critical friction
    assert with_noise_absorbed(SGLD(), h, 200.0) == SGLD()


# Bugs seen elsewhere
def test_momentum_is_refreshed_with_variance_one():
    rng = np.random.default_rng(0)
    target, normals = target_of(UNIT), rng.standard_normal(2)
    state = new_state(SGHMC(0.5, 1, resample=True), target, momentum=9.0)
    mean, _ = posterior(UNIT)
    state.position[:] = mean
    step(SGHMC(0.5, 1, resample=True), state, target, 0.2, Scripted(normals))
    np.testing.assert_allclose(state.position - mean, 0.1 * normals)


@pytest.mark.parametrize("n_leapfrog", [1, 5])
def test_each_inner_step_has_noise_and_minibatch_of_its_own(n_leapfrog):
    target = target_of(UNIT, NoisyFull(1.0))
    z = np.zeros(4)
    b = noise_map(SGHMC(0.5, n_leapfrog), target, z, 0.2)
    assert b.shape[1] == n_leapfrog * 4  # two of the gradient, two injected
    assert np.abs(b[2:]).max(axis=0).min() > 0.01


def test_minibatches_of_inner_steps_differ():
    model = for_kernels(gaussian(1, n_rows=50))
    rng = np.random.default_rng(0)
    target = make_target(model, for_kernels(Minibatch(5)), Identity(), rng)
    seen, permutation = [], target.memory.permutation

    class Watched(Scripted):
        def random(self):
            seen.append(tuple(permutation[:5]))
            return rng.random()

    state = new_state(SGHMC(0.5, 4), target)
    step(SGHMC(0.5, 4), state, target, 0.2, Watched())
    assert len(set(seen[::5])) == 4


def test_thermostat_weighs_the_squared_momentum():
    state = new_state(SGNHT(0.5), target_of(UNIT), momentum=3.0, thermostat=0.0)
    mean, _ = posterior(UNIT)
    state.position[:] = mean
    step(SGNHT(0.5), state, target_of(UNIT), 0.2, Scripted())
    np.testing.assert_allclose(state.thermostat, 0.1 * (3.0**2 - 1.0))


@pytest.mark.parametrize("sampler", [SGNHT(), BADODAB()])
def test_thermostats_of_few_parameters_need_noise(sampler):
    # By simulation: with A = 0.02 and curvature 1 / 16, sds of 20 parameters were 0.81
    # of the truth, and 0.98 with A = 0.3.
    assert least_friction(sampler, 25) == 0.2
    assert least_friction(SGHMC(), 25) == 0.0


def test_thermostat_without_friction():
    state = new_state(BADODAB(), target_of(UNIT), momentum=1.0, thermostat=0.0)
    state.position[:] = posterior(UNIT)[0]
    step(BADODAB(), state, target_of(UNIT), 0.2, Scripted([1.0, 1.0]))
    assert np.isfinite(variables(state)).all()


@pytest.mark.parametrize("decay", [0.9, 0.99])
def test_psgld_has_its_gamma(decay):
    """Variances within 6 % + 4 MCSE; they are 1.45 and 1.1 times too large without."""
    model = gaussian(10, smallest=1.0)
    mean, precision = posterior(model)
    draws = sample(
        model,
        PSGLD(decay),
        Minibatch(4),
        step_size=0.1,
        n_draws=100_000,
        thin=8,
        burn_in=1000,
        start=mean,
        random_state=0,
    )[0]
    check_law(draws, mean, np.linalg.inv(precision), tolerance=0.06)


@pytest.mark.parametrize("sampler", [MALA(), HMC(3)])
def test_rejected_proposals_leave_the_state_as_it_was(sampler):
    class Rejecting(Scripted):
        def random(self):
            return 0.0  # log(1 - 0) = 0 is below no energy difference that is negative

    target = target_of(gaussian(2))
    state = new_state(sampler, target)
    state.position[:] = posterior(gaussian(2))[0] + [1.0, -2.0]
    before = state.position.copy()
    step(sampler, state, target, 3.9, Rejecting([0.1, 0.2]))
    np.testing.assert_array_equal(state.position, before)
    assert sampler_stats(sampler, state) == {"acceptance": 0.0}


def test_mala_ratio_is_that_of_the_proposal_densities():
    """The textbook ratio, with q(phi' | phi) = N(phi + h/2 g, h)."""
    model, h = gaussian(3), 1.3
    mean, precision = posterior(model)
    rng = np.random.default_rng(1)
    phi, xi = mean + rng.standard_normal(3), rng.standard_normal(3)

    def log_density(x):
        return -0.5 * (x - mean) @ precision @ (x - mean)

    def log_q(to, origin):
        drift = origin - 0.5 * h * precision @ (origin - mean)
        return -0.5 * np.sum((to - drift) ** 2) / h

    proposal = phi - 0.5 * h * precision @ (phi - mean) + np.sqrt(h) * xi
    ratio = log_density(proposal) - log_density(phi)
    ratio += log_q(phi, proposal) - log_q(proposal, phi)

    class Threshold(Scripted):
        def __init__(self, level):
            super().__init__(xi)
            self.level = level

        def random(self):
            return 1.0 - np.exp(self.level)

    assert ratio < 0
    for level, accepted in ((ratio - 1e-9, True), (ratio + 1e-9, False)):
        state = new_state(MALA(), target_of(model), phi)
        step(MALA(), state, target_of(model), h, Threshold(level))
        expected = proposal if accepted else phi
        np.testing.assert_allclose(state.position, expected)


# Refusals
@pytest.mark.parametrize("name", EXACT)
def test_exact_samplers_need_exact_gradients(name):
    assert is_exact(Full())
    with pytest.raises(ValueError, match="needs the exact gradient"):
        sample(UNIT, SAMPLERS[name](), Minibatch(2), step_size=0.1, n_draws=2)


@pytest.mark.parametrize("name", ["sgrld", "sgrld-dense", "sgrhmc"])
def test_metric_samplers_need_a_metric(name):
    with pytest.raises(ValueError, match="needs a model that implements metric"):
        sample(regression(), SAMPLERS[name](), Full(), step_size=0.1, n_draws=2)


def test_diagonal_metric_needs_diagonal_coordinates():
    coordinates = Dense(np.zeros(2), np.eye(2))
    settings = {"step_size": 0.1, "n_draws": 2, "coordinates": coordinates}
    with pytest.raises(ValueError, match='must be "diagonal" or "none", not Dense'):
        sample(UNIT, SGRLD(), Full(), **settings)
