"""How a count finds its component among the weights x_uk (a_ik + a), written for a processor's vectors of sixteen.

Component k stands in lane k % 16 of vector k // 16. The weights are summed down the lanes, and the last of these sums
along the lanes: a target falls into the lane, and there into the vector, at which the sums pass it. Loops over single
components would say the same, and Numba would make four times as many instructions of them, so LLVM is told directly;
it cuts the vectors up where a processor has shorter ones.

The second number is for atoms of which only counts are held: a is then a0, and else zero. What is compiled into other
files from here is not looked at when Numba decides what to compile again: see `sampling` and `scanning`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from cormorant.backends.compiled import inlined, instruction
from cormorant.backends.prefetch import prefetch

LANES = 16
ZERO = np.float32(0)
_WORD, _SHORT, _BITS = ir.IntType(64), ir.IntType(32), ir.IntType(LANES)
_VECTOR, _PLACES = ir.VectorType(ir.FloatType(), LANES), ir.VectorType(_SHORT, LANES)
_NOTHING = ir.Constant(_VECTOR, [0.0] * LANES)


def padded(n_components: int) -> int:
    """Components with the zeros that fill the last vector."""
    return n_components + -n_components % LANES


def pad(a: np.ndarray) -> np.ndarray:
    """In single precision, with columns of zeros that fill the last vector; as it is, if it is so."""
    if a.dtype == np.float32 and a.shape[1] == padded(a.shape[1]):
        return np.ascontiguousarray(a)
    out = np.zeros((len(a), padded(a.shape[1])), np.float32)
    out[:, : a.shape[1]] = a
    return out


@inlined
def room(rows, atoms):
    """Where `sum_up` writes, for so many rows and columns at a time."""
    return np.zeros((rows, atoms.shape[1] + LANES), np.float32)


@inlined
def fetch(atoms, i):
    """Ask for the atoms of column i: the table of many columns lies outside the processor's caches."""
    for k in range(0, atoms.shape[1], LANES):
        prefetch(atoms, i, k)


@instruction
def sum_up(typing_context: Any, x: Any, u: Any, atoms: Any, i: Any, a: Any, sums: Any, j: Any) -> Any:
    """The sums of row u and column i, down the lanes and then along them, into row j of ``sums``; and their total."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        weights, columns, out = (_vectors(context, builder, kinds[p], *args[p : p + 2]) for p in (0, 2, 5))
        more = _everywhere(builder, args[4])
        sofar = cgutils.alloca_once_value(builder, _NOTHING)
        n_vectors = _count(context, builder, kinds[2], args[2])
        with cgutils.for_range(builder, n_vectors) as loop:
            atom = builder.fadd(_load(builder, columns, loop.index), more)
            total = builder.fadd(builder.load(sofar), builder.fmul(_load(builder, weights, loop.index), atom))
            builder.store(total, sofar)
            _store(builder, total, out, loop.index)
        along = builder.load(sofar)
        for shift in (1, 2, 4, 8):
            moved = [LANES + lane - shift if lane >= shift else 0 for lane in range(LANES)]
            along = builder.fadd(along, builder.shuffle_vector(_NOTHING, along, ir.Constant(_PLACES, moved)))
        _store(builder, along, out, n_vectors)
        return builder.extract_element(along, ir.Constant(_SHORT, LANES - 1))

    return types.float32(x, types.intp, atoms, types.intp, types.float32, sums, types.intp), generate


@instruction
def find(typing_context: Any, sums: Any, j: Any, target: Any) -> Any:
    """The component at which the sums in row j pass the target, which is at most their total.

    Lanes and vectors below it are counted, without a branch: where it ends cannot be foreseen.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held, kind = _vectors(context, builder, signature.args[0], *args[:2]), signature.args[0]
        n_vectors = builder.sub(_count(context, builder, kind, args[0]), ir.Constant(_WORD, 1))
        last = builder.sub(n_vectors, ir.Constant(_WORD, 1))
        along, wanted = _load(builder, held, n_vectors), _everywhere(builder, args[2])
        lane = builder.ctpop(builder.bitcast(builder.fcmp_ordered("<", along, wanted), _BITS))
        # How far the target reaches into each lane; right for the one that it falls into.
        reach = builder.fadd(builder.fsub(wanted, along), _load(builder, held, last))
        vector = cgutils.alloca_once_value(builder, ir.Constant(_BITS, 0))
        with cgutils.for_range(builder, last) as loop:
            below = builder.bitcast(builder.fcmp_ordered("<", _load(builder, held, loop.index), reach), _BITS)
            here = builder.and_(builder.lshr(below, lane), ir.Constant(_BITS, 1))
            builder.store(builder.add(builder.load(vector), here), vector)
        first = builder.mul(builder.load(vector), ir.Constant(_BITS, LANES))
        return builder.zext(builder.add(first, lane), _WORD)

    return types.intp(sums, types.intp, types.float32), generate


def _vectors(context: Any, builder: Any, kind: Any, array: Any, row: Any) -> Any:
    """Where the vectors of a row of an array begin."""
    held, zero = context.make_array(kind)(context, builder, array), context.get_constant(types.intp, 0)
    place = cgutils.get_item_pointer(context, builder, kind, held, [row, zero], wraparound=False)
    return builder.bitcast(place, _VECTOR.as_pointer())


def _count(context: Any, builder: Any, kind: Any, array: Any) -> Any:
    """How many vectors a row of an array has."""
    shape = cgutils.unpack_tuple(builder, context.make_array(kind)(context, builder, array).shape, 2)
    return builder.udiv(shape[1], ir.Constant(_WORD, LANES))


def _load(builder: Any, vectors: Any, index: Any) -> Any:
    return builder.load(builder.gep(vectors, [index]), align=4)


def _store(builder: Any, value: Any, vectors: Any, index: Any) -> None:
    builder.store(value, builder.gep(vectors, [index]), align=4)


def _everywhere(builder: Any, value: Any) -> Any:
    """A vector of one number."""
    unset = ir.Constant(_VECTOR, ir.Undefined)
    one = builder.insert_element(unset, value, ir.Constant(_SHORT, 0))
    return builder.shuffle_vector(one, unset, ir.Constant(_PLACES, [0] * LANES))
