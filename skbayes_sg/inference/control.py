"""What threads tell one another while chains run: how far they are, and to stop."""

import threading
import time
from contextlib import contextmanager

_here = threading.local()  # .control: of the task that this thread is at work on


class Cancelled(Exception):
    """Another task has failed, or all of them were interrupted."""


class Control:
    """What the main thread and its tasks tell one another between chunks.

    Inside a task there may be a run with tasks of its own, chains in the fit of a shard
    for instance. Cancelling the outer ones cancels the inner ones.
    """

    def __init__(self, n_chains=0):
        self.done = [0] * n_chains  # iterations of each chain
        self._running = set()  # tasks at work
        self._cancelled = False
        self._outer = getattr(_here, "control", None)

    @property
    def cancelled(self):
        """Whether tasks are to leave at once."""
        return self._cancelled or (self._outer is not None and self._outer.cancelled)

    def check(self):
        """Leave by a `Cancelled` if that is asked for."""
        if self.cancelled:
            raise Cancelled

    @contextmanager
    def task(self, name):
        """Be at work on a task."""
        self.check()
        before = getattr(_here, "control", None)
        self._running.add(name)
        _here.control = self
        try:
            yield
        finally:
            _here.control = before
            self._running.discard(name)

    @contextmanager
    def all_or_none(self):
        """Cancel the tasks of a block that is left by an error: threads would go on."""
        try:
            yield
        except BaseException:
            self.cancel()
            raise

    def cancel(self, seconds=0.2):
        """Tell all tasks to leave, and wait; not for long, as one may be compiling."""
        self._cancelled = True
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(0.005)
