"""How a count finds its component among the weights x_uk (a_ik + a).

Component k stands in lane k % 16 of vector k // 16. The weights are summed down the lanes, and the last of these sums
along the lanes: a target falls into the lane, and there into the vector, at which the sums pass it.

The second number is for atoms of which only counts are held: a is then a0, and else zero.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types

from cormorant.backends.compiled import inlined, instruction
from cormorant.backends.prefetch import prefetch
from cormorant.backends.vectors import EXACT, LANES, PLACES, SHORT, WORD, count, everywhere, load, store, vectors, zeros

ZERO = np.float32(0)
BITS = ir.IntType(LANES)


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
        weights, columns, out = (vectors(context, builder, kinds[p], *args[p : p + 2]) for p in (0, 2, 5))
        more = everywhere(builder, args[4])
        nothing = zeros(ir.FloatType())
        sofar = cgutils.alloca_once_value(builder, nothing)
        n_vectors = count(context, builder, kinds[2], args[2])
        with cgutils.for_range(builder, n_vectors) as loop:
            atom = builder.fadd(load(builder, columns, loop.index), more)
            total = builder.fadd(builder.load(sofar), builder.fmul(load(builder, weights, loop.index), atom))
            builder.store(total, sofar)
            store(builder, total, out, loop.index)
        along = _sums_along(builder, builder.load(sofar))
        store(builder, along, out, n_vectors)
        return builder.extract_element(along, ir.Constant(SHORT, LANES - 1))

    return types.float32(x, types.intp, atoms, types.intp, types.float32, sums, types.intp), generate


@instruction
def find(typing_context: Any, sums: Any, j: Any, target: Any) -> Any:
    """The component at which the sums in row j pass the target, which is at most their total."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held, kind = vectors(context, builder, signature.args[0], *args[:2]), signature.args[0]
        n_vectors = builder.sub(count(context, builder, kind, args[0]), ir.Constant(WORD, 1))
        last = builder.sub(n_vectors, ir.Constant(WORD, 1))
        down, along = load(builder, held, last), load(builder, held, n_vectors)
        return _passed(builder, held, last, down, along, everywhere(builder, args[2]))

    return types.intp(sums, types.intp, types.float32), generate


@instruction
def redraw(
    typing_context: Any, h: Any, table: Any, i: Any, a: Any, sums: Any, u: Any,
    came: Any, with_it: Any, left: Any, without_it: Any, taken: Any,
) -> Any:  # fmt: skip
    """The component at which the sums of h_k (table_ik + a) pass the share ``u`` of them all, after two have changed.

    To one the count before this one ``came``: its h is now ``with_it``. One this count has ``left``: its h is now
    ``without_it``, and of the table ``taken`` is taken away. If single numbers were written, the vectors that hold them
    could not be read before all that was written had come to the cache. So both are changed in registers, h is
    written by whole vectors, and the table not at all.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kinds = signature.args
        weights, columns, out = (vectors(context, builder, kinds[p], *args[p:q]) for p, q in ((0, 1), (1, 3), (4, 5)))
        more, *others = (everywhere(builder, args[p]) for p in (3, 5, 6, 7, 8, 9, 10))
        share, came, with_it, left, without_it, taken = others
        nothing = zeros(ir.FloatType())
        sofar = cgutils.alloca_once_value(builder, nothing)
        numbers = cgutils.alloca_once_value(builder, ir.Constant(PLACES, list(range(LANES))))
        n_vectors = count(context, builder, kinds[1], args[1])
        with cgutils.for_range(builder, n_vectors) as loop:
            k = builder.load(numbers)
            builder.store(builder.add(k, ir.Constant(PLACES, [LANES] * LANES)), numbers)
            is_more, is_less = (builder.icmp_signed("==", k, one) for one in (came, left))
            weight = builder.select(is_more, with_it, load(builder, weights, loop.index))
            weight = builder.select(is_less, without_it, weight)
            store(builder, weight, weights, loop.index)
            less = builder.select(is_less, taken, nothing)
            atom = builder.fadd(builder.fsub(load(builder, columns, loop.index), less, flags=EXACT), more)
            total = builder.fadd(builder.load(sofar), builder.fmul(weight, atom))
            builder.store(total, sofar)
            store(builder, total, out, loop.index)
        down = builder.load(sofar)
        along = _sums_along(builder, down)
        every = builder.shuffle_vector(along, along, ir.Constant(PLACES, [LANES - 1] * LANES))
        last = builder.sub(n_vectors, ir.Constant(WORD, 1))
        return _passed(builder, out, last, down, along, builder.fmul(share, every, flags=EXACT))

    number, place = types.float32, types.int32
    return types.intp(h, table, types.intp, number, sums, number, place, number, place, number, number), generate


def _sums_along(builder: Any, along: Any) -> Any:
    """Sums along the lanes, by doubling: every lane takes the lane before, then the one two before, four and eight."""
    nothing = zeros(ir.FloatType())
    for shift in (1, 2, 4, 8):
        moved = [LANES + lane - shift if lane >= shift else 0 for lane in range(LANES)]
        along = builder.fadd(along, builder.shuffle_vector(nothing, along, ir.Constant(PLACES, moved)))
    return along


def _passed(builder: Any, held: Any, last: Any, down: Any, along: Any, wanted: Any) -> Any:
    """The component at which sums held by vectors, the last of them ``down`` and its sums ``along``, pass the target.

    Lanes and vectors below it are counted, without a branch: where it ends cannot be foreseen.
    """
    lane = builder.ctpop(builder.bitcast(builder.fcmp_ordered("<", along, wanted), BITS))
    # How far the target reaches into each lane; right for the one that it falls into.
    reach = builder.fadd(builder.fsub(wanted, along), down)
    vector = cgutils.alloca_once_value(builder, ir.Constant(BITS, 0))
    with cgutils.for_range(builder, last) as loop:
        below = builder.bitcast(builder.fcmp_ordered("<", load(builder, held, loop.index), reach), BITS)
        here = builder.and_(builder.lshr(below, lane), ir.Constant(BITS, 1))
        builder.store(builder.add(builder.load(vector), here), vector)
    first = builder.mul(builder.load(vector), ir.Constant(BITS, LANES))
    return builder.zext(builder.add(first, lane), WORD)
