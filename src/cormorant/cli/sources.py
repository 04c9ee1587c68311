"""Where counts come from, and how to tell one matrix from another."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cormorant.data import Counts

SAMPLE = "nyt"


def load_counts(source: str) -> Counts:
    """The embedded sample for `nyt`, else what the file holds."""
    if source == SAMPLE:
        from cormorant.datasets import load_nyt

        return load_nyt()
    from cormorant.data import read

    return read(Path(source))


def fingerprint(counts: Counts) -> str:
    """A digest that two matrices share only if they have the same entries in the same places."""
    digest = hashlib.sha256(repr(counts.shape).encode())
    # The types of the arrays follow from the entries, so equal matrices have equal bytes.
    for array in (counts.indptr, counts.indices, counts.data):
        digest.update(array.data)
    return digest.hexdigest()


def describe(counts: Counts) -> str:
    """Size in words."""
    return f"{counts.n_rows:,} rows x {counts.n_columns:,} columns, {counts.nnz:,} nonzeros"
