"""Products with row blocks, several rows at a time in vector registers.

A row block holds k rows feature by feature: x[b, j] are the k values of feature j. They
are adjacent in memory and fill the k lanes of a register. Products with a block then
need neither sums across a register nor loops over the remainder of a row, and read
memory in one stream.
"""

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

LINE = 64  # bytes of a cache line, which k values fill
CHAINS = 4  # independent sums of a product, to hide the latency of additions
GROUP = 8  # blocks whose rows are summed in registers before they are stored
FLAGS = ("reassoc", "contract", "nsz")
i32, i64 = ir.IntType(32), ir.IntType(64)


def dot_lanes(x, b, coef, out, first):
    """Write the k products of the rows of block b with `coef` to out[first:]."""
    k = x.shape[2]
    out[first : first + k] = np.dot(coef, x[b])


def add_lanes(x, idx, weights, out):
    """Add the sum of the rows of blocks `idx`, k weights for each block, to `out`."""
    k = x.shape[2]
    for b in range(idx.size):
        out += np.dot(x[idx[b]], weights[b * k : (b + 1) * k])


def copy_lanes(values, b, out, first):
    """Write the k values of the rows of block b to out[first:]."""
    k = LINE // values.itemsize
    out[first : first + k] = values[b * k : (b + 1) * k]


@overload(copy_lanes, inline="always")
def _(values, b, out, first):
    return lambda values, b, out, first: _copy(values, b, out, first)


@overload(dot_lanes, inline="always")
def _(x, b, coef, out, first):
    return lambda x, b, coef, out, first: _dot(x, b, coef, out, first)


@overload(add_lanes)
def _(x, idx, weights, out):
    def add(x, idx, weights, out):
        whole = idx.size - idx.size % GROUP
        for b in range(0, whole, GROUP):
            _add_group(x, idx, b, weights, out)
        for b in range(whole, idx.size):
            _add_one(x, idx, b, weights, out)

    return add


class _Lanes:
    """Code that reads and writes vectors of k items in arrays."""

    def __init__(self, context, builder, array_type):
        self.context, self.builder = context, builder
        self.size = array_type.dtype.bitwidth // 8
        self.k = LINE // self.size
        self.item = context.get_data_type(array_type.dtype)
        self.kind = ir.VectorType(self.item, self.k)
        self.zero = ir.Constant(self.kind, [self.item(0.0)] * self.k)

    def array(self, array_type, value):
        return self.context.make_array(array_type)(self.context, self.builder, value)

    def at(self, array, offset):
        place = self.builder.gep(array.data, [offset])
        return self.builder.bitcast(place, self.kind.as_pointer())

    def load(self, array, offset):
        value = self.builder.load(self.at(array, offset))
        value.align = self.size
        return value

    def store(self, value, array, offset):
        self.builder.store(value, self.at(array, offset)).align = self.size

    def spread(self, number):
        none = ir.Constant(self.kind, ir.Undefined)
        one = self.builder.insert_element(none, number, i32(0))
        first = ir.Constant(ir.VectorType(i32, self.k), [0] * self.k)
        return self.builder.shuffle_vector(one, none, first)

    def add_product(self, total, x, y):
        product = self.builder.fmul(x, y, flags=FLAGS)
        return self.builder.fadd(total, product, flags=FLAGS)

    def sum(self, vector):
        name = f"llvm.vector.reduce.fadd.v{self.k}f{8 * self.size}"
        kind = ir.FunctionType(self.item, [self.item, self.kind])
        function = cgutils.get_or_insert_function(self.builder.module, kind, name)
        return self.builder.call(function, [self.item(0.0), vector], fastmath=FLAGS)


@intrinsic
def _copy(typing_context, values, b, out, first):
    def codegen(context, builder, signature, args):
        lanes = _Lanes(context, builder, signature.args[0])
        source, target = (lanes.array(signature.args[a], args[a]) for a in (0, 2))
        block = lanes.load(source, builder.mul(args[1], i64(lanes.k)))
        lanes.store(block, target, args[3])
        return context.get_dummy_value()

    return types.void(values, types.int64, out, types.int64), codegen


@intrinsic
def _dot(typing_context, x, b, coef, out, first):
    def codegen(context, builder, signature, args):
        lanes = _Lanes(context, builder, signature.args[0])
        data, c, result = (lanes.array(signature.args[a], args[a]) for a in (0, 2, 3))
        p = cgutils.unpack_tuple(builder, data.shape, 3)[1]
        begin = builder.mul(args[1], builder.mul(p, i64(lanes.k)))
        totals = [cgutils.alloca_once_value(builder, lanes.zero) for _ in range(CHAINS)]

        def add(j, total):
            values = lanes.load(data, builder.add(begin, builder.mul(j, i64(lanes.k))))
            factor = lanes.spread(builder.load(builder.gep(c.data, [j])))
            value = lanes.add_product(builder.load(total), values, factor)
            builder.store(value, total)

        rounds = builder.udiv(p, i64(CHAINS))
        whole = builder.mul(rounds, i64(CHAINS))
        with cgutils.for_range(builder, rounds) as loop:
            j = builder.mul(loop.index, i64(CHAINS))
            for a in range(CHAINS):
                add(builder.add(j, i64(a)), totals[a])
        with cgutils.for_range(builder, builder.sub(p, whole)) as loop:
            add(builder.add(whole, loop.index), totals[0])
        value = builder.load(totals[0])
        for total in totals[1:]:
            value = builder.fadd(value, builder.load(total), flags=FLAGS)
        lanes.store(value, result, args[4])
        return context.get_dummy_value()

    return types.void(x, types.int64, coef, out, types.int64), codegen


def _adding(n_blocks):
    """Return code that adds the rows of blocks idx[first:first + n_blocks]."""

    @intrinsic
    def add(typing_context, x, idx, first, weights, out):
        def codegen(context, builder, signature, args):
            lanes = _Lanes(context, builder, signature.args[0])
            data, blocks, w, result = (
                lanes.array(signature.args[a], args[a]) for a in (0, 1, 3, 4)
            )
            p = cgutils.unpack_tuple(builder, data.shape, 3)[1]
            width = builder.mul(p, i64(lanes.k))
            begins, factors = [], []
            for a in range(n_blocks):
                b = builder.add(args[2], i64(a))
                block = builder.load(builder.gep(blocks.data, [b]))
                begins.append(builder.mul(builder.sext(block, i64), width))
                factors.append(lanes.load(w, builder.mul(b, i64(lanes.k))))
            with cgutils.for_range(builder, p) as loop:
                offset, total = builder.mul(loop.index, i64(lanes.k)), lanes.zero
                for begin, factor in zip(begins, factors, strict=True):
                    values = lanes.load(data, builder.add(begin, offset))
                    total = lanes.add_product(total, values, factor)
                place = builder.gep(result.data, [loop.index])
                new = builder.fadd(builder.load(place), lanes.sum(total), flags=FLAGS)
                builder.store(new, place)
            return context.get_dummy_value()

        return types.void(x, idx, types.int64, weights, out), codegen

    return add


_add_group, _add_one = _adding(GROUP), _adding(1)
