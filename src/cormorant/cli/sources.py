"""Where counts come from, and how to tell one matrix from another."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from cormorant.data import Counts

SAMPLE = "nyt"


def load_counts(source: str, **options: Any) -> Counts:
    """The embedded sample for `nyt`, else what the file holds; options are those of `cormorant.read`."""
    if source == SAMPLE:
        from cormorant.datasets import load_nyt

        if options:
            raise ValueError(f"{SAMPLE} is the embedded sample, which is not read with options; leave them out.")
        return load_nyt()
    from cormorant.data import read

    if Path(source).is_dir():
        raise IsADirectoryError(f"{source} is a folder; give a file of counts, or {SAMPLE} for the embedded sample.")
    return read(Path(source), **options)


def load_fit(fit: Path) -> Any:
    """The fitted model in a folder."""
    from cormorant.estimators import load

    return load(fit)


def counts_for(model: Any, source: str) -> Counts:
    """Counts whose columns are those of the fit."""
    from cormorant.estimators.inputs import to_counts

    return to_counts(model, load_counts(source), reset=False)


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
