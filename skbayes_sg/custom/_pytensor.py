"""PyTensor's graphs as machine code, which chains call by address.

This is the only file that uses names of PyTensor that are not public.

PyTensor's own disk cache keeps the machine code of a graph under a key of its nodes. A
wrapper, which gathers the rows of a minibatch, is kept beside it under a key of its own
source and of that key, so that a second process compiles nothing.
"""

import hashlib
import warnings

import numba
import numpy as np
from numba import types

from skbayes_sg.kernels.data.prefetch import prefetch
from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._warnings import warn_user

FORMAT = "1"  # part of all keys; another one after a change of what is called
OLDEST = (2, 38)

VECTOR = types.Array(types.float64, 1, "C")
WORDS = types.Array(types.uint64, 1, "C")
ROWS = types.Array(types.uint64, 2, "C", readonly=True)
INDICES = types.Array(types.int32, 1, "C")
OF_ROWS = (
    *(VECTOR, VECTOR, ROWS, INDICES, types.int64, types.float64),
    *(WORDS, VECTOR, VECTOR),
)


class NotNative(Exception):
    """A graph has an operation that PyTensor can run in Python only."""


def import_pytensor():
    """Return the module, of a version that is supported."""
    with extra("autodiff", "a model of your own"):
        import pytensor
    version = tuple(int(part) for part in pytensor.__version__.split(".")[:2])
    if version < OLDEST:
        raise ImportError(
            f"PyTensor {pytensor.__version__} is too old for models of your own; "
            "`pip install skbayes_sg[autodiff]` brings a newer one"
        )
    if pytensor.config.floatX != "float64":
        raise ValueError(
            f"pytensor.config.floatX is {pytensor.config.floatX!r}, which rounds the "
            'numbers in your functions; set it to "float64" before a model is built'
        )
    return pytensor


def undifferentiable():
    """Return the errors of graphs that have no gradient."""
    from pytensor.gradient import NullTypeGradError

    return NotImplementedError, NullTypeGradError


def jitted(inputs, outputs, allow_python=False):
    """Return a graph as a function that numba can call, and its key in the cache.

    A graph that is not native is an error, or compiled with a warning if it is allowed.
    """
    from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS

    try:
        jit_fn = _function(inputs, outputs, "error").vm.jit_fn
    except UserWarning as warning:
        reason = str(warning).split(" Set ")[0]
        if not allow_python:
            raise NotNative(reason) from None
        warn_user(
            f"A function of the model has no machine code. {reason} Every step calls "
            "Python, one chain at a time, and every process compiles again; replace "
            "that operation by others if you can.",
            RuntimeWarning,
        )
        jit_fn = _function(inputs, outputs, "ignore").vm.jit_fn
    return jit_fn, CACHED_SRC_FUNCTIONS.get(jit_fn.py_func)


def _function(inputs, outputs, action):
    pytensor = import_pytensor()
    with warnings.catch_warnings():
        warnings.filterwarnings(action, ".*will use object mode.*")
        return pytensor.function(
            inputs,
            outputs,
            mode="NUMBA",
            trust_input=True,
            on_unused_input="ignore",
        )


def compiled(source, signature, jit_fn, key):
    """Return the compiled wrapper of this `source`; its address is `address_of` it."""
    from pytensor.link.numba.cache import compile_numba_function_src

    if key is not None:
        key = hashlib.sha256(f"{FORMAT} {source} {key}".encode()).hexdigest()
    # Numba imports the module of a cached function when it loads it.
    names = {"jit_fn": jit_fn, "np": np, "prefetch": prefetch, "__name__": __name__}
    wrapper = compile_numba_function_src(source, "wrapper", names, cache_key=key)
    dispatcher = numba.njit(
        wrapper, cache=key is not None, nogil=True, error_model="numpy"
    )
    # Of products with transposed matrices, and of code that is not kept on disk.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", numba.core.errors.NumbaWarning)
        dispatcher.compile(signature)
    return dispatcher.overloads[signature]


def address_of(code):
    """Return the address of compiled code."""
    return code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
