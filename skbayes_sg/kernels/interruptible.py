"""Compilation that Ctrl-C does not interrupt halfway."""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor


def compiling_in_thread(compile_):
    """Compile in a separate thread instead of in the main thread.

    Ctrl-C then interrupts only the waiting main thread. If it interrupted numba in the
    middle of its work, numba could not compile code with the same types afterwards.
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
