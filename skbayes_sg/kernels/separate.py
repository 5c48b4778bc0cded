"""Functions that are compiled separately and called by their address.

Numba optimizes a function again within each of its callers, and compiles a caller again
for each type of its arguments. With calls by address, the estimate of a gradient is
compiled once for all samplers. If the model's data are passed by address as well, the
loop of a sampler is compiled once for all models.
"""

import numpy as np
from numba import typeof, types
from numba.core import cgutils
from numba.core.registry import cpu_target
from numba.extending import intrinsic, lower_builtin, overload, type_callable

from skbayes_sg.kernels.generic import entry_point


def stored(value):
    """Return an array of int64 that holds `value` in the layout of compiled code.

    It contains addresses of arrays, so it is only valid as long as `value` is alive.
    """
    context, kind = cpu_target.target_context, typeof(value)
    n_bytes = context.get_abi_sizeof(context.get_data_type(kind))
    memory = np.empty(-(-n_bytes // 8), np.int64)
    _write(memory, value)
    return memory


def address_of(entry, value, *args):
    """Return the address of an entry point that reads its first argument by `load`.

    It is compiled for the types of `args`, and for the `stored` form of `value`.
    """
    dispatcher = entry.build((value, *args))
    kinds = types.CPointer(typeof(value)), *map(typeof, args)
    dispatcher.compile(kinds)
    code = dispatcher.overloads[kinds]
    return code.library.get_pointer_to_function(code.fndesc.llvm_func_name)


@intrinsic
def load(typing_context, pointer):
    """Return the value that is `stored` at a pointer, without reference counts."""
    kind = pointer.dtype

    def codegen(context, builder, signature, args):
        value = context.unpack_value(builder, kind, args[0])
        return _drop_owner(context, builder, kind, value)

    return kind(pointer), codegen


@entry_point
def _write(memory, value):
    _store(memory, value)


@intrinsic
def _store(typing_context, memory, value):
    def codegen(context, builder, signature, args):
        kind = context.get_data_type(value)
        place = _data_of(context, builder, memory, args[0], kind)
        context.pack_value(builder, value, args[1], place)
        return context.get_dummy_value()

    return types.void(memory, value), codegen


def _data_of(context, builder, kind, value, item):
    array = cgutils.create_struct_proxy(kind)(context, builder, value=value)
    return builder.bitcast(array.data, item.as_pointer())


@intrinsic
def call_address(typing_context, address, memory, args):
    """Call the code at `address`, which returns nothing, with `memory` and `args`."""
    kinds = [types.voidptr, *args]

    def codegen(context, builder, signature, values):
        byte = context.get_data_type(types.uint8)
        items = [_data_of(context, builder, memory, values[1], byte)]
        items += cgutils.unpack_tuple(builder, values[2], len(kinds) - 1)
        return _call(context, builder, values[0], kinds, items)

    return types.void(address, memory, args), codegen


def _call(context, builder, address, kinds, items):
    """Emit the call of a function that returns nothing; its errors are passed on."""
    convention = context.call_conv
    pointer = convention.get_function_type(types.none, kinds).as_pointer()
    function = builder.inttoptr(address, pointer)
    status, _ = convention.call_function(builder, function, types.none, kinds, items)
    with cgutils.if_unlikely(builder, status.is_error):
        convention.return_status_propagate(builder, status)
    return context.get_dummy_value()


def without_refcounts(parts):
    """Return the tuple `parts` with arrays whose references are not counted.

    Numba counts the references to arrays and generators at every call and return, which
    costs about a hundred atomic additions for every few rows of a minibatch. The
    arguments of an entry point stay alive until it returns, so that its loops need not
    count references to them.
    """
    return parts


# No overload with inline="always": after inlining, Numba removes assignments such as
# ``work.g[j] = 1.0`` to arrays that it cannot trace back to an argument.
@type_callable(without_refcounts)
def _(context):
    return lambda parts: parts if isinstance(parts, types.BaseTuple) else None


@lower_builtin(without_refcounts, types.BaseTuple)
def _(context, builder, signature, args):
    return _drop_owner(context, builder, signature.args[0], args[0])


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


def call_by(address, args):
    """Call the code at `address`, which returns nothing, with the tuple `args`."""
    _call_from_python(address, args)


@overload(call_by)
def _(address, args):
    return lambda address, args: _call_with(address, args)


@intrinsic
def _call_with(typing_context, address, args):
    kinds = list(args)

    def codegen(context, builder, signature, values):
        items = cgutils.unpack_tuple(builder, values[1], len(kinds))
        return _call(context, builder, values[0], kinds, items)

    return types.void(address, args), codegen


@entry_point
def _call_from_python(address, args):
    _call_with(address, args)
