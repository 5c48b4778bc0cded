"""A progress bar over one or more runs, which several threads may advance."""

import sys
import threading
import time

from skbayes_sg.kernels.notices import notice

LONG = 60.0  # seconds; users are told if a run without a bar takes longer
WINDOW, WINDOWS = 1.0, 3  # seconds and number; the fastest window predicts the time


class Bar:
    """The progress bar of all runs of a fit, which is shown if `enabled`.

    In a terminal or a notebook it is drawn by tqdm, if that is installed. Elsewhere,
    for instance in logs, it prints one line for every 10 % of the iterations.
    """

    def __init__(self, enabled, label="sampling"):
        self.enabled, self.label = enabled, label
        self.done, self.begun, self.total = 0, 0, 0
        self._bar, self._facts, self._start = None, {}, None
        self.has_announced = False

    def __enter__(self):
        """Return the bar, which is shown when the first run begins."""
        return self

    def __exit__(self, *error):
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def expect(self, total):
        """Announce the number of iterations of all runs together, if known."""
        self.total = max(self.total, int(total))

    def begin(self, total):
        """Begin a run of `total` iterations."""
        self.begun += total
        self.expect(self.begun)
        if self._start is None:  # time before the first run is not sampling
            self._start = time.monotonic()
        if self._bar is None:
            self._bar = self._drawn()
        else:
            self._bar.total = self.total

    def _drawn(self):
        """Return a new bar of tqdm, None if output is neither terminal nor notebook."""
        notebook = "ipykernel" in sys.modules
        if self.enabled and (notebook or sys.stderr.isatty()):
            try:
                from tqdm.auto import tqdm
            except ImportError:
                return None
            return tqdm(total=self.total, desc=self.label, unit="it")
        return None

    def advance(self, count, facts):
        """Advance by `count` iterations and show `facts`, or the last ones if empty."""
        before, self.done = self.done, self.done + count
        self._facts = facts or self._facts
        if self._bar is not None:
            self._bar.set_postfix(self._facts, refresh=False)
            self._bar.update(count)
        elif self.enabled and 10 * before // self.total < 10 * self.done // self.total:
            left = self.total - self.done
            seconds = (time.monotonic() - self._start) * left / self.done
            words = [
                f"{self.label}: {100 * self.done // self.total} %",
                f"{self.done} of {self.total} iterations",
                f"{seconds:.0f} s left",
                *(f"{name} = {value}" for name, value in self._facts.items()),
            ]
            print(", ".join(words), file=sys.stderr, flush=True)


class Progress:
    """Iterations of one run, shown by a `Bar`.

    `callback(done, total)`, if given, is called too; if it returns True, `stopped` is
    set.
    """

    def __init__(self, total, bar, callback=None):
        self.total, self.bar, self.callback = total, bar, callback
        self.stopped = False
        self._done, self._lock = 0, threading.Lock()
        self._window, self._speeds = None, []
        bar.begin(total)

    def __reduce__(self):
        """Pickle without the bar, which other processes cannot draw."""
        return Progress, (self.total, Bar(False))

    @property
    def enabled(self):
        """Whether anything is shown."""
        return self.bar.enabled

    def update(self, count, **facts):
        """Advance by `count` iterations; `facts` are shown beside them."""
        with self._lock:
            self._done += count
            self._announce()
            if not self.enabled and self.callback is None:
                return
            if self.callback is not None and self.callback(self._done, self.total):
                self.stopped = True
            self.bar.advance(count, facts)

    def _announce(self):
        """Tell users once, if no bar is shown, that the run will take long."""
        if self.enabled or self.bar.has_announced:
            return
        now = time.monotonic()
        if self._window is None:  # compilation has ended with the first chunk
            self._window = now, self._done
        begin, done = self._window
        if now - begin < WINDOW:
            return
        # Several windows, because first chunks are short and other work may interfere.
        self._speeds.append((self._done - done) / (now - begin))
        self._window = now, self._done
        if len(self._speeds) < WINDOWS:
            return
        self.bar.has_announced = True
        seconds = (self.total - self._done) / max(self._speeds)
        if seconds > LONG:
            minutes = round(seconds / 60)
            length = "a minute" if minutes == 1 else f"{minutes} minutes"
            notice(
                f"this run will take about {length} more; n_jobs=-1 runs chains at the "
                "same time, a smaller n_draws ends sooner, and verbose=1 shows the "
                "progress"
            )
