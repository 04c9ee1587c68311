"""Real numbers with names: what `Counts` is for counts, for models that take any matrix."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError


@dataclass(frozen=True, eq=False)
class Matrix:
    """Rows x columns, NaN where an entry is missing; names where the data have them."""

    values: np.ndarray
    row_names: np.ndarray | None = None
    column_names: np.ndarray | None = None

    @property
    def shape(self) -> tuple[int, int]:
        """Rows, columns."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @property
    def n_missing(self) -> int:
        """Number of entries that are missing."""
        return int(np.isnan(self.values).sum())

    def rows(self, index: Any) -> Matrix:
        """Those at these places."""
        names = self.row_names
        return replace(self, values=self.values[index], row_names=None if names is None else names[index])

    def numbered(self) -> Matrix:
        """The same, rows without names called by their numbers."""
        if self.row_names is not None:
            return self
        return replace(self, row_names=np.array([str(i) for i in range(self.n_rows)], dtype=object))


def as_matrix(X: Any) -> Counts | Matrix:
    """Counts as they are; anything else that a model of features takes as a `Matrix`."""
    if isinstance(X, Counts | Matrix):
        return X
    names: list[Any] = [None, None]
    if hasattr(X, "iloc"):
        names = [_names(X.index), _names(X.columns)]
        X = X.to_numpy()
    elif hasattr(X, "toarray"):
        X = X.toarray()
    try:
        values = np.ma.filled(np.ma.asarray(X).astype(np.float64), np.nan)
    except (TypeError, ValueError):
        raise DataError("X must be a matrix of numbers, rows x columns; some of its entries are none.") from None
    if values.ndim != 2:
        raise DataError(f"X must be a matrix, rows x columns; got shape {values.shape}.")
    return Matrix(values, *names)


def _names(index: Any) -> np.ndarray | None:
    """Names from a pandas index; the default index, which only numbers, gives none."""
    is_default = type(index).__name__ == "RangeIndex"
    return None if is_default else np.array([str(name) for name in index], dtype=object)
