"""What LLVM is told directly: sums over components by vectors of sixteen.

Loops over single components would say the same, but Numba cannot know that their number fills whole vectors, and the
compiler then spends much of the time on what is left over. Tables have columns of zeros at the end instead (`pad`).
Where a processor has shorter vectors LLVM cuts them up.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from cormorant.backends.compiled import instruction

LANES = 16
LINE = 64  # bytes
WORD, SHORT = ir.IntType(64), ir.IntType(32)
PLACES = ir.VectorType(SHORT, LANES)
# What has no flags of its own, Numba's go to: sums might then be made in another order, and a0 rounded beside a count.
FUSED, EXACT = ("contract",), ("nsz",)  # a product and a sum rounded once; or each by itself


def padded(n_components: int) -> int:
    """Components with the zeros that fill the last vector."""
    return n_components + -n_components % LANES


def pad(a: np.ndarray, dtype: Any = None) -> np.ndarray:
    """With columns of zeros that fill the last vector, and aligned; as it is, if it is so."""
    dtype = a.dtype if dtype is None else dtype
    whole = a.dtype == dtype and a.shape[1] == padded(a.shape[1])
    if whole and a.flags.c_contiguous and a.ctypes.data % LINE == 0:
        return a
    out = aligned((len(a), padded(a.shape[1])), dtype)
    out[:, : a.shape[1]] = a
    return out


def aligned(shape: tuple[int, int], dtype: Any) -> np.ndarray:
    """Zeros that begin where a line of the processor's cache does, so that no vector lies in two of them."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    raw = np.zeros(size + LINE, np.uint8)
    begin = -raw.ctypes.data % LINE
    return raw[begin : begin + size].view(dtype).reshape(shape)


@instruction
def dots(typing_context: Any, x: Any, atoms: Any, i: Any) -> Any:
    """sum_k x_k atoms_ik for four columns i; x and the atoms fill their last vectors."""
    number = atoms.dtype

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        ours = vectors(context, builder, kinds[0], args[0])
        columns = [vectors(context, builder, kinds[1], args[1], i) for i in cgutils.unpack_tuple(builder, args[2], 4)]
        nothing = zeros(context.get_value_type(number))
        sums = [cgutils.alloca_once_value(builder, nothing) for _ in columns]
        with cgutils.for_range(builder, count(context, builder, kinds[0], args[0])) as loop:
            value = load(builder, ours, loop.index)
            for total, column in zip(sums, columns, strict=True):
                more = builder.fmul(value, load(builder, column, loop.index), flags=FUSED)
                builder.store(builder.fadd(builder.load(total), more, flags=FUSED), total)
        found = _sums_of_four(builder, [builder.load(total) for total in sums])
        return context.make_tuple(builder, signature.return_type, found)

    return types.UniTuple(number, 4)(x, atoms, types.UniTuple(types.intp, 4)), generate


@instruction
def add_up(typing_context: Any, total: Any, atoms: Any, i: Any, r: Any) -> Any:
    """total_k += sum_i r_i atoms_ik for four columns i."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        ours = vectors(context, builder, kinds[0], args[0])
        columns = [vectors(context, builder, kinds[1], args[1], i) for i in cgutils.unpack_tuple(builder, args[2], 4)]
        factors = [everywhere(builder, factor) for factor in cgutils.unpack_tuple(builder, args[3], 4)]
        with cgutils.for_range(builder, count(context, builder, kinds[0], args[0])) as loop:
            value = load(builder, ours, loop.index)
            for factor, column in zip(factors, columns, strict=True):
                more = builder.fmul(factor, load(builder, column, loop.index), flags=FUSED)
                value = builder.fadd(value, more, flags=FUSED)
            store(builder, value, ours, loop.index)
        return context.get_dummy_value()

    return types.void(total, atoms, types.UniTuple(types.intp, 4), types.UniTuple(atoms.dtype, 4)), generate


@instruction
def subtract(typing_context: Any, out: Any, p: Any, x: Any, i: Any, y: Any, j: Any, n: Any) -> Any:
    """out_p -= x_i y_j + ... + x_(i+n-1) y_(j+n-1), which are rows of whole vectors; four products at a time."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds, four = signature.args, ir.Constant(WORD, 4)
        ours, left, right = (vectors(context, builder, kinds[place], *args[place : place + 2]) for place in (0, 2, 4))
        wide, fours = count(context, builder, kinds[0], args[0]), builder.udiv(args[6], four)
        with cgutils.for_range(builder, wide) as part:
            sofar = cgutils.alloca_once_value(builder, load(builder, ours, part.index))

            def product(r: Any, flags: Any = FUSED, part: Any = part) -> Any:
                at = builder.add(builder.mul(r, wide), part.index)
                return builder.fmul(load(builder, left, at), load(builder, right, at), flags=flags)

            with cgutils.for_range(builder, fours) as loop:
                first = builder.mul(loop.index, four)
                total = product(first, EXACT)
                for more in (1, 2, 3):
                    r = builder.add(first, ir.Constant(WORD, more))
                    total = builder.fadd(product(r), total, flags=FUSED)
                builder.store(builder.fsub(builder.load(sofar), total, flags=FUSED), sofar)
            begin = builder.mul(fours, four)
            with cgutils.for_range_slice(builder, begin, args[6], ir.Constant(WORD, 1)) as (r, _):
                builder.store(builder.fsub(builder.load(sofar), product(r), flags=FUSED), sofar)
            store(builder, builder.load(sofar), ours, part.index)
        return context.get_dummy_value()

    return types.void(out, types.intp, x, types.intp, y, types.intp, types.intp), generate


def _sums_of_four(builder: Any, four: list[Any]) -> list[Any]:
    """The sums of four vectors, made together: pairs of lanes, fours, and then the fours of one vector."""

    def joined(a: Any, b: Any, places: list[int]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(PLACES, places))

    def added(a: Any, b: Any, size: int) -> Any:
        """Of ``size`` lanes of a and of b in turn, each the sum of two."""
        starts = [begin + LANES * v for begin in range(0, LANES, 2 * size) for v in (0, 1)]
        low = [start + lane for start in starts for lane in range(size)]
        return builder.fadd(joined(a, b, low), joined(a, b, [place + size for place in low]))

    whole = added(added(four[0], four[1], 1), added(four[2], four[3], 1), 2)
    for shift in (8, 4):
        whole = builder.fadd(whole, joined(whole, whole, [(lane + shift) % LANES for lane in range(LANES)]))
    return [builder.extract_element(whole, ir.Constant(SHORT, lane)) for lane in range(4)]


def zeros(number: Any) -> Any:
    """A vector of zeros."""
    return ir.Constant(ir.VectorType(number, LANES), [0.0] * LANES)


def vectors(context: Any, builder: Any, kind: Any, array: Any, row: Any = None) -> Any:
    """Where the vectors of an array begin, or of one of its rows."""
    held, zero = context.make_array(kind)(context, builder, array), context.get_constant(types.intp, 0)
    index = [zero] if row is None else [row, zero]
    place = cgutils.get_item_pointer(context, builder, kind, held, index, wraparound=False)
    return builder.bitcast(place, ir.VectorType(context.get_value_type(kind.dtype), LANES).as_pointer())


def count(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """How many vectors an array has in its last dimension."""
    shape = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, array).shape, kind.ndim)
    return builder.udiv(shape[-1], ir.Constant(WORD, LANES))


def load(builder: Any, begin: Any, index: Any) -> Any:
    """The vector there."""
    return builder.load(builder.gep(begin, [index]), align=4)


def store(builder: Any, value: Any, begin: Any, index: Any) -> None:
    """Write the vector there."""
    builder.store(value, builder.gep(begin, [index]), align=4)


def everywhere(builder: Any, value: Any) -> Any:
    """A vector of one number."""
    unset = ir.Constant(ir.VectorType(value.type, LANES), ir.Undefined)
    one = builder.insert_element(unset, value, ir.Constant(SHORT, 0))
    return builder.shuffle_vector(one, unset, ir.Constant(PLACES, [0] * LANES))
