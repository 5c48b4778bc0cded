"""Products and sums of short rows of matrices, in vector registers.

LLVM vectorizes a loop over a row for rows of hundreds of numbers; one of 10 or 20 it
leaves as a loop over single numbers. Here a row is cut into registers of 16 numbers (8
in double precision), and what remains into halves of a register: 8, 4, 2 and 1.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LINE = 64  # bytes of a whole register
FLAGS = ("reassoc", "contract", "nsz")
i32, i64 = ir.IntType(32), ir.IntType(64)


def dot_rows(x, i, y, j, n):
    """Return the product of the first n numbers of x[i] and y[j]."""
    return np.dot(x[i, :n], y[j, :n])


def add_row(factor, x, i, n, out, j):
    """Add `factor` times the first n numbers of x[i] to out[j]."""
    out[j, :n] += factor * x[i, :n]


@overload(dot_rows, inline="always")
def _(x, i, y, j, n):
    return lambda x, i, y, j, n: _dot(x, i, y, j, n)


@overload(add_row, inline="always")
def _(factor, x, i, n, out, j):
    return lambda factor, x, i, n, out, j: _add(factor, x, i, n, out, j)


class _Row:
    """Code that reads and writes k numbers of a row, a register or part of one."""

    def __init__(self, context, builder, kind, value, i):
        array = context.make_array(kind)(context, builder, value)
        width = cgutils.unpack_tuple(builder, array.shape, 2)[1]
        self.builder, self.size = builder, kind.dtype.bitwidth // 8
        self.item = context.get_data_type(kind.dtype)
        self.first = builder.gep(array.data, [builder.mul(i, width)])

    def place(self, f, k):
        place = self.builder.gep(self.first, [f])
        return self.builder.bitcast(place, _vector(self.item, k).as_pointer())

    def load(self, f, k):
        value = self.builder.load(self.place(f, k))
        value.align = self.size
        return value

    def store(self, value, f, k):
        self.builder.store(value, self.place(f, k)).align = self.size


@intrinsic
def _dot(typing_context, x, i, y, j, n):
    def codegen(context, builder, signature, args):
        a = _Row(context, builder, signature.args[0], args[0], args[1])
        b = _Row(context, builder, signature.args[2], args[2], args[3])
        k = LINE // a.size
        total = cgutils.alloca_once_value(builder, _vector(a.item, k)(None))

        def add(f, k):
            product = builder.fmul(a.load(f, k), b.load(f, k), flags=FLAGS)
            new = builder.fadd(builder.load(total), product, flags=FLAGS)
            builder.store(new, total)

        rest = _whole_registers(builder, args[4], k, add)
        while k > 1:
            k //= 2
            half = _sum_of_halves(builder, builder.load(total), k)
            total = cgutils.alloca_once_value(builder, half)
            rest = _part_of_register(builder, args[4], rest, k, add)
        return builder.load(total)

    return x.dtype(x, types.int64, y, types.int64, types.int64), codegen


@intrinsic
def _add(typing_context, factor, x, i, n, out, j):
    def codegen(context, builder, signature, args):
        a = _Row(context, builder, signature.args[1], args[1], args[2])
        b = _Row(context, builder, signature.args[4], args[4], args[5])
        k = LINE // a.size

        def add(f, k):
            weight = _spread(builder, args[0], k)
            product = builder.fmul(weight, a.load(f, k), flags=FLAGS)
            b.store(builder.fadd(b.load(f, k), product, flags=FLAGS), f, k)

        rest = _whole_registers(builder, args[3], k, add)
        while k > 1:
            k //= 2
            rest = _part_of_register(builder, args[3], rest, k, add)
        return context.get_dummy_value()

    kinds = x.dtype, x, types.int64, types.int64, out, types.int64
    return types.void(*kinds), codegen


def _whole_registers(builder, n, k, act):
    """Emit act(f, k) for each whole register; return where the rest of n begins."""
    with cgutils.for_range(builder, builder.udiv(n, i64(k))) as loop:
        act(builder.mul(loop.index, i64(k)), k)
    return builder.and_(n, i64(~(k - 1)))


def _part_of_register(builder, n, first, k, act):
    """Emit act(first, k) if k is a summand of n; return where the rest begins."""
    part = builder.and_(n, i64(k))
    with builder.if_then(builder.icmp_signed("!=", part, i64(0))):
        act(first, k)
    return builder.add(first, part)


def _vector(item, k):
    return ir.VectorType(item, k) if k > 1 else item


def _sum_of_halves(builder, vector, k):
    """Return the sum of both halves, of k numbers each, of a vector."""
    if k == 1:
        halves = [builder.extract_element(vector, i32(a)) for a in (0, 1)]
    else:
        none = ir.Constant(vector.type, ir.Undefined)
        places = [[*range(first, first + k)] for first in (0, k)]
        masks = [ir.Constant(ir.VectorType(i32, k), place) for place in places]
        halves = [builder.shuffle_vector(vector, none, mask) for mask in masks]
    return builder.fadd(*halves, flags=FLAGS)


def _spread(builder, number, k):
    if k == 1:
        return number
    none = ir.Constant(ir.VectorType(number.type, k), ir.Undefined)
    one = builder.insert_element(none, number, i32(0))
    return builder.shuffle_vector(one, none, ir.Constant(ir.VectorType(i32, k), None))
