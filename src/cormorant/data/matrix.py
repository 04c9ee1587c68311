"""Real numbers with names: what `Counts` is for counts, for models that take any matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.names import Shaped, checked_names, index_names, positions, take


@dataclass(frozen=True, eq=False)
class Matrix(Shaped):
    """Rows x columns, NaN where an entry is missing; names where the data have them."""

    values: np.ndarray
    row_names: np.ndarray | None = None
    column_names: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """Rows, columns."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def n_missing(self) -> int:
        """Number of entries that are missing."""
        return int(np.isnan(self.values).sum())

    def rows(self, index: Any) -> Matrix:
        """Those at these places."""
        return replace(self, values=self.values[index], row_names=take(self.row_names, index))

    def columns(self, index: Any) -> Matrix:
        """Those at these places, or of these names."""
        chosen = positions(self.n_columns, index, self.column_names, "column")
        return replace(self, values=self.values[:, chosen], column_names=take(self.column_names, chosen))

    def numbered(self) -> Matrix:
        """The same, rows without names called by their numbers."""
        if self.row_names is not None:
            return self
        return replace(self, row_names=np.array([str(i) for i in range(self.n_rows)], dtype=object))


def as_matrix(X: Any) -> Counts | Matrix:
    """Counts as they are; anything else that a model of features takes as a `Matrix`."""
    if isinstance(X, Counts | Matrix):
        return X
    rows = columns = None
    if hasattr(X, "iloc"):
        rows = checked_names(index_names(X.index), len(X.index), "row")
        columns = checked_names(index_names(X.columns), len(X.columns), "column")
        X = X.to_numpy()
    elif hasattr(X, "toarray"):
        X = X.toarray()
    try:
        values = np.ma.filled(np.ma.asarray(X).astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise DataError("X must be a matrix of numbers, rows x columns; some of its entries are none.") from None
    if values.ndim != 2:
        raise DataError(f"X must be a matrix, rows x columns; got shape {values.shape}.")
    return Matrix(values, rows, columns)
