"""Laws of coefficients, scales that are learned, and coordinates that follow them."""

import numpy as np
import pytest
from scipy import linalg, special, stats

from skbayes_sg.kernels.following import following
from skbayes_sg.kernels.generic import entry_point
from skbayes_sg.kernels.priors import Horseshoe, Laplace, Mixture, Normal
from skbayes_sg.kernels.priors.horseshoe import scaled_integral
from skbayes_sg.kernels.priors.protocol import (
    draw_precision,
    draw_prior,
    log_density,
    slope,
)
from skbayes_sg.kernels.protocol.coordinates import (
    follow,
    of_one_chain,
    pull_back,
    pull_back_rows,
    to_position,
    to_theta,
)

LAWS = [Normal(), Laplace(), Horseshoe()]


@entry_point
def precisions(law, z, rng, out):
    for i in range(out.size):
        out[i] = draw_precision(law, z, rng)


@entry_point
def scales(prior, beta, rng, out):
    scale, precision = np.ones(1), np.zeros(beta.size)
    for i in range(out.size):
        draw_prior(prior, beta, 0, scale, precision, rng)
        out[i] = np.log(scale[0])


@entry_point
def move(coordinates, precision, theta, position, g, back, out):
    follow(coordinates, precision, theta, position)
    to_theta(coordinates, position, back)
    pull_back(coordinates, g, out)


@pytest.mark.parametrize("x", [1e-12, 0.3, 1.0, 1.001, 3.0, 40.0, 1e6])
def test_scaled_integral(x):
    expected = special.exp1(x) * np.exp(x) if x < 100 else 1 / x - 1 / x**2 + 2 / x**3
    assert abs(scaled_integral(x) / expected - 1) < 1e-12


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
@pytest.mark.parametrize("z", [-3.0, 0.01, 0.7, 2.0])
def test_slopes_are_derivatives(law, z):
    ends = log_density(law, z + 1e-6), log_density(law, z - 1e-6)
    assert abs((ends[0] - ends[1]) / 2e-6 / slope(law, z) - 1) < 1e-5


@pytest.mark.parametrize("z", [1e-9, 0.4, 1.4142, 5.0])
def test_precisions_have_their_laws(z):
    """40,000 draws each: shares below a quantile have an error of 0.25 %."""
    out, rng = np.empty(40_000), np.random.default_rng(0)
    precisions(Laplace(), z, rng, out)
    mean, shape = np.sqrt(2) / z, 2.0
    law = stats.invgauss(mean / shape, scale=shape)
    for q in (0.1, 0.5, 0.9):
        assert abs(np.mean(out < law.ppf(q)) - q) < 0.01
    precisions(Horseshoe(), z, rng, out)
    x = 0.5 * z * z

    def below(t):  # of t = log(1 + precision), whose density is exp(-x e^t)
        return special.exp1(x) - special.exp1(x * np.exp(t))

    total = special.exp1(x)
    t = np.log1p(out)
    for point in np.quantile(t, [0.1, 0.5, 0.9]):
        assert abs(np.mean(t < point) - below(point) / total) < 0.01


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_scales_have_their_law(law):
    """20,000 dependent draws: means have an error of about 0.015 sd, sds of 1.5 %."""
    beta, unit, width = np.array([0.3, -1.0, 0.01, 2.0]), np.array([1, 1, 2, 0.5]), 0.7
    prior = Mixture(law, unit, width)

    def density(u):
        total = sum(
            log_density(law, b * np.exp(-u) / r)
            for b, r in zip(beta, unit, strict=True)
        )
        return np.exp(total - 3 * u - np.log1p((np.exp(u) / width) ** 2))

    u = np.linspace(-8, 8, 2001)
    weights = np.array([density(each) for each in u])
    weights /= weights.sum()
    mean = weights @ u
    sd = np.sqrt(weights @ (u - mean) ** 2)
    out = np.empty(20_000)
    scales(prior, beta, np.random.default_rng(0), out)
    assert abs(out.mean() - mean) < 0.06 * sd and abs(out.std() / sd - 1) < 0.05


@pytest.mark.parametrize("law", LAWS, ids=lambda law: type(law).__name__)
def test_chains_that_have_diverged_do_not_hang(law):
    """Their scales stay; until the next check, no loop waits for what cannot come."""
    for far in (np.nan, np.inf, 1e300):
        out, rng = np.empty(3), np.random.default_rng(0)
        with np.errstate(all="ignore"):
            scales(Mixture(law, np.ones(4), 0.7), np.full(4, far), rng, out)
            precisions(law, far, rng, out)


@pytest.mark.parametrize("dense", [True, False])
def test_coordinates_follow_and_theta_stays(dense):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(5, 5))
    H = root @ root.T + np.eye(5)
    information = H if dense else np.diag(H).copy()
    center, theta, g = rng.normal(size=(3, 5))
    given = rng.uniform(size=5)
    shared = following(center, information, given, np.ones(5))
    own = of_one_chain(shared)
    position, back, pulled = np.empty(5), np.empty(5), np.empty(5)
    precision = np.array([1e12, 0.0, 3.0, 1e-3, 50.0])
    move(own, precision, theta, position, g, back, pulled)
    np.testing.assert_allclose(back, theta)
    np.testing.assert_allclose(to_position(own, theta), position)
    np.testing.assert_allclose(pull_back_rows(own, g[None])[0], pulled)
    matrix = (H if dense else np.diag(information)) + np.diag(given + precision)
    np.testing.assert_allclose(pulled @ pulled, g @ np.linalg.solve(matrix, g))
    first = following(center, information, given, np.ones(5))
    np.testing.assert_array_equal(shared.root, first.root)  # of other chains


def test_coordinates_read_only_what_was_written(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(np, "empty", lambda shape: np.full(shape, np.nan))
        own = following(np.zeros(5), np.eye(5), np.zeros(5), np.ones(5))
    np.testing.assert_allclose(to_position(own, np.ones(5)), np.sqrt(2.0))
    np.testing.assert_allclose(pull_back_rows(own, np.ones((1, 5))), np.sqrt(0.5))


@pytest.mark.parametrize("dense", [True, False])
def test_coordinates_follow_noise_that_steps_leave_alone(dense):
    """Four coefficients of two outputs, and the log precisions of their noise."""
    rng = np.random.default_rng(0)
    roots = rng.normal(size=(2, 2, 2))
    H = linalg.block_diag(*(root @ root.T + np.eye(2) for root in roots), 0.0, 0.0)
    information = H if dense else np.diag(H).copy()
    center, theta, g = rng.normal(size=(3, 6))
    given, noise = rng.uniform(size=6), np.array([4, 4, 5, 5, 4, 5])
    own = of_one_chain(following(center, information, given, np.ones(6), noise))
    assert np.allclose(to_position(own, center), 0.0)
    position, back, pulled = np.empty(6), np.empty(6), np.empty(6)
    precision = rng.uniform(size=6)
    move(own, precision, theta, position, g, back, pulled)
    np.testing.assert_allclose(back, theta)
    tau = np.exp(theta[noise[:4]])
    matrix = tau[:, None] * (H if dense else np.diag(information))[:4, :4]
    matrix += np.diag((given + precision)[:4])
    expected = g[:4] @ np.linalg.solve(matrix, g[:4])
    np.testing.assert_allclose(pulled @ pulled, expected)
    move(own, precision, theta, position + 1.0, g, back, pulled)
    to_theta(own, position + 1.0, back)
    assert np.ptp(back[:4] - theta[:4]) > 0.1
    np.testing.assert_allclose(back[4:], theta[4:], atol=1e-9)
