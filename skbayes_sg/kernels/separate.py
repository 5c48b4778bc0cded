"""Functions that are compiled separately and called by their address.

Numba optimizes a function again within each of its callers. Most of a chain's code is
the estimate of the gradient, which would be compiled again for every sampler. Calling
it by its address, a new sampler only compiles its own few lines.
"""

import functools
import threading
from concurrent.futures import ThreadPoolExecutor

from numba import typeof, types
from numba.core import cgutils
from numba.extending import intrinsic, overload


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


def without_refcounts(parts):
    """Return the tuple `parts` with arrays whose references are not counted.

    Numba counts the references to arrays and generators at every call and return, which
    costs about a hundred atomic additions for every few rows of a minibatch. The
    arguments of an entry point stay alive until it returns, so that its loops need not
    count references to them.
    """
    return parts


@overload(without_refcounts, inline="always")
def _(parts):
    return lambda parts: _drop_refcounts(parts)


@intrinsic
def _drop_refcounts(typing_context, parts):
    def codegen(context, builder, signature, args):
        return _drop_owner(context, builder, signature.args[0], args[0])

    return parts(parts), codegen


def _drop_owner(context, builder, kind, value):
    if isinstance(kind, types.Array | types.NumPyRandomGeneratorType):
        owned = cgutils.create_struct_proxy(kind)(context, builder, value=value)
        owned.meminfo = cgutils.get_null_value(owned.meminfo.type)
        return owned._getvalue()
    if isinstance(kind, types.BaseTuple):
        for i, item in enumerate(kind):
            part = builder.extract_value(value, i)
            part = _drop_owner(context, builder, item, part)
            value = builder.insert_value(value, part, i)
    return value
