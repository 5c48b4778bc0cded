"""Random parameters and data: a fit, or an error with a sentence; never a crash."""

from collections import Counter

import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from skbayes_sg import DivergenceError, SGMCMCLogisticRegression

BAD = st.sampled_from([None, 0, -1, 2.5, "x", np.nan, np.inf, True, [], object()])
VALID = {
    "step_size": st.sampled_from(["auto", 0.1, 1e-12, 3.9, 1e12, np.float32(0.5)]),
    "gradient": st.sampled_from(["auto", "full", "minibatch"]),
    "batch_size": st.sampled_from(["auto", 1, 2, np.int64(3), 10**6]),
    "preconditioner": st.sampled_from(["auto", "dense", "diagonal", "none"]),
    "n_draws": st.integers(1, 5),
    "burn_in": st.sampled_from(["auto", 0, 3]),
    "thin": st.sampled_from(["auto", 1, 2]),
    "n_chains": st.integers(1, 3),
    "temperature": st.sampled_from([1, 0.5, 1e-8, 1e8]),
    "prior_variance": st.sampled_from([10.0, 1, 1e-10, 1e10, 1e300, 1e-300]),
    "fit_intercept": st.booleans(),
    "class_weight": st.sampled_from([None, "balanced", {0: 2.0}, {0: 1e-300}, {9: 1}]),
    "warm_start": st.booleans(),
    "n_jobs": st.sampled_from([None, 1, 2]),
    "random_state": st.sampled_from([0, np.random.RandomState(0), 2**32 - 1]),
}
PARAMETERS = st.fixed_dictionaries(
    {},
    optional={
        name: st.one_of(*[valid] * 9, BAD) for name, valid in sorted(VALID.items())
    },
)
NUMBERS = st.one_of(
    st.sampled_from([0.0, 1.0, -1.0]),
    st.floats(-10, 10),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from([np.nan, np.inf, 1e308, -1e308, 5e-324, 1e154, 1e20, 1e-200]),
)


@st.composite
def data(draw):
    n, p = draw(st.integers(1, 8)), draw(st.integers(1, 3))
    wild = draw(st.sampled_from([False, False, True]))
    X = draw(arrays(np.float64, (n, p), elements=NUMBERS if wild else st.floats(-9, 9)))
    labels = st.sampled_from([[0, 1], [0, 1, 2], ["a", "b"], [True, False]])
    y = np.array(draw(st.lists(st.sampled_from(draw(labels)), min_size=n, max_size=n)))
    weights = st.sampled_from([0.0, 1.0, 1e-300, 1e300, 3.0])
    return X, y, draw(st.none() | arrays(np.float64, n, elements=weights))


def outcome(parameters, data):
    """Fit, and return whether it worked or failed as it should."""
    X, y, weights = data
    model = SGMCMCLogisticRegression(n_draws=3, n_chains=1, burn_in=5, thin=1)
    model.set_params(**parameters)
    try:
        model.fit(X, y, sample_weight=weights)
    except (ValueError, TypeError, DivergenceError) as error:
        assert len(str(error).split()) >= 4
        assert "numba" not in str(error).lower()
        assert "leading minor" not in str(error)  # of a Cholesky factorisation
        assert not [name for name in vars(model) if name.endswith("_")]
        return "error"
    proba = model.predict_proba(X)
    assert np.isfinite(model.samples_).all()
    np.testing.assert_allclose(proba.sum(axis=1), 1.0, rtol=1e-6)
    return "fit"


def test_logistic_regression():
    outcomes = Counter()

    @settings(
        max_examples=150,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(PARAMETERS, data())
    def check(parameters, data):
        outcomes[outcome(parameters, data)] += 1

    check()
    assert min(outcomes["fit"], outcomes["error"]) >= 20, outcomes
