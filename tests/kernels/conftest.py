"""Fixtures of the kernel tests."""

import numba
import pytest

from skbayes_sg.kernels import generic


def skip_compiler(monkeypatch):
    """Run the compiled entries as the plain Python functions that they are made of."""
    monkeypatch.setattr(generic, "source_digest", lambda *_: "uncompiled")
    monkeypatch.setattr(generic, "compiled", lambda function, **options: function)
    monkeypatch.setattr(generic, "COMPILED", [])
    monkeypatch.setattr(numba.config, "DISABLE_JIT", True)  # nothing has an address


@pytest.fixture
def uncompiled(monkeypatch):
    """Skip the compiler for the whole test."""
    skip_compiler(monkeypatch)
