"""PyTensor's graphs as machine code, which chains call by address.

This is the only file that uses names of PyTensor that are not public.

PyTensor's own disk cache keeps the machine code of a graph under a key of its nodes. A
wrapper, which gathers the rows of a minibatch, is kept beside it under a key of its own
source and of that key, so that a second process compiles nothing.
"""

import hashlib
import math
import warnings

import numba
import numpy as np
from numba import types

from skbayes_sg.kernels.data.prefetch import prefetch
from skbayes_sg.utils._extras import extra
from skbayes_sg.utils._warnings import warn_user

FORMAT = "1"  # part of all keys; another one after a change of what is called
OLDEST = (2, 38)
AHEAD = 8  # terms to prefetch
OUTER, INNER = "\n" + 4 * " ", "\n" + 12 * " "  # between lines of source

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
    return pytensor


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
    dispatcher.compile(signature)
    return dispatcher.overloads[signature]


def address_of(code):
    """Return the address of compiled code."""
    return code.library.get_pointer_to_function(code.fndesc.llvm_func_name)


def rows_source(columns, n_vectors, has_total):
    """Return the source of a function of rows.

    `columns` has the numpy dtype and the shape of each column's rows; of `n_vectors`,
    theta and the center, the graph takes the first ones.
    """
    widths = [math.prod(shape) for _, shape in columns]
    views, copies, start = [], [], 1
    for c, ((dtype, shape), width) in enumerate(zip(columns, widths, strict=True)):
        views += [
            f"words{c} = buffer[n * {start} : n * {start + width}]",
            f"column{c} = words{c}.view(np.{dtype})"
            + (f".reshape(({', '.join(['n', *map(str, shape)])},))" if shape else ""),
        ]
        copies += [
            f"for j in range({width}):",
            f"    words{c}[k * {width} + j] = words[first + {start} + j]",
        ]
        start += width
    vectors = ["theta", "center"][:n_vectors]
    arguments = [*vectors, "weights", *(f"column{c}" for c in range(len(columns)))]
    result = ["total[0] += result[0].item()"] if has_total else []
    result += [
        f"g = result[{int(has_total)}].reshape(-1)",
        "for j in range(g.size):",
        "    out[j] += g[j]",
    ]
    views, copies, result = (
        "\n    ".join(views),
        INNER.join(copies),
        "\n    ".join(result),
    )
    return f"""
def wrapper(theta, center, rows, idx, each, scale, buffer, total, out):
    n, width = idx.size * each, {start}
    words = rows.reshape(-1)
    values = words.view(np.float64)
    weights = buffer[:n].view(np.float64)
    {views}
    for b in range(idx.size):
        ahead = np.int64(idx[min(b + {AHEAD}, idx.size - 1)]) * each * width
        for j in range(0, each * width, 8):
            prefetch(words, ahead + j)
        for r in range(each):
            k = b * each + r
            first = (np.int64(idx[b]) * each + r) * width
            weights[k] = scale * values[first]
            {copies}
    result = jit_fn({", ".join(arguments)})
    {result}
"""


PRIOR_SOURCE = """
def wrapper(theta, total, out):
    value, g = jit_fn(theta)
    total[0] += value.item()
    for j in range(g.size):
        out[j] += g[j]
"""
RECORD_SOURCE = """
def wrapper(theta, out):
    result = jit_fn(theta)
    x = result[0]
    for j in range(x.size):
        out[j] = x[j]
"""
