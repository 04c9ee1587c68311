"""Matrices of real numbers: NumPy's .npy, and CSV or TSV with a line a row."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from cormorant.data.errors import DataError
from cormorant.data.matrix import Matrix
from cormorant.data.names import checked_names
from cormorant.data.readers.long_tables import has_triples, has_triples_of_counts, is_numeric, matrix_of_triples

DELIMITERS = {".csv": ",", ".tsv": "\t"}
MATRIX_SUFFIXES = (".npy", *DELIMITERS)
HEAD = 1000  # lines that are looked at first, where triples are to be told from matrices


def read_matrix(path: str | PathLike[str]) -> Matrix:
    """A matrix of real numbers; NaN, or an empty cell of a table, where an entry is missing.

    A table names its columns in its first line, unless that is made of numbers like the others. Its first column holds
    the names of the rows if it has no title or is not made of numbers.

    A table may also hold triples (row, column, value), told by `long_tables.has_triples`; then an entry is missing
    where there is no triple. (Triples of counts, which are zero there, are read by `read`.)
    """
    path = Path(path)
    if path.suffix not in MATRIX_SUFFIXES:
        raise DataError(f"A matrix is read from {', '.join(MATRIX_SUFFIXES)}; got the name {path.name!r}.")
    return _checked(_read_npy(path) if path.suffix == ".npy" else _read_table(path), path)


def read_matrix_of_counts(path: Path) -> Matrix | None:
    """A table as `read_matrix` reads it, if its numbers are counts; None if it holds triples of them.

    Those `read` reads, whose rule takes more for triples. It is the first lines that tell, as a rule: no later ones can
    make a matrix of what these have shown to be triples, and a long table is not gone through twice.
    """
    parsed = _parsed(path, HEAD)
    if not parsed.has_triples_of_counts and len(parsed.table) == HEAD:  # there may be more
        parsed = _parsed(path)
    return None if parsed.has_triples_of_counts else _checked(_matrix(parsed, path), path)


def has_header(path: Path) -> bool:
    """Whether the first line of a table names its columns."""
    return not _are_entries(_first_line(path))


def _checked(found: Matrix, path: Path) -> Matrix:
    if 0 in found.shape:
        raise DataError(f"{path} must hold a matrix with rows and columns; it has shape {found.shape}.")
    if np.isinf(found.values).any():
        row, column = np.argwhere(np.isinf(found.values))[0]
        raise DataError(f"{path} must hold finite numbers; that of row {row}, column {column} is infinite.")
    return found


def write_matrix(matrix: Matrix, path: str | PathLike[str]) -> None:
    """Write a matrix as `read_matrix` reads it; .npy has no names, a table has nothing where an entry is missing."""
    path = Path(path)
    if path.suffix == ".npy":
        np.save(path, matrix.values)
        return
    names, columns = matrix.row_names, matrix.column_names
    if columns is None and names is not None:
        columns = np.arange(matrix.n_columns)
    with path.open("w", encoding="utf-8", newline="") as lines:
        writer = csv.writer(lines, delimiter=DELIMITERS[path.suffix], lineterminator="\n")
        if columns is not None:
            writer.writerow([*([] if names is None else [""]), *columns])
        for u, row in enumerate(matrix.values.tolist()):
            writer.writerow([*([] if names is None else [names[u]]), *map(_cell, row)])


def _cell(value: float) -> str:
    """The shortest text that is read as the same number; whole numbers without a point."""
    if np.isnan(value):
        return ""
    return str(int(value)) if value.is_integer() and abs(value) < 1e15 else repr(value)


def _read_npy(path: Path) -> Matrix:
    try:
        values: Any = np.load(path, allow_pickle=False)
    except (ValueError, EOFError):
        raise DataError(f"{path} must be a matrix that numpy.save wrote; it cannot be read as one.") from None
    if not isinstance(values, np.ndarray) or values.ndim != 2 or values.dtype.kind not in "biuf":
        shape = getattr(values, "shape", None)
        raise DataError(f"{path} must hold a matrix of real numbers, rows x columns; it has shape {shape}.")
    return Matrix(values.astype(np.float64))


@dataclass(frozen=True)
class Parsed:
    """A table, or its first lines."""

    table: Any  # a data frame
    titles: list[str] | None  # its first line, if that names the columns

    @property
    def has_triples_of_counts(self) -> bool:
        """Whether there is a triple a line, if the numbers are counts."""
        return self.table.shape[1] > 1 and has_triples_of_counts(self.table, self.titles)


def _first_line(path: Path) -> list[str]:
    with path.open(encoding="utf-8-sig", newline="") as lines:
        return next(csv.reader(lines, delimiter=DELIMITERS[path.suffix]), [])


def _parsed(path: Path, n_lines: int | None = None) -> Parsed:
    import pandas as pd

    options: Any = {"sep": DELIMITERS[path.suffix], "encoding": "utf-8-sig", "float_precision": "round_trip"}
    try:
        first = _first_line(path)
        titles = None if _are_entries(first) else first
        return Parsed(pd.read_csv(path, header=None if titles is None else 0, nrows=n_lines, **options), titles)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise DataError(f"{path} must be a table with a line a row; it could not be read: {error}.") from None


def _read_table(path: Path) -> Matrix:
    parsed = _parsed(path)
    n_columns = parsed.table.shape[1]
    if not parsed.table.empty and n_columns > 2 and has_triples(parsed.table, parsed.titles, path):
        return matrix_of_triples(path, DELIMITERS[path.suffix], None if parsed.titles is None else 0, n_columns)
    return _matrix(parsed, path)


def _matrix(parsed: Parsed, path: Path) -> Matrix:
    table, titles = parsed.table, parsed.titles
    if table.empty:
        raise DataError(f"{path} must hold a matrix with rows and columns; it has shape {table.shape}.")
    row_names = None
    if not is_numeric(table.iloc[:, 0]) or (titles is not None and not titles[0].strip()):
        row_names, table = table.iloc[:, 0].astype(str), table.iloc[:, 1:]
    if wrong := [str(name) for name in table.columns if not is_numeric(table[name])]:
        raise DataError(
            f"{path} must have numbers in all columns but the first, which may name the rows; {wrong[0]!r} has others."
        )
    names = None if titles is None else [str(name) for name in table.columns]
    values = table.to_numpy(dtype=np.float64)
    return Matrix(values, checked_names(row_names, len(values), "row"), checked_names(names, values.shape[1], "column"))


def _are_entries(cells: list[str]) -> bool:
    """Whether the first line of a table is one of its rows: numbers, and not 0, 1, 2, ..., which are names.

    Entries may be missing, but the first: an empty cell there stands above the names of rows.
    """
    if not cells or not cells[0].strip():
        return False
    try:
        for cell in filter(str.strip, cells):
            float(cell)
    except ValueError:
        return False
    return cells != [str(i) for i in range(len(cells))]
