"""`Counts`: a count matrix that is checked once and never changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from cormorant._words import sized
from cormorant.data.canonical import CSR, canonical_csr, narrowed
from cormorant.data.errors import DataError
from cormorant.data.names import Names, Shaped, checked_names, first_names, label, positions, take
from cormorant.data.triples import sum_triples

if TYPE_CHECKING:
    import pandas as pd

    #: A table in memory: a data frame, or columns by name.
    Table = pd.DataFrame | Mapping[str, ArrayLike]


@dataclass(frozen=True, eq=False, repr=False)
class Counts(Shaped):
    """An immutable matrix of counts in compressed sparse rows, with the names of its rows and columns.

    Building one checks it (non-negative, finite, indices within the shape) and brings it into canonical form
    (`cormorant.data.canonical`), in read-only arrays of its own. Use `as_counts` for anything that is not yet
    three CSR arrays.

    Attributes:
        indptr: Offsets of the rows, int64, so that more than 2**31 entries fit.
        indices: Columns of the entries, rising within each row; int32 where the columns allow it.
        data: The entries: int32 (int64 where needed) if all are whole numbers whose total is below 2**62, else
            float64. So no sum of entries overflows.
        shape: Rows and columns.
        row_names: One string a row, or None.
        column_names: One string a column, or None.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.integer[Any]]
    data: NDArray[Any]
    shape: tuple[int, int]
    row_names: Names = None
    column_names: Names = None

    def __post_init__(self) -> None:
        n_rows, n_columns = (int(n) for n in self.shape)
        row_names = checked_names(self.row_names, n_rows, "row")
        column_names = checked_names(self.column_names, n_columns, "column")

        def place(row: int, column: int) -> str:
            return f"{label('row', row, row_names)}, {label('column', column, column_names)}"

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
    def nnz(self) -> int:
        """Number of entries that are not zero."""
        return len(self.data)

    @property
    def total(self) -> int | float:
        """Sum of all entries."""
        return self.data.sum(dtype=self._sum_dtype()).item()

    @property
    def is_integer(self) -> bool:
        """Whether the entries are stored as whole numbers (see `data`)."""
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
        """The rows at `index` (a slice, a mask, integers or names, in any order), with their names."""
        chosen = positions(self.n_rows, index, self.row_names, "row")
        lengths = np.diff(self.indptr)[chosen]
        indptr = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
        entries = np.arange(indptr[-1]) + np.repeat(self.indptr[chosen] - indptr[:-1], lengths)
        csr = CSR(indptr, self.indices[entries], narrowed(self.data[entries]))
        return self._trusted(csr, (len(chosen), self.n_columns), take(self.row_names, chosen), self.column_names)

    def columns(self, index: slice | ArrayLike) -> Self:
        """The columns at `index` (a slice, a mask, integers or names, in any order), with their names."""
        chosen = positions(self.n_columns, index, self.column_names, "column")
        return self.from_csr(self.tocsr()[:, chosen], self.row_names, take(self.column_names, chosen))

    def __getitem__(self, index: Any) -> Self:
        """`counts[rows]` or `counts[rows, columns]`, always a matrix: scikit-learn splits data this way."""
        if isinstance(index, tuple) and len(index) != 2:
            raise IndexError(f"Counts take counts[rows] or counts[rows, columns], got {len(index)} indices.")
        rows, columns = index if isinstance(index, tuple) else (index, ...)
        chosen = self if rows is ... else self.rows(rows)
        return chosen if columns is ... else chosen.columns(columns)

    def __iter__(self) -> Iterator[Self]:
        """Each row as counts of one row."""
        return (self.rows(i) for i in range(self.n_rows))

    def __array__(self, *_: Any, **__: Any) -> NDArray[Any]:
        """Refused: it would hold every zero, and NumPy calls this unasked."""
        raise TypeError("Counts do not turn into a dense array by themselves; use counts.tocsr(), or its .toarray().")

    def entries(self, mask: NDArray[np.bool_]) -> Self:
        """The same shape and names with only the entries that `mask` (one truth value an entry) keeps."""
        if mask.shape != self.data.shape or mask.dtype != np.bool_:
            raise DataError(f"mask must be {self.nnz} truth values, got shape {mask.shape} of {mask.dtype}.")
        kept = np.concatenate([np.zeros(1, np.int64), np.cumsum(mask, dtype=np.int64)])
        csr = CSR(kept[self.indptr], self.indices[mask], narrowed(self.data[mask]))
        return self._trusted(csr, self.shape, self.row_names, self.column_names)

    def place(self, entry: int) -> str:
        """Where an entry (by its position in `data`) is, for messages: "row 3, column 7 ('game')"."""
        row = int(np.searchsorted(self.indptr, entry, side="right")) - 1
        return f"{self.row_label(row)}, {label('column', int(self.indices[entry]), self.column_names)}"

    def row_label(self, row: int) -> str:
        """A row for messages: its number, and its name if it has one."""
        return label("row", row, self.row_names)

    def named(self, row_names: Any = None, column_names: Any = None) -> Self:
        """The same counts with these names; None keeps the present ones."""
        if row_names is None and column_names is None:
            return self
        rows = self.row_names if row_names is None else checked_names(row_names, self.n_rows, "row")
        columns = self.column_names if column_names is None else checked_names(column_names, self.n_columns, "column")
        return self._trusted(CSR(self.indptr, self.indices, self.data), self.shape, rows, columns)

    def numbered(self) -> Self:
        """The same counts; rows without names are named by their numbers, which they keep wherever they go."""
        return self if self.row_names is not None else self.named(row_names=map(str, range(self.n_rows)))

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
        names = first_names("rows", self.row_names) + first_names("columns", self.column_names)
        return f"Counts({sized(self)}, total {self.total:,}, {kind}{names})"

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


def _same(a: NDArray[Any] | None, b: NDArray[Any] | None) -> bool:
    return a is b or (a is not None and b is not None and np.array_equal(a, b))
