"""References are sharp, belong to their data, and come from a right sampler."""

import itertools

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.sparse import csr_matrix
from scipy.special import expit, log_expit
from scipy.stats import norm

from tests.references.load import CASES, reference

pytest.importorskip("arviz_stats")
make_reference = pytest.importorskip("benchmarks.make_reference")


@pytest.mark.parametrize("name", CASES)
def test_reference_is_sharp(name):
    ref = reference(name)
    n_features = ref.info["data"]["shape"][1]
    for array in (ref.mean, ref.sd, ref.mcse, ref.mcse_sd):
        assert array.shape == (n_features + 1,)
    assert ref.info["min_ess_mean"] >= 10_000 and ref.info["max_rhat"] < 1.01
    assert np.all(ref.mcse <= 0.01 * ref.sd)
    assert np.all(ref.mcse_sd <= 0.012 * ref.sd)


@pytest.mark.parametrize("name", ["logistic_d10", "logistic_d10_badly_scaled", "a9a"])
def test_reference_belongs_to_its_data(name, request):
    """Mean and sd are near those of the normal approximation at the mode."""
    if name == "a9a":
        request.getfixturevalue("data_dir")
    ref = reference(name)
    posterior = make_reference.LogisticPosterior(*ref.load())
    mode = posterior.mode()
    sd = np.sqrt(np.diag(np.linalg.inv(posterior.hessian(mode))))
    tolerance = 0.6 if name == "a9a" else 0.1  # rare features have skewed posteriors
    assert np.all(abs(ref.mean - mode[:, 0]) < tolerance * ref.sd)
    np.testing.assert_allclose(ref.sd, sd, rtol=0.5 * tolerance)


@pytest.mark.parametrize("form", [np.asarray, csr_matrix])
def test_gradient(form):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(50, 3)), rng.integers(2, size=50)
    theta = rng.normal(size=4)
    posterior = make_reference.LogisticPosterior(form(X), y)
    _, gradient = posterior.potential_and_gradient(theta[:, None])
    numeric = approx_fprime(
        theta, lambda t: posterior.potential_and_gradient(t[:, None])[0][0], 1e-7
    )
    np.testing.assert_allclose(gradient[:, 0], numeric, rtol=1e-5)


def test_sampler_against_quadrature():
    """A skewed posterior in two dimensions, moments within 4 Monte Carlo errors."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 1))
    y = (rng.uniform(size=30) < expit(3 * X[:, 0] + 1)).astype(int)
    grid = np.linspace(-6, 16, 400)
    theta = np.array(np.meshgrid(grid, grid)).reshape(2, -1)
    sign = 2 * y[:, None] - 1
    log_p = log_expit(sign * (X * theta[0] + theta[1])).sum(axis=0)
    log_p += norm.logpdf(theta, scale=np.sqrt(10)).sum(axis=0)
    weights = np.exp(log_p - log_p.max())
    weights /= weights.sum()
    mean = theta @ weights
    sd = np.sqrt((theta - mean[:, None]) ** 2 @ weights)

    posterior = make_reference.LogisticPosterior(X, y)
    chains = make_reference.hamiltonian_chains(posterior, seed=0)
    states = [state for state, _, _ in itertools.islice(chains, 1500)]
    draws = np.stack(states, axis=1)
    squares = (draws - mean) ** 2
    ess_mean, ess_var = make_reference.ess(draws), make_reference.ess(squares)
    assert min(ess_mean.min(), ess_var.min()) > 3000
    error = draws.std(axis=(0, 1)) / np.sqrt(ess_mean)
    assert np.all(abs(draws.mean(axis=(0, 1)) - mean) < 4 * error)
    error = squares.std(axis=(0, 1)) / np.sqrt(ess_var)
    assert np.all(abs(squares.mean(axis=(0, 1)) - sd**2) < 4 * error)
