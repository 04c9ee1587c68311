"""`Counts`: a count matrix that is checked once and never changes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cormorant.data.canonical import CSR, canonical_csr, narrowed
from cormorant.data.errors import DataError
from cormorant.data.triples import sum_triples

if TYPE_CHECKING:
    import pandas as pd

    #: A table in memory: a data frame, or columns by name.
    Table = pd.DataFrame | Mapping[str, ArrayLike]


@dataclass(frozen=True, eq=False, repr=False)
class Counts:
    """An immutable matrix of counts in compressed sparse rows, with the names of its rows and columns.

    Building one checks it (non-negative, finite, indices within the shape) and brings it into canonical form
    (`cormorant.data.canonical`), in read-only arrays of its own. Use `as_counts` for anything that is not yet
    three CSR arrays.

    Attributes:
        indptr: Offsets of the rows, int64, so that more than 2**31 entries fit.
        indices: Columns of the entries, rising within each row; int32 where the columns allow it.
        data: The entries: int32 (int64 where needed) if all are whole numbers, else float64.
        shape: Rows and columns.
        row_names: One string a row, or None.
        column_names: One string a column, or None.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer[Any]]
    data: NDArray[Any]
    shape: tuple[int, int]
    row_names: NDArray[np.object_] | None = None
    column_names: NDArray[np.object_] | None = None

    def __post_init__(self) -> None:
        n_rows, n_columns = (int(n) for n in self.shape)
        row_names = _names(self.row_names, n_rows, "row")
        column_names = _names(self.column_names, n_columns, "column")

        def place(row: int, column: int) -> str:
            return f"{_label('row', row, row_names)}, {_label('column', column, column_names)}"

        csr = canonical_csr(self.indptr, self.indices, self.data, (n_rows, n_columns), place)
        self._set(csr, (n_rows, n_columns), row_names, column_names)

    @classmethod
    def from_triples(
        cls,
        table: Table,
        *,
        row: str,
        column: str,
        count: str | None = None,
        column_names: Sequence[str] | NDArray[Any] | None = None,
    ) -> Self:
        """Count a long table that has one (row, column, count) triple a line.

        Rows and columns come in the sorted order of their labels, whatever the order of the lines.

        Args:
            table: A data frame, or a mapping from names to columns.
            row: Name of the column of row labels.
            column: Name of the column of column labels.
            count: Name of the column of counts; None counts each line once.
            column_names: The columns wanted, in order; a label outside them is an error.
        """
        return cls.from_csr(*sum_triples(table, row, column, count, column_names))

    @classmethod
    def from_csr(cls, matrix: Any, row_names: Any = None, column_names: Any = None) -> Self:
        """Counts from a scipy matrix or array in CSR format (`as_counts` takes the other formats)."""
        end = matrix.indptr[-1]  # scipy allows unused room after the last entry
        arrays = matrix.indptr, matrix.indices[:end], matrix.data[:end]
        return cls(*arrays, matrix.shape, row_names, column_names)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]

    @property
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return len(self.data)

    @property
    def total(self) -> int | float:
        """Sum of all entries."""
        return self.data.sum(dtype=self._sum_dtype()).item()

    @property
    def is_integer(self) -> bool:
        """Whether every entry is a whole number."""
        return self.data.dtype.kind == "i"

    def row_totals(self) -> NDArray[Any]:
        """Sum of each row (int64 or float64)."""
        return self._totals(axis=1)

    def column_totals(self) -> NDArray[Any]:
        """Sum of each column (int64 or float64)."""
        return self._totals(axis=0)

    def tocsr(self, *, copy: bool = False) -> sparse.csr_matrix[Any]:
        """The matrix for scipy.

        Without `copy` it shares the entries, which are read-only: changing it in place raises. With `copy`
        it is the caller's own.
        """
        matrix: Any = sparse.csr_matrix((self.data, self.indices, self.indptr), shape=self.shape, copy=copy)
        matrix.has_canonical_format = True
        return matrix

    def rows(self, index: slice | ArrayLike) -> Self:
        """The rows at `index` (a slice, a mask, integers, in any order), with their names."""
        chosen = _positions(self.n_rows, index)
        lengths = np.diff(self.indptr)[chosen]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[chosen] - indptr[:-1], lengths)
        csr = CSR(indptr, self.indices[entries], narrowed(self.data[entries]))
        return self._trusted(csr, (len(chosen), self.n_columns), _take(self.row_names, chosen), self.column_names)

    def columns(self, index: slice | ArrayLike) -> Self:
        """The columns at `index` (a slice, a mask, integers, in any order), with their names."""
        chosen = _positions(self.n_columns, index)
        return self.from_csr(self.tocsr()[:, chosen], self.row_names, _take(self.column_names, chosen))

    def entries(self, mask: NDArray[np.bool_]) -> Self:
        """The same shape and names with only the entries that `mask` (one truth value an entry) keeps."""
        if mask.shape != self.data.shape or mask.dtype != np.bool_:
            raise DataError(f"mask must be {self.nnz} truth values, got shape {mask.shape} of {mask.dtype}.")
        kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask, dtype=np.int64)])
        csr = CSR(kept[self.indptr], self.indices[mask], narrowed(self.data[mask]))
        return self._trusted(csr, self.shape, self.row_names, self.column_names)

    def named(self, row_names: Any = None, column_names: Any = None) -> Self:
        """The same counts with these names; None keeps the present ones."""
        if row_names is None and column_names is None:
            return self
        rows = self.row_names if row_names is None else _names(row_names, self.n_rows, "row")
        columns = self.column_names if column_names is None else _names(column_names, self.n_columns, "column")
        return self._trusted(CSR(self.indptr, self.indices, self.data), self.shape, rows, columns)

    def __len__(self) -> int:
        return self.n_rows

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Counts):
            return NotImplemented
        return self.shape == other.shape and all(
            _same(getattr(self, name), getattr(other, name))
            for name in ("indptr", "indices", "data", "row_names", "column_names")
        )

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        kind = "whole numbers" if self.is_integer else "real numbers"
        names = _first_names("rows", self.row_names) + _first_names("columns", self.column_names)
        return (
            f"Counts({self.n_rows:,} rows x {self.n_columns:,} columns, {self.nnz:,} nonzeros, "
            f"total {self.total:,}, {kind}{names})"
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        csr = CSR(state["indptr"], state["indices"], state["data"])
        self._set(csr, state["shape"], state["row_names"], state["column_names"])

    @classmethod
    def _trusted(cls, csr: CSR, shape: tuple[int, int], row_names: Any, column_names: Any) -> Self:
        """Counts from arrays that are canonical already and nobody else's."""
        counts = object.__new__(cls)
        counts._set(csr, shape, row_names, column_names)
        return counts

    def _set(self, csr: CSR, shape: tuple[int, int], row_names: Any, column_names: Any) -> None:
        for array in (*csr, row_names, column_names):
            if array is not None:
                array.flags.writeable = False
        fields = {**csr._asdict(), "shape": shape, "row_names": row_names, "column_names": column_names}
        for name, value in fields.items():
            object.__setattr__(self, name, value)

    def _sum_dtype(self) -> np.dtype[Any]:
        return np.dtype(np.int64 if self.is_integer else np.float64)

    def _totals(self, axis: int) -> NDArray[Any]:
        return np.asarray(self.tocsr().sum(axis=axis, dtype=self._sum_dtype())).ravel()


def _names(names: Any, length: int, what: str) -> NDArray[np.object_] | None:
    """An own array of Python strings (no padding to the longest), or None."""
    if names is None:
        return None
    if isinstance(names, str):
        raise DataError(f"{what}_names must be a sequence of {length} strings, got one string.")
    array = np.array([str(name) for name in names], dtype=object)
    if len(array) != length:
        raise DataError(f"{what}_names must have one name for each of the {length} {what}s, got {len(array)}.")
    return array


def _positions(length: int, index: Any) -> NDArray[np.int64]:
    """What `index` (a slice, a mask, integers) picks out of 0..length-1."""
    if not isinstance(index, slice):
        index = np.asarray(index)
        index = index.astype(np.int64) if index.size == 0 else index
    return np.atleast_1d(np.arange(length)[index])


def _label(what: str, position: int, names: NDArray[np.object_] | None) -> str:
    return f"{what} {position}" if names is None else f"{what} {position} ({names[position]!r})"


def _first_names(what: str, names: NDArray[np.object_] | None) -> str:
    if names is None:
        return ""
    shown = [repr(name if len(name) <= 24 else name[:21] + "...") for name in names[:3]]
    return f"; {what} named {', '.join(shown)}{', ...' if len(names) > 3 else ''}"


def _take(names: NDArray[np.object_] | None, chosen: NDArray[np.int64]) -> NDArray[np.object_] | None:
    return None if names is None else names[chosen]


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
