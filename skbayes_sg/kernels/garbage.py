"""Compilation with rare garbage collections, which would take a tenth of its time.

A compilation makes millions of objects that refer to each other. By default, Python
looks for garbage after every 700 or 2,000 new ones, most of which are still in use.
"""

import functools
import gc
import threading

RARELY = 100_000  # new objects between two collections of the youngest ones


class _Rarely:
    """Let the collector run rarely while at least one thread is in the body."""

    def __init__(self):
        self.lock, self.n_inside, self.before = threading.Lock(), 0, None

    def __enter__(self):
        with self.lock:
            if self.n_inside == 0:
                self.before = youngest, *older = gc.get_threshold()
                if 0 < youngest < RARELY:  # zero: never
                    gc.set_threshold(RARELY, *older)
            self.n_inside += 1

    def __exit__(self, *error):
        with self.lock:
            self.n_inside -= 1
            if self.n_inside == 0:
                gc.set_threshold(*self.before)


_rarely = _Rarely()


def collecting_rarely(compile_):
    """Compile with rare collections; the settings are then what they were before."""

    @functools.wraps(compile_)
    def compile_fast(*args):
        with _rarely:
            return compile_(*args)

    return compile_fast
