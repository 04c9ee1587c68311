"""Words of messages."""

from __future__ import annotations

from typing import Any


def counted(number: int, what: str) -> str:
    """ "1 row", "1,200 rows"."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def sized(counts: Any) -> str:
    """ "300 rows x 40 columns, 2,689 nonzeros"; of a matrix of real numbers how many are missing."""
    size = f"{counted(counts.n_rows, 'row')} x {counted(counts.n_columns, 'column')}"
    if hasattr(counts, "nnz"):
        return f"{size}, {counted(counts.nnz, 'nonzero')}"
    return f"{size}, {counts.n_missing:,} missing" if counts.n_missing else size
