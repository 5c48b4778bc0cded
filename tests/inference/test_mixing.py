"""Effective sample sizes and R-hat against ArviZ, errors against known laws."""

import numpy as np
import pytest
from scipy.signal import lfilter

from skbayes_sg.inference.mixing import effective_sample_size, r_hat, standard_error

array_stats = pytest.importorskip("arviz_stats.base").array_stats
AXES = {"chain_axis": 0, "draw_axis": 1}


def autoregressive(rng, rho, shape):
    """Return stationary chains of N(0, 1) with the autocorrelations rho^lag."""
    noise = rng.standard_normal(shape)
    noise[:, 1:] *= np.sqrt(1 - rho**2)
    return lfilter([1.0], [1.0, -rho], noise, axis=1)


@pytest.mark.parametrize("n_draws", [100, 501])
@pytest.mark.parametrize("rho", [-0.3, 0.0, 0.5, 0.95])
def test_as_arviz(rng, rho, n_draws):
    """ArviZ ends the sum of autocorrelations elsewhere now and then.

    Its errors leave out the variance between chains.
    """
    draws = autoregressive(rng, rho, (4, n_draws, 6))
    draws[0, :, 1] += 1  # chains that disagree in their means
    draws[0, :, 2] *= 3  # and in their widths
    np.testing.assert_allclose(r_hat(draws), array_stats.rhat(draws, **AXES))
    expected = array_stats.ess(draws, **AXES)
    np.testing.assert_allclose(effective_sample_size(draws), expected, rtol=0.1)
    expected = array_stats.mcse(draws, **AXES)
    np.testing.assert_allclose(standard_error(draws), expected, rtol=0.1)


def test_one_chain_disagrees_with_itself(rng):
    draws = rng.standard_normal((1, 400, 2))
    draws[..., 1] += np.linspace(0, 4, 400)
    good, drifting = r_hat(draws)
    assert good < 1.02 < 1.5 < drifting


@pytest.mark.parametrize("rho", [0.0, 0.8])
def test_standard_error(rng, rho):
    """Root mean square of 200 means over that of their errors: 1 within 5 %, 3 times.

    The variance of a mean of n autoregressive draws is (1 + rho) / (1 - rho) / n.
    """
    draws = autoregressive(rng, rho, (4, 500, 200))
    exact = np.sqrt((1 + rho) / (1 - rho) / 2000)
    estimates = standard_error(draws)
    assert np.sqrt(np.mean(estimates**2)) == pytest.approx(exact, rel=0.05)
    assert draws.mean(axis=(0, 1)).std() == pytest.approx(exact, rel=0.15)


def test_chains_that_do_not_move():
    still = np.ones((2, 20, 1))
    assert np.isnan(r_hat(still)).all() and np.isnan(effective_sample_size(still)).all()
