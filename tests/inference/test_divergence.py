"""Draws that are far outside of the posterior."""

import numpy as np
import pytest

from skbayes_sg import DivergenceError, SGHMCLogisticRegression
from skbayes_sg.inference.divergence import ESCAPED, check_escape


def test_one_draw_far_outside():
    draws = np.random.default_rng(0).normal(size=(2, 50, 300))
    center, sd = np.zeros(300), np.ones(300)
    check_escape(draws, center, sd, 1.0)
    for sign in (-1.0, 1.0):
        draws[1, 7, 123] = 1.1 * sign * ESCAPED
        with pytest.raises(DivergenceError, match=r"parameter 123 is 44 .*=0.25"):
            check_escape(draws, center, sd, 1.0)
    draws[1, 7, 123] = np.nan
    with pytest.raises(DivergenceError):
        check_escape(draws, center, sd, 1.0)


def test_a_chain_that_wanders_off_is_reported():
    # One positive in 2,000: too large a step jumps to where -log p is nearly flat.
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = np.zeros(2000)
    y[0] = 1
    with pytest.raises(DivergenceError, match="posterior standard deviations"):
        model = SGHMCLogisticRegression(step_size=3.5, gradient="full", random_state=0)
        model.set_params(n_draws=200, thin=5, burn_in=0).fit(X, y)
