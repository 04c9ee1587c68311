"""Long tables of (row, column, count) triples, summed into one sparse matrix."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cormorant.data.canonical import as_numbers, check_values, summable
from cormorant.data.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

logger = logging.getLogger("cormorant.data")


def sum_triples(
    table: pd.DataFrame | Mapping[str, Any],
    row: str,
    column: str,
    count: str | None,
    column_names: Sequence[str] | NDArray[Any] | None,
) -> tuple[sparse.csr_matrix[Any], list[str], Sequence[str] | NDArray[Any]]:
    """The matrix, row names and column names of `Counts.from_triples`."""
    row_labels, column_labels = _column(table, row), _column(table, column)
    if len(row_labels) != len(column_labels):
        raise DataError(f"Columns {row!r} and {column!r} differ in length.")
    rows, row_names = _sorted_codes(row_labels, row)
    if column_names is None:
        columns, column_names = _sorted_codes(column_labels, column)
    else:
        columns = _given_codes(column_labels, column, column_names)
    values = _values(table, count, len(rows))
    shape = (len(row_names), len(column_names))
    matrix = sum_coordinates(rows, columns, values, shape, "the table", counting=count is None)
    return matrix, row_names, column_names


def sum_coordinates(
    rows: NDArray[Any],
    columns: NDArray[Any],
    values: NDArray[Any],
    shape: tuple[int, int],
    source: object,
    *,
    counting: bool = False,
) -> sparse.csr_matrix[Any]:
    """Sum entries given by coordinates into a CSR matrix, and say how many shared a place with another."""
    matrix: Any = sparse.coo_matrix((summable(values), (rows, columns)), shape=shape).tocsr()
    say_summed(len(values) - matrix.nnz, source, counting=counting)
    return matrix


def say_summed(n_merged: int, source: object, *, counting: bool) -> None:
    """Log merged duplicates: news when counts were given, the purpose when each line counts one."""
    if n_merged:
        level = logging.INFO if counting else logging.WARNING
        logger.log(level, "%s: %d duplicated (row, column) pairs were summed into others", source, n_merged)


def _column(table: pd.DataFrame | Mapping[str, Any], name: str) -> pd.Series[Any]:
    import pandas as pd

    if name not in table:
        raise DataError(f"The table has no column {name!r}; it has {', '.join(map(repr, table))}.")
    return pd.Series(table[name]).reset_index(drop=True)


def _refuse_missing(labels: pd.Series[Any], name: str) -> None:
    missing = labels.isna().to_numpy()
    if missing.any():
        raise DataError(f"Column {name!r} has no label at position {np.argmax(missing)}; drop or fill such lines.")


def _sorted_codes(labels: pd.Series[Any], name: str) -> tuple[NDArray[np.intp], list[str]]:
    """Positions of the labels among their sorted distinct values, and these values as names."""
    import pandas as pd

    _refuse_missing(labels, name)
    codes, distinct = pd.factorize(labels.astype(str) if labels.dtype == object else labels, sort=True)
    return codes, [str(label) for label in distinct]


def _given_codes(labels: pd.Series[Any], name: str, known: Sequence[str] | NDArray[Any]) -> NDArray[np.intp]:
    """Positions of the labels in `known`."""
    import pandas as pd

    _refuse_missing(labels, name)
    index = pd.Index(np.asarray(known, dtype=object))
    if not index.is_unique:
        raise DataError(f"column_names must differ, but {index[index.duplicated()][0]!r} comes twice.")
    codes = index.get_indexer(pd.Index(labels.astype(str)))
    if (codes < 0).any():
        first = int(np.argmax(codes < 0))
        raise DataError(f"Column {name!r} has the label {labels[first]!r} at position {first}, not in column_names.")
    return codes


def _values(table: pd.DataFrame | Mapping[str, Any], count: str | None, length: int) -> NDArray[Any]:
    if count is None:
        return np.ones(length, dtype=np.int64)

    def entry(i: int) -> str:
        return f"position {i} of column {count!r}"

    values = as_numbers(_column(table, count).to_numpy(), entry)
    if len(values) != length:
        raise DataError(f"Column {count!r} has {len(values)} entries, the labels {length}.")
    check_values(values, entry)
    return values
