"""BLAS limited to one thread, so that results do not depend on their number."""

import contextlib
import functools

from threadpoolctl import ThreadpoolController


@functools.cache
def _blas():
    return ThreadpoolController().select(user_api="blas")


def one_blas_thread():
    """Limit BLAS to one thread.

    Does nothing if that is already the case, since overlapping limits would not be
    restored correctly.
    """
    if all(library["num_threads"] == 1 for library in _blas().info()):
        return contextlib.nullcontext()
    return _blas().limit(limits=1)
