"""A progress bar that several threads may advance."""

import threading


class Progress:
    """A bar over `total` iterations; silent unless `enabled`.

    It is drawn by tqdm where that is installed, else as a line per tenth.
    """

    def __init__(self, total, label, enabled):
        self.total, self.label, self.enabled = total, label, enabled
        self._done, self._lock, self._bar = 0, threading.Lock(), None

    def __reduce__(self):
        """Pickle as a silent bar: another process has nothing to draw on."""
        return Progress, (self.total, self.label, False)

    def __enter__(self):
        """Show the bar."""
        if self.enabled:
            try:
                from tqdm import tqdm
            except ImportError:
                return self
            self._bar = tqdm(total=self.total, desc=self.label, unit="it")
        return self

    def __exit__(self, *error):
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def update(self, count):
        """Advance by `count` iterations."""
        if not self.enabled:
            return
        with self._lock:
            before, self._done = self._done, self._done + count
            if self._bar is not None:
                self._bar.update(count)
            elif 10 * before // self.total < 10 * self._done // self.total:
                print(f"{self.label}: {100 * self._done // self.total} %", flush=True)
