"""A word to those who wait for the compiler, once in a process."""

import functools
import sys
from contextlib import contextmanager, nullcontext

from numba.core import event


@functools.cache
def _say():
    print(
        "skbayes_sg: compiling for this kind of model and sampler, some seconds; "
        "later runs find the code on disk",
        file=sys.stderr,
        flush=True,
    )


class _Listener(event.Listener):
    def on_start(self, event):
        _say()

    def on_end(self, event):
        pass


@contextmanager
def announced(enabled):
    """Say so if something is compiled inside and `enabled` is true."""
    with (
        event.install_listener("numba:compile", _Listener())
        if enabled
        else nullcontext()
    ):
        yield
