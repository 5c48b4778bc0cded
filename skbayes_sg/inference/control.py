"""Communication between the threads of a run: progress and cancellation."""

import threading
import time
from contextlib import contextmanager

_current = threading.local()  # .control: the `Control` of this thread's current task


class Cancelled(Exception):
    """Another task has failed, or all of them were interrupted."""


class Control:
    """The state that the main thread and its tasks share.

    A task may contain a run with its own tasks, for instance the chains in the fit of a
    shard. Cancelling the outer tasks also cancels the inner ones.
    """

    def __init__(self, n_chains=0):
        self.done = [0] * n_chains  # iterations of each chain so far
        self._running = set()  # names of the running tasks
        self._cancelled = False
        self._outer = getattr(_current, "control", None)

    @property
    def cancelled(self):
        """Whether tasks have to stop."""
        return self._cancelled or (self._outer is not None and self._outer.cancelled)

    def check(self):
        """Raise `Cancelled` if the tasks were cancelled."""
        if self.cancelled:
            raise Cancelled

    @contextmanager
    def task(self, name):
        """Register the body as a running task."""
        self.check()
        before = getattr(_current, "control", None)
        self._running.add(name)
        _current.control = self
        try:
            yield
        finally:
            _current.control = before
            self._running.discard(name)

    @contextmanager
    def all_or_none(self):
        """Cancel all tasks if the body fails, because their threads would continue."""
        try:
            yield
        except BaseException:
            self.cancel()
            raise

    def cancel(self, seconds=0.2):
        """Cancel all tasks and wait for them, briefly, since one may be compiling."""
        self._cancelled = True
        until = time.monotonic() + seconds
        while self._running and time.monotonic() < until:
            time.sleep(0.005)
