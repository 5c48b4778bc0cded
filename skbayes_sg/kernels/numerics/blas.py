"""One BLAS thread at a time, so that results do not depend on how many there are."""

import contextlib
import functools

from threadpoolctl import ThreadpoolController


@functools.cache
def _blas():
    return ThreadpoolController().select(user_api="blas")


def one_blas_thread():
    """Limit BLAS to one thread, unless it is: limits that overlap restore wrongly."""
    if all(library["num_threads"] == 1 for library in _blas().info()):
        return contextlib.nullcontext()
    return _blas().limit(limits=1)
