"""Matrices of real numbers: NumPy's .npy, and CSV or TSV with a line a row."""

from __future__ import annotations

import csv
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cormorant.data.errors import DataError
from cormorant.data.matrix import Matrix
from cormorant.data.names import checked_names

DELIMITERS = {".csv": ",", ".tsv": "\t"}
MATRIX_SUFFIXES = (".npy", *DELIMITERS)


def read_matrix(path: str | PathLike[str]) -> Matrix:
    """A matrix of real numbers; NaN, or an empty cell of a table, where an entry is missing.

    A table names its columns in its first line, unless that is made of numbers like the others. Its first column holds
    the names of the rows if it has no title or is not made of numbers. (Tables of triples are read by `read`.)
    """
    path = Path(path)
    if path.suffix not in MATRIX_SUFFIXES:
        raise DataError(f"A matrix is read from {', '.join(MATRIX_SUFFIXES)}; got the name {path.name!r}.")
    found = _read_npy(path) if path.suffix == ".npy" else _read_table(path, DELIMITERS[path.suffix])
    if 0 in found.shape:
        raise DataError(f"{path} must hold a matrix with rows and columns; it has shape {found.shape}.")
    if np.isinf(found.values).any():
        row, column = np.argwhere(np.isinf(found.values))[0]
        raise DataError(f"{path} must hold finite numbers; that of row {row}, column {column} is infinite.")
    return found


def _read_npy(path: Path) -> Matrix:
    try:
        values: Any = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise DataError(f"{path} must be a matrix that numpy.save wrote; it cannot be read as one.") from None
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "biuf":
        shape = getattr(values, "shape", None)
        raise DataError(f"{path} must hold a matrix of real numbers, rows x columns; it has shape {shape}.")
    return Matrix(values.astype(np.float64))


def _read_table(path: Path, delimiter: str) -> Matrix:
    import pandas as pd

    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            first = next(csv.reader(lines, delimiter=delimiter), [])
        header = None if _are_entries(first) else 0
        table: Any = pd.read_csv(path, sep=delimiter, header=header, encoding="utf-8-sig")
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise DataError(f"{path} must be a table with a line a row; it could not be read: {error}.") from None
    if table.empty:
        raise DataError(f"{path} must hold a matrix with rows and columns; it has shape {table.shape}.")
    row_names = None
    if not _is_numeric(table.iloc[:, 0]) or (header == 0 and not first[0].strip()):
        row_names, table = table.iloc[:, 0].astype(str), table.iloc[:, 1:]
    if wrong := [str(name) for name in table.columns if not _is_numeric(table[name])]:
        raise DataError(
            f"{path} must have numbers in all columns but the first, which may name the rows; {wrong[0]!r} has others."
        )
    names = None if header is None else [str(name) for name in table.columns]
    values = table.to_numpy(dtype=np.float64)
    return Matrix(values, checked_names(row_names, len(values), "row"), checked_names(names, values.shape[1], "column"))


def _are_entries(cells: list[str]) -> bool:
    """Whether the first line of a table is one of its rows: numbers, and not 0, 1, 2, ..., which are names."""
    try:
        numbers = [float(cell) for cell in cells]
    except ValueError:
        return False
    return bool(cells) and cells != [str(i) for i in range(len(numbers))]


def _is_numeric(column: Any) -> bool:
    """Whether it holds numbers alone (an empty one does: all are missing)."""
    return column.dtype.kind in "iuf"
