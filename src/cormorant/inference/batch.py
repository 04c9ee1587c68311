"""A block of rows as the backends want it: CSR arrays, and the same entries by column."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.special import gammaln


@dataclass(frozen=True)
class Batch:
    """Counts of some rows, with each row's exposure and covariates and the entries to treat as missing."""

    indptr: np.ndarray
    indices: np.ndarray
    counts: np.ndarray
    n_columns: int
    exposure: np.ndarray | None = None  # rows
    missing: sparse.csr_matrix | None = None  # ones where an entry was not looked at
    covariates: np.ndarray | None = None  # theta, rows x covariates

    def __post_init__(self) -> None:
        # Compiled code is compiled anew for arrays that can be written to: let these never be.
        for name in ("indptr", "indices"):
            array = getattr(self, name).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    @property
    def n_rows(self) -> int:
        """Rows in this block."""
        return len(self.indptr) - 1

    def take(self, keep: np.ndarray) -> Batch:
        """The rows that a mask keeps."""
        lengths = np.diff(self.indptr)
        entries = np.repeat(keep, lengths)
        return Batch(
            np.concatenate([[0], np.cumsum(lengths[keep])]),
            self.indices[entries],
            self.counts[entries],
            self.n_columns,
            None if self.exposure is None else self.exposure[keep],
            None if self.missing is None else self.missing[keep],
            None if self.covariates is None else self.covariates[keep],
        )

    @cached_property
    def by_column(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Offsets of the columns, the row of each entry, and the order that sorts the entries by column."""
        order = sparse.csr_matrix(
            (np.arange(len(self.indices)), self.indices, self.indptr), shape=(self.n_rows, self.n_columns)
        ).tocsc()
        return order.indptr.astype(np.int64), order.indices, order.data

    @cached_property
    def whole_counts(self) -> np.ndarray:
        """The counts as whole numbers, which a sampler shares out one by one."""
        if np.any(self.counts % 1.0):
            raise ValueError(
                "a model that was fitted by sampling predicts from whole numbers, and X has fractions: "
                "round X, or fit with inference='structured'."
            )
        return self.counts.astype(np.int64)

    @cached_property
    def count_offsets(self) -> np.ndarray:
        """Number of counts before each entry, and at the end that of all."""
        return np.concatenate([[0], np.cumsum(self.whole_counts)])

    def log_rate_of(self, total: np.ndarray, atoms: np.ndarray | None) -> np.ndarray:
        """Log of e_u A_k, where A_k leaves out the entries that are missing: per component, or rows x components.

        ``total`` is the sum of each atom; the atoms themselves are needed only where entries are missing.
        """
        rate = total
        if self.missing is not None:
            assert atoms is not None  # they are never summed out where entries are missing
            # The floor keeps a row whose every entry is missing at its prior, and 1 / rate finite.
            rate = np.maximum(rate - self.missing @ atoms, np.maximum(1e-12 * rate, 1e-300))
        if self.exposure is not None:
            rate = self.exposure[:, None] * rate
        return np.log(rate)

    def exposed(self, mean_x: np.ndarray) -> np.ndarray:
        """sum_u e_u E x_uk over the rows that looked at a column: per component, or columns x components."""
        if self.exposure is not None:
            mean_x = mean_x * self.exposure[:, None]
        total = mean_x.sum(axis=0)
        return total if self.missing is None else total - self.missing.T @ mean_x

    @cached_property
    def row_totals(self) -> np.ndarray:
        """Sum of each row's counts."""
        cumulative = np.concatenate([[0.0], np.cumsum(self.counts, dtype=np.float64)])
        return cumulative[self.indptr[1:]] - cumulative[self.indptr[:-1]]

    @cached_property
    def log_base(self) -> float:
        """What the bound owes to the data alone: sum y log e - log y!."""
        base = -float(gammaln(self.counts.astype(np.float64) + 1.0).sum())
        if self.exposure is not None:
            base += float(self.row_totals @ np.log(self.exposure))
        return base
