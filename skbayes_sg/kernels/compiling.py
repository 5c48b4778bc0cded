"""A message, once per process, that tells users that code is being compiled."""

import functools
import sys
from contextlib import contextmanager, nullcontext

from numba.core import event


@functools.cache
def _announce():
    print(
        "skbayes_sg: compiling for this kind of model and sampler takes a few seconds; "
        "later runs use the compiled code from disk",
        file=sys.stderr,
        flush=True,
    )


class _Listener(event.Listener):
    def on_start(self, event):
        _announce()

    def on_end(self, event):
        pass


@contextmanager
def announce_compilation(enabled):
    """Print a message if code is compiled in the body and `enabled` is true."""
    with (
        event.install_listener("numba:compile", _Listener())
        if enabled
        else nullcontext()
    ):
        yield
