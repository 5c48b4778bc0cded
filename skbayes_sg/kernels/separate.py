"""Functions that are compiled apart from their callers, which call them by address.

Numba optimizes a callee again within each of its callers. The estimate of a gradient is
the bulk of every chain's code, and all samplers would pay for it anew; by address, a
chain of known parts compiles its own few lines only.
"""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic, overload


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


def address_of(entry, *args):
    """Return the address of an entry point, compiled for the types of `args`."""
    dispatcher, kinds = entry.build(args), tuple(map(typeof, args))
    dispatcher.compile(kinds)
    code = dispatcher.overloads[kinds]
    return code.library.get_pointer_to_function(code.fndesc.llvm_func_name)


@intrinsic
def call_address(typing_context, address, args):
    """Call the code at `address`, which returns nothing, with the tuple `args`."""
    kinds = list(args)

    def codegen(context, builder, signature, values):
        convention = context.call_conv
        pointer = convention.get_function_type(types.none, kinds).as_pointer()
        function = builder.inttoptr(values[0], pointer)
        items = cgutils.unpack_tuple(builder, values[1], len(kinds))
        status, _ = convention.call_function(
            builder, function, types.none, kinds, items
        )
        with cgutils.if_unlikely(builder, status.is_error):
            convention.return_status_propagate(builder, status)
        return context.get_dummy_value()

    return types.void(address, args), codegen


def uncounted(parts):
    """Return the tuple `parts` with arrays that nobody counts references to.

    Numba counts whoever holds an array or a generator, at every call and return: a
    hundred atomic additions for each few rows of a minibatch. What an entry point is
    called with stays alive until it returns, so that its loops need not count.
    """
    return parts


@overload(uncounted, inline="always")
def _(parts):
    return lambda parts: _borrowed(parts)


@intrinsic
def _borrowed(typing_context, parts):
    def codegen(context, builder, signature, args):
        return _without_owner(context, builder, signature.args[0], args[0])

    return parts(parts), codegen


def _without_owner(context, builder, kind, value):
    if isinstance(kind, types.Array | types.NumPyRandomGeneratorType):
        owned = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        owned.meminfo = cgutils.get_null_value(owned.meminfo.type)
        return owned._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, item in enumerate(kind):
            part = builder.extract_value(value, i)
            part = _without_owner(context, builder, item, part)
            value = builder.insert_value(value, part, i)
    return value
