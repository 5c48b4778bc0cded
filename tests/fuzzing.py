"""What tests of random input share: bad values, a time limit, and what may come of it.

A call may do its work, or raise a ValueError or TypeError with a sentence. Anything
else, a hang or a word of the compiler's included, is a fault.
"""

import contextlib
import signal
import warnings
from collections import Counter

import numpy as np
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

SECONDS = 60  # of CPU time for one call, compilation included; longer is a hang
BAD = st.sampled_from([None, 0, -1, 2.5, "x", np.nan, np.inf, True, [], object()])


@st.composite
def parameters(draw, valid, required=()):
    """Return some of the parameters, now and then with a bad one among them."""
    always = {name: valid[name] for name in sorted(required)}
    optional = {name: valid[name] for name in sorted(valid) if name not in always}
    chosen = draw(st.fixed_dictionaries(always, optional=optional))
    if draw(st.sampled_from([False, False, True])):
        chosen[draw(st.sampled_from(sorted(valid)))] = draw(BAD)
    return chosen


@contextlib.contextmanager
def time_limit(seconds):
    """Raise an AssertionError in a body that takes more CPU time."""

    def expire(*_):
        raise AssertionError(f"a call took more than {seconds} s")

    before = signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def attempt(call, *errors):
    """Return what ``call()`` returns and None, or None and the error with a sentence.

    Errors are ValueError, TypeError and `errors`.
    """
    with time_limit(SECONDS), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result = call()
        except (ValueError, TypeError, *errors) as error:
            assert len(str(error).split()) >= 4, error
            assert "numba" not in str(error).lower(), error
            assert "leading minor" not in str(error)  # of a Cholesky factorization
            assert "positional argument" not in str(error), error
            return None, error
    for warning in caught:  # our own words, not those of an operation gone wrong
        assert "encountered" not in str(warning.message), warning
    return result, None


def fuzz(check, n_examples, *strategies, derandomize=True):
    """Call ``check`` with random input; it returns whether that worked.

    Some must work and some must not.
    """
    outcomes = Counter()

    @settings(
        max_examples=n_examples,
        deadline=None,
        derandomize=derandomize,
        database=None,
        phases=[Phase.generate],  # a failure is reported as it was found, at once
        suppress_health_check=list(HealthCheck),
    )
    @given(st.tuples(*strategies))
    def run(values):
        outcomes["worked" if check(*values) else "refused"] += 1

    run()
    assert min(outcomes["worked"], outcomes["refused"]) >= n_examples // 10, outcomes
