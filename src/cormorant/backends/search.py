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
from cormorant.backends.vectors import LANES, PLACES, SHORT, WORD, count, everywhere, load, store, vectors, zeros

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
        along = builder.load(sofar)
        for shift in (1, 2, 4, 8):
            moved = [LANES + lane - shift if lane >= shift else 0 for lane in range(LANES)]
            along = builder.fadd(along, builder.shuffle_vector(nothing, along, ir.Constant(PLACES, moved)))
        store(builder, along, out, n_vectors)
        return builder.extract_element(along, ir.Constant(SHORT, LANES - 1))

    return types.float32(x, types.intp, atoms, types.intp, types.float32, sums, types.intp), generate


@instruction
def find(typing_context: Any, sums: Any, j: Any, target: Any) -> Any:
    """The component at which the sums in row j pass the target, which is at most their total.

    Lanes and vectors below it are counted, without a branch: where it ends cannot be foreseen.
    """

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        held, kind = vectors(context, builder, signature.args[0], *args[:2]), signature.args[0]
        n_vectors = builder.sub(count(context, builder, kind, args[0]), ir.Constant(WORD, 1))
        last = builder.sub(n_vectors, ir.Constant(WORD, 1))
        along, wanted = load(builder, held, n_vectors), everywhere(builder, args[2])
        lane = builder.ctpop(builder.bitcast(builder.fcmp_ordered("<", along, wanted), BITS))
        # How far the target reaches into each lane; right for the one that it falls into.
        reach = builder.fadd(builder.fsub(wanted, along), load(builder, held, last))
        vector = cgutils.alloca_once_value(builder, ir.Constant(BITS, 0))
        with cgutils.for_range(builder, last) as loop:
            below = builder.bitcast(builder.fcmp_ordered("<", load(builder, held, loop.index), reach), BITS)
            here = builder.and_(builder.lshr(below, lane), ir.Constant(BITS, 1))
            builder.store(builder.add(builder.load(vector), here), vector)
        first = builder.mul(builder.load(vector), ir.Constant(BITS, LANES))
        return builder.zext(builder.add(first, lane), WORD)

    return types.intp(sums, types.intp, types.float32), generate
