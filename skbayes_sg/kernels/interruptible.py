"""Compilation that Ctrl-C does not break off midway."""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor


def in_a_thread(compile_):
    """Let a thread of its own compile, where the main thread would.

    Ctrl-C then breaks off the wait, at once, and not numba midway in its work, after
    which nothing that shares a type with it would compile.
    """

    @functools.wraps(compile_)
    def compile_aside(*args):
        if threading.current_thread() is not threading.main_thread():
            return compile_(*args)
        pool = ThreadPoolExecutor(1)
        try:
            return pool.submit(compile_, *args).result()
        finally:
            pool.shutdown(wait=False)

    return compile_aside
