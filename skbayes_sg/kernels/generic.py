"""Generic operations, which numba can compile, and the entry points that call them.

An operation is an ordinary `functools.singledispatch` function. Compiled code selects
the implementation by the type of the first argument as well, so the same source runs
with and without the compiler. An *entry point* is compiled for the components that it
is called with, and cached on disk under a digest of all sources that it may inline.
"""

import functools
import hashlib
import inspect
import os
import pathlib
import sys
import sysconfig
import types as python_types
import warnings

import numba
import numpy as np
from numba import types
from numba.extending import overload, register_jitable

from skbayes_sg.kernels.disk_cache import verify_cache
from skbayes_sg.kernels.garbage import collecting_rarely
from skbayes_sg.kernels.inner_code import InnerCompiler
from skbayes_sg.kernels.interruptible import compiling_in_thread

# All flags of fastmath except nnan and ninf, since divergence checks need NaN and Inf.
# Division by zero also gives them; raising an error would prevent vectorization.
OPTIONS = {
    "nogil": True,
    "error_model": "numpy",
    "fastmath": {"reassoc", "contract", "arcp", "nsz"},
}

# Functions that only compiled code calls need no wrappers for Python and C.
INNER = OPTIONS | {
    "no_cpython_wrapper": True,
    "no_cfunc_wrapper": True,
    "pipeline_class": InnerCompiler,
}

_OPERATIONS = []
COMPILED = []  # the dispatchers of all entry points used so far


def _python_class(numba_type):
    if isinstance(numba_type, types.BaseNamedTuple):
        return numba_type.instance_class
    if isinstance(numba_type, types.Array):
        return np.ndarray
    raise numba.TypingError(f"operations dispatch on NamedTuples, not {numba_type}")


def kernel_op(contract):
    """Make `contract` a generic operation on its first argument, also for numba."""
    op = functools.singledispatch(contract)
    _OPERATIONS.append(op)

    # strict=False: the arguments' names may differ between implementations.
    @overload(op, strict=False, jit_options=INNER)
    def _(*args):
        return op.dispatch(_python_class(args[0]))

    return op


def python_op(contract):
    """Make `contract` a generic operation that is only called outside the loop."""
    return functools.singledispatch(contract)


helper = register_jitable(**INNER)  # a plain function that kernels may call
# The same for a loop that is vectorized only if it is optimized by itself.
loop_helper = register_jitable(**OPTIONS)


def _component_classes(values):
    for value in values:
        if hasattr(value, "_fields"):
            yield type(value)
            yield from _component_classes(value)


@functools.cache
def _imports(module):
    """Return the modules that `module` imports or takes functions and classes from."""
    found = set()
    for value in vars(module).values():
        name = getattr(value, "__module__", None)
        found.add(value if inspect.ismodule(value) else sys.modules.get(name))
    return frozenset(found) - {None}


def _source(module):
    """Return the digest of a module's file; None for installed packages.

    None, too, for code piped to the interpreter, which has no file.
    """
    path = getattr(module, "__file__", None)
    if path is None or not os.path.isfile(path):
        return None
    if not module.__name__.startswith("skbayes_sg") and path.startswith(_INSTALLED):
        return None
    return _file_digest(path, os.stat(path).st_mtime_ns)


@functools.cache
def _file_digest(path, modified):
    return hashlib.sha256(pathlib.Path(path).read_bytes()).digest()


def _sources(modules):
    """Return the digests of these modules and of all that they import."""
    pending, seen, found = list(modules), set(), set()
    while pending:
        module = pending.pop()
        if module in seen:
            continue
        seen.add(module)
        source = _source(module)
        if source is not None:
            found.add(source)
            pending += _imports(module)
    return found


_INSTALLED = tuple({sysconfig.get_path(kind) for kind in ("stdlib", "purelib")})


@functools.cache
def _digest(classes):
    modules, sources = set(), set()
    for op in _OPERATIONS:
        for function in {op.dispatch(cls) for cls in classes} - {op.dispatch(object)}:
            # The bytecode covers functions without a file, as in notebooks.
            code = repr(function.__code__.co_code).encode()
            sources.add(hashlib.sha256(code).digest())
            modules.add(sys.modules.get(function.__module__))
    digest = hashlib.sha256()
    for source in sorted(sources | _sources(modules - {None})):
        digest.update(source)
    return digest.hexdigest()[:24]


def source_digest(values):
    """Return a digest of all code that an entry point called with `values` may inline.

    It covers the files of all implementations registered for the components among
    `values`, and the files that these import.
    """
    return _digest(frozenset(_component_classes(values)) | {np.ndarray})


def compiled(function, **options):
    """Compile `function` with a disk cache, or without if none is writable."""
    options = OPTIONS | options
    if numba.config.DISABLE_JIT:
        return numba.njit(function, **options)
    try:
        dispatcher = numba.njit(function, cache=True, **options)
        verify_cache(dispatcher)
    except RuntimeError:  # numba: "no locator available"
        _warn_of_no_cache()
        dispatcher = numba.njit(function, **options)
    dispatcher.compile = compiling_in_thread(collecting_rarely(dispatcher.compile))
    return dispatcher


@functools.cache
def _warn_of_no_cache():
    warnings.warn(
        "numba finds no writable cache directory, so every process compiles the code "
        "again; "
        "set NUMBA_CACHE_DIR to a writable folder to avoid this",
        RuntimeWarning,
        stacklevel=4,
    )


def entry_point(function=None, **options):
    """Compile `function` for the components it is called with.

    The options are those of numba; functions that it calls inherit them.

    Numba names a cache file after the function, and invalidates it only by the time
    stamp of the function's own file. Here the digest of all sources involved is part of
    the name, so that the code is compiled again when any component was edited.
    """
    if function is None:
        return functools.partial(entry_point, **options)
    if numba.config.DISABLE_JIT:
        return function

    @functools.cache
    def build(digest):
        copy = python_types.FunctionType(function.__code__, function.__globals__)
        copy.__qualname__ = f"{function.__name__}.{digest}"
        copy.__module__ = function.__module__
        COMPILED.append(compiled(copy, **options))
        return COMPILED[-1]

    @functools.wraps(function)
    def call(*args):
        return call.build(args)(*args)

    call.build = lambda args: build(source_digest(args))
    return call


def for_kernels(component):
    """Return the component with standard types, so that kernels are compiled only once.

    Numbers are converted to the type of their annotation and arrays to read-only views.
    Components are never written to while a chain runs, and so memory-mapped and frozen
    arrays have the same type as others.
    """
    kinds = {int: int, float: float, bool: bool}
    fields, notes = {}, {}
    for cls in type(component).__mro__:  # a kind of its own may be a subclass
        notes |= inspect.get_annotations(cls)
    for name, note in notes.items():
        value = getattr(component, name)
        if note in kinds:
            value = kinds[note](value)
        elif isinstance(value, np.ndarray):
            value = np.asarray(value).view()
            value.flags.writeable = False
        elif hasattr(value, "_fields"):
            value = for_kernels(value)
        fields[name] = value
    return component._replace(**fields)


@functools.singledispatch
def wrapped_by(component):
    """Return the component inside a wrapper, None if `component` is not a wrapper."""
    return None


def implements(op, component):
    """Whether `component` has its own implementation of `op`.

    A wrapper that passes `op` on implements it if the component inside does.
    """
    if op.dispatch(type(component)) is op.dispatch(object):
        return False
    inner = wrapped_by(component)
    return inner is None or implements(op, inner)


def missing(op, component):
    """Return the error for an operation that `component` does not implement."""
    return NotImplementedError(
        f"{type(component).__name__} does not implement {op.__name__}()"
    )
