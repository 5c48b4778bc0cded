"""A word to those who wait for the compiler, once in a process."""

import functools
import threading
import time
from contextlib import contextmanager

from numba.core import event

from skbayes_sg.kernels.notices import notice

PATIENCE = 2.0  # seconds of compilation of which nothing is said


@functools.cache
def _say():
    notice(
        "compiling for this kind of model and sampler, some seconds; later runs find "
        "the code on disk"
    )


class _Listener(event.Listener):
    """Count the seconds of compilation; say so once they are many, while it lasts."""

    def __init__(self):
        self.depth, self.spent, self.began = 0, 0.0, 0.0
        self.timer, self.lock = None, threading.Lock()

    def on_start(self, event):
        with self.lock:
            self.depth += 1
            if self.depth > 1:  # what a function calls is compiled within it
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
    """Say so, once in a process, if compilation inside takes seconds."""
    with event.install_listener("numba:compile", _Listener()):
        yield
