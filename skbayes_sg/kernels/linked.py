"""Functions of a model that are compiled once and linked by name into their callers.

Numba optimizes a function again within each of its callers: all passes, each gradient
estimator, each wrapper of a model. A large function costs minutes then. A linked one is
compiled once for the types of its model, and its callers have its name alone. The name
has to be known to the process before code from the disk cache is loaded: a model calls
`link` in `init_work`.
"""

import functools
import hashlib
import pathlib
import types as python_types

import llvmlite.binding as llvm
import numba
from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from skbayes_sg.kernels.generic import COMPILED, INNER, compiled, for_kernels


def linked(*modules):
    """Return a decorator of functions ``f(model, work, i)`` that return nothing.

    `modules` are those with the code that the function calls; after a change of any of
    them it is compiled again.
    """

    def decorate(function):
        digest = hashlib.sha256()
        own = function.__code__.co_filename
        for path in sorted({own, *(m.__file__ for m in modules)}):
            digest.update(pathlib.Path(path).read_bytes())
        name = f"{function.__name__}.{digest.hexdigest()[:24]}"
        return _stub(function, name)

    return decorate


def _stub(function, name):
    def call(model, work, i):
        function(model, work, i)

    if numba.config.DISABLE_JIT:
        call.link = lambda model, work: None
        return call

    @functools.cache
    def dispatcher():
        copy = python_types.FunctionType(function.__code__, function.__globals__)
        copy.__qualname__, copy.__module__ = name, function.__module__
        COMPILED.append(compiled(copy))
        return COMPILED[-1]

    @functools.cache
    def symbol(kinds):
        """Compile the function for these types, and make its symbol known."""
        text = hashlib.sha256(repr(kinds).encode()).hexdigest()[:16]
        known = f"skbayes_sg.{name}.{text}"
        built = dispatcher()
        built.compile(kinds)
        code = built.overloads[kinds]
        address = code.library.get_pointer_to_function(code.fndesc.llvm_func_name)
        llvm.add_symbol(known, address)
        return known

    @intrinsic
    def emit(typing_context, model, work, i):
        kinds = model, work, types.int64
        known = symbol(kinds)

        def codegen(context, builder, signature, values):
            convention = context.call_conv
            kind = convention.get_function_type(types.none, kinds)
            code = cgutils.get_or_insert_function(builder.module, kind, known)
            status, _ = convention.call_function(
                builder, code, types.none, kinds, values
            )
            with cgutils.if_unlikely(builder, status.is_error):
                convention.return_status_propagate(builder, status)
            return context.get_dummy_value()

        return types.void(model, work, types.int64), codegen

    @overload(call, jit_options=INNER)
    def _(model, work, i):
        return lambda model, work, i: emit(model, work, i)

    def link(model, work):
        symbol((typeof(for_kernels(model)), typeof(work), types.int64))

    call.link = link
    return call
