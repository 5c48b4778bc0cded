"""Step sizes as functions of the iteration."""

import numpy as np
import pytest

from skbayes_sg.kernels.schedules import (
    SCHEDULES,
    Constant,
    Cyclical,
    Polynomial,
    step_size_at,
)

H = 0.3


def steps(schedule, times):
    return np.array([step_size_at(schedule, t) for t in times])


@pytest.mark.parametrize("name", SCHEDULES)
def test_starts_at_h_and_never_exceeds_it(name):
    h = steps(SCHEDULES[name](H), range(5000))
    assert h[0] == H
    assert np.all((h > 0) & (h <= H))


def test_constant():
    assert set(steps(Constant(H), [0, 1, 10, 10**9])) == {H}


def test_polynomial_falls_with_its_exponent():
    schedule = Polynomial(H, exponent=0.4, delay=50.0)
    np.testing.assert_allclose(step_size_at(schedule, 50), H * 2.0**-0.4)
    assert np.all(np.diff(steps(schedule, range(100))) < 0)
    early, late = steps(schedule, [10**7, 10**8])
    np.testing.assert_allclose(np.log10(late / early), -0.4, rtol=1e-4)


def test_polynomial_default_exponent():
    early, late = steps(Polynomial(H), [10**9, 8 * 10**9])
    np.testing.assert_allclose(early / late, 2.0, rtol=1e-5)


def test_cyclical_is_a_cosine():
    schedule = Cyclical(H, period=8)
    np.testing.assert_allclose(
        steps(schedule, range(0, 9, 2)),
        H * np.array([1.0, 0.5 + np.sqrt(0.125), 0.5, 0.5 - np.sqrt(0.125), 1.0]),
    )
    np.testing.assert_array_equal(
        steps(schedule, range(8)), steps(schedule, range(80, 88))
    )
