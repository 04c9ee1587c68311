"""Words of messages."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cormorant.data.counts import Counts


def counted(number: int, what: str) -> str:
    """ "1 row", "1,200 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def sized(counts: Counts) -> str:
    """ "300 rows x 40 columns, 2,689 nonzeros"."""
    return f"{counted(counts.n_rows, 'row')} x {counted(counts.n_columns, 'column')}, {counted(counts.nnz, 'nonzero')}"
