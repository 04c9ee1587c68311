"""The processor's instruction that loads memory into its caches before it is needed, for compiled functions."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from cormorant.backends.compiled import instruction

TO_READ, SOON, DATA = 0, 3, 1  # what LLVM's `prefetch` is told: not to be written, kept close, no instructions
BYTES, NUMBER = ir.IntType(8).as_pointer(), ir.IntType(32)


@instruction
def prefetch(typing_context: Any, array: Any, row: Any, column: Any) -> Any:
    """Ask for the cache line of array[row, column], and go on."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        kind = signature.args[0]
        held = context.make_array(kind)(context, builder, args[0])
        place = cgutils.get_item_pointer(context, builder, kind, held, args[1:], wraparound=False)
        shape = ir.FunctionType(ir.VoidType(), [BYTES, NUMBER, NUMBER, NUMBER])
        call = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
        hints = [ir.Constant(NUMBER, hint) for hint in (TO_READ, SOON, DATA)]
        builder.call(call, [builder.bitcast(place, BYTES), *hints])
        return context.get_dummy_value()

    return types.void(array, types.int64, types.int64), generate
