"""Garbage is collected rarely during compilation, and as before after it."""

import gc

import numba
import pytest

from skbayes_sg.kernels.garbage import RARELY, collecting_rarely
from skbayes_sg.kernels.generic import compiled

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@pytest.fixture(params=[500, 0, 2 * RARELY])
def threshold(request):
    """Set the number of objects between collections, as a user may have done."""
    before = gc.get_threshold()
    gc.set_threshold(request.param, *before[1:])
    yield gc.get_threshold()
    gc.set_threshold(*before)


def test_rarely_during_compilation_and_then_as_before(threshold):
    seen = []
    inner = collecting_rarely(lambda: seen.append(gc.get_threshold()))

    def outer():
        inner()
        seen.append(gc.get_threshold())

    collecting_rarely(outer)()
    first = RARELY if threshold[0] == 500 else threshold[0]
    assert seen == [(first, *threshold[1:])] * 2
    assert gc.get_threshold() == threshold
    assert compiled(lambda x: 2 * x)(1) == 2
    assert gc.get_threshold() == threshold


def test_as_before_after_an_error(threshold):
    def fail():
        raise ValueError("not compiled")

    with pytest.raises(ValueError, match="not compiled"):
        collecting_rarely(fail)()
    assert gc.get_threshold() == threshold
