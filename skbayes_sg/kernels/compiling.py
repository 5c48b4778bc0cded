"""A message, once per process, that tells users that code is being compiled."""

import functools
import threading
import time
from contextlib import contextmanager

from numba.core import event

from skbayes_sg.kernels.notices import notice

PATIENCE = 2.0  # seconds of compilation before the message


@functools.cache
def _say():
    notice(
        "compiling for this kind of model and sampler, some seconds; later runs find "
        "the code on disk"
    )


class _Listener(event.Listener):
    """Measure the time of compilation; print the message during a long one."""

    def __init__(self):
        self.depth, self.spent, self.began = 0, 0.0, 0.0
        self.timer, self.lock = None, threading.Lock()

    def on_start(self, event):
        with self.lock:
            self.depth += 1
            if self.depth > 1:  # a function called by the one being compiled
                return
            self.began = time.monotonic()
            self.timer = threading.Timer(max(0.0, PATIENCE - self.spent), _say)
            self.timer.daemon = True
            self.timer.start()

    def on_end(self, event):
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.timer.cancel()
                self.spent += time.monotonic() - self.began


@contextmanager
def announced():
    """Print a message, once per process, if compilation in the body takes long."""
    with event.install_listener("numba:compile", _Listener()):
        yield
