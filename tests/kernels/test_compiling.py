"""The notice of compilation: once, where it was asked for, and when it is true."""

import numba
import pytest

from skbayes_sg.kernels import compiling
from skbayes_sg.kernels.compiling import announced


@pytest.mark.skipif(numba.config.DISABLE_JIT, reason="nothing is compiled")
@pytest.mark.parametrize("enabled", [False, True])
def test_compilation_is_announced_once(enabled, capsys):
    compiling._say.cache_clear()
    known = numba.njit(lambda x: x + 1)
    known(1)
    with announced(enabled):
        known(2)
    assert capsys.readouterr().err == ""
    with announced(enabled):
        numba.njit(lambda x: x + 2)(1)
        numba.njit(lambda x: x + 3)(1)
    assert capsys.readouterr().err.count("compiling") == int(enabled)
    with announced(enabled):
        numba.njit(lambda x: x + 4)(1)
    assert capsys.readouterr().err == ""
