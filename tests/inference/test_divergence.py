"""Draws that are far outside of the posterior."""

import numpy as np
import pytest

from skbayes_sg import DivergenceError, SGHMCLogisticRegression
from skbayes_sg.inference.divergence import ESCAPED, check_escape, farthest_draw


def test_one_draw_far_outside():
    draws = np.random.default_rng(0).normal(size=(100, 300))
    center, sd = np.zeros(300), np.ones(300)
    check_escape(draws, center, sd, ESCAPED, 1.0)
    for sign in (-1.0, 1.0):
        draws[57, 123] = 1.1 * sign * ESCAPED
        with pytest.raises(DivergenceError, match=r"parameter 123 is 44 .*=0.25"):
            check_escape(draws, center, sd, ESCAPED, 1.0)
    draws[57, 123] = np.nan
    with pytest.raises(DivergenceError):
        check_escape(draws, center, sd, ESCAPED, 1.0)


def test_farthest_draw_of_exponential_numbers():
    # The sd of an exponential is 1: as heavy a tail as log-concave densities have.
    numbers = np.random.default_rng(1).exponential(size=(200, 4000))
    # Each set of 4,000 exceeds the limit with probability exp(-6): 0.5 of 200 sets.
    assert np.mean(numbers.max(axis=1) - 1 > farthest_draw(4000)) < 0.02
    assert farthest_draw(4000) < 14 and farthest_draw(10**30) == ESCAPED


def test_a_chain_that_wanders_off_is_reported():
    # One positive in 2,000: too large a step jumps to where -log p is nearly flat.
    X = np.random.default_rng(0).normal(size=(2000, 2))
    y = np.zeros(2000)
    y[0] = 1
    with pytest.raises(DivergenceError, match="posterior standard deviations"):
        model = SGHMCLogisticRegression(step_size=3.5, gradient="full", random_state=0)
        model.set_params(n_draws=200, thin=5, burn_in=0).fit(X, y)
