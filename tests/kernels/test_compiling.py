"""The notice of compilation: once, of seconds only, and while they pass."""

import logging

import numba
import pytest

from skbayes_sg.kernels import compiling
from skbayes_sg.kernels.compiling import announced

pytestmark = pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")


@pytest.fixture(autouse=True)
def unsaid():
    compiling._say.cache_clear()


def test_compilation_is_announced_once(caplog, monkeypatch):
    monkeypatch.setattr(compiling, "PATIENCE", 0.0)
    known = numba.njit(lambda x: x + 1)
    known(1)
    with announced():
        known(2)
    assert caplog.text == ""
    with announced():
        numba.njit(lambda x: x + 2)(1)
        numba.njit(lambda x: x + 3)(1)
    with announced():
        numba.njit(lambda x: x + 4)(1)
    assert caplog.text.count("compiling") == 1


def test_short_compilation_is_not_announced(caplog, monkeypatch):
    monkeypatch.setattr(compiling, "PATIENCE", 600.0)
    with announced():
        numba.njit(lambda x: x + 5)(1)
    assert caplog.text == ""


def test_notices_can_be_turned_off(caplog):
    with caplog.at_level(logging.ERROR, logger="skbayes_sg"):
        compiling._say()
    assert caplog.text == ""
