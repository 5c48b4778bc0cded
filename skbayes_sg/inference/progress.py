"""A progress bar that several threads may advance."""

import sys
import threading
import time


class Progress:
    """A bar over `total` iterations; silent unless `enabled`.

    In a terminal or a notebook it is drawn by tqdm, where that is installed. Elsewhere,
    in logs, it is a line per tenth. `callback(done, total)`, if given, is called too; a
    true answer of it sets `stopped`.
    """

    def __init__(self, total, label, enabled, callback=None):
        self.total, self.label, self.enabled = total, label, enabled
        self.callback, self.stopped = callback, False
        self._done, self._lock, self._bar = 0, threading.Lock(), None
        self._facts, self._start = {}, time.monotonic()

    def __reduce__(self):
        """Pickle as a silent bar: another process has nothing to draw on."""
        return Progress, (self.total, self.label, False)

    def __enter__(self):
        """Show the bar."""
        notebook = "ipykernel" in sys.modules
        if self.enabled and (notebook or sys.stderr.isatty()):
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return self
            self._bar = tqdm(total=self.total, desc=self.label, unit="it")
        return self

    def __exit__(self, *error):
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def update(self, count, **facts):
        """Advance by `count` iterations; `facts` are shown beside them from now on."""
        if not self.enabled and self.callback is None:
            return
        with self._lock:
            before, self._done = self._done, self._done + count
            self._facts = facts or self._facts
            if self.callback is not None and self.callback(self._done, self.total):
                self.stopped = True
            if self._bar is not None:
                self._bar.set_postfix(self._facts, refresh=False)
                self._bar.update(count)
            elif self.enabled:
                self._log(before)

    def _log(self, before):
        if 10 * before // self.total < 10 * self._done // self.total:
            left = self.total - self._done
            seconds = (time.monotonic() - self._start) * left / self._done
            words = [
                f"{self.label}: {100 * self._done // self.total} %",
                f"{self._done} of {self.total} iterations",
                f"{seconds:.0f} s left",
                *(f"{name} = {value}" for name, value in self._facts.items()),
            ]
            print(", ".join(words), file=sys.stderr, flush=True)
