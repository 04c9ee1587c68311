"""Data sets and their one split, the same for every figure of ours.

`rng = default_rng(1)`; rows `rng.permutation(rows)[:1000]` are held out; `rng.random(nnz) < .1` marks the observed
entries of theirs, a fresh `default_rng(2).random(nnz) < .5` those at 50%; columns that the training rows never show are
dropped. Where a machine is small, rows are sampled first: `sort(default_rng(0).permutation(rows)[:max_rows])`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import sparse

from cormorant import as_counts
from cormorant.data import Counts, hold_out, split_entries

HELD_OUT = 1000
PARTS = ("observed", "test")


@dataclass(frozen=True)
class Split:
    """Rows to fit; of the others what is observed and what is to be predicted, by the fraction observed."""

    train: Counts
    pairs: dict[str, tuple[Counts, Counts]]

    def write(self, folder: Path) -> None:
        """One file a matrix, uncompressed: reading them back takes little more memory than they do."""
        folder.mkdir(parents=True, exist_ok=True)
        for fraction, pair in self.pairs.items():
            for part, counts in zip(PARTS, pair, strict=True):
                sparse.save_npz(folder / f"{part}-{fraction}.npz", counts.tocsr(), compressed=False)
        sparse.save_npz(folder / "train.npz", self.train.tocsr(), compressed=False)

    @classmethod
    def read(cls, folder: Path) -> Split:
        """What `write` wrote."""

        def matrix(name: str) -> Counts:
            return as_counts(sparse.load_npz(folder / f"{name}.npz"))

        fractions = sorted(file.stem.removeprefix("test-") for file in folder.glob("test-*.npz"))
        pairs = {f: (matrix(f"observed-{f}"), matrix(f"test-{f}")) for f in fractions}
        return cls(matrix("train"), pairs)


def load(folder: Path, max_rows: int | None = None, min_entries: int = 0) -> Counts:
    """The rows of ``folder/counts.npz`` with at least so many entries, or a sample of them."""
    matrix = sparse.csr_array(sparse.load_npz(folder / "counts.npz"))
    if min_entries:
        matrix = matrix[np.diff(matrix.indptr) >= min_entries]
    if max_rows and matrix.shape[0] > max_rows:
        matrix = matrix[np.sort(np.random.default_rng(0).permutation(matrix.shape[0])[:max_rows])]
    return as_counts(matrix)


def split(counts: Counts, n_held_out: int = HELD_OUT) -> Split:
    """Training rows, and (observed, test) at 10% and at 50% of the others."""
    rng = np.random.default_rng(1)
    held = hold_out(counts, n_held_out, rng)
    pairs = {"10%": split_entries(held.held_out, 0.1, rng), "50%": split_entries(held.held_out, 0.5, 2)}
    seen = np.flatnonzero(held.train.column_totals() > 0)
    kept = {fraction: (a.columns(seen), b.columns(seen)) for fraction, (a, b) in pairs.items()}
    return Split(held.train.columns(seen), kept)
