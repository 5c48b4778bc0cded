"""A memory prefetch, which hides the latency of reading random rows."""

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload


def prefetch(x, j):
    """Hint that x[j] will be read soon; does nothing without the compiler."""


@intrinsic
def _prefetch(typingctx, x, j):
    def codegen(context, builder, signature, args):
        array_type = signature.args[0]
        array = context.make_array(array_type)(context, builder, args[0])
        pointer = cgutils.get_item_pointer(
            context, builder, array_type, array, [args[1]]
        )
        i32 = ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, i32, i32, i32]),
            "llvm.prefetch.p0",
        )
        read, keep, data_cache = i32(0), i32(3), i32(1)
        pointer = builder.bitcast(pointer, cgutils.voidptr_t)
        builder.call(function, [pointer, read, keep, data_cache])
        return context.get_dummy_value()

    return types.void(x, j), codegen


@overload(prefetch, inline="always")
def _(x, j):
    return lambda x, j: _prefetch(x, j)
