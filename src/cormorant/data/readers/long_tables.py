"""Tables with a triple (row, column, value) a line: told from matrices and, of real numbers, made into one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cormorant.data.errors import DataError
from cormorant.data.matrix import Matrix
from cormorant.data.names import checked_names

logger = logging.getLogger("cormorant.data")

#: Titles that say so, whatever stands below them.
TITLES = ({"row"}, {"column", "col"}, {"count", "value"})
SURE = 10  # lines; fewer may be sorted by chance


def has_triples_of_counts(table: Any, titles: Sequence[str] | None) -> bool:
    """Whether a data frame holds a triple (or a pair, which counts one) a line, if its numbers are counts.

    Two or three columns are triples, as they are to `read`, unless the first can only be names of rows: under an empty
    title, or none of them twice. More are a matrix, unless the titles are row, column and count, or the second column
    is text.
    """
    first, second = table.iloc[:, 0], table.iloc[:, 1]
    if _titled(titles) or not is_numeric(second):
        return True
    has_row_names = titles is not None and not titles[0].strip()
    return table.shape[1] <= 3 and not has_row_names and bool(first.duplicated().any())


def has_triples(table: Any, titles: Sequence[str] | None, path: Path) -> bool:
    """Whether a data frame of at least three columns holds a triple a line, if its numbers are real.

    It does if its titles are row, column and value (or count). Without, three columns are triples if the first two can
    be labels and the second is text, which no matrix has there, or the lines are sorted by them. Whole numbers in
    another order may as well be entries of a matrix, and are refused.
    """
    if _titled(titles):
        return True
    has_row_names = titles is not None and not titles[0].strip()
    if table.shape[1] > 3 or has_row_names or not _are_labels(table.iloc[:, 0], table.iloc[:, 1]):
        return False
    labels = table.iloc[:, :2]
    is_sorted = len(table) >= SURE and labels.equals(labels.sort_values(list(labels.columns), kind="stable"))
    if is_sorted or not is_numeric(table.iloc[:, 1]):
        return True
    raise DataError(
        f"{path} may hold triples (row, column, value) or a matrix of three columns: the first two have whole numbers "
        "like labels, no pair twice. Put the titles row,column,value above triples; give a matrix as .npy, or with "
        "names of its rows in front, under an empty title."
    )


def _titled(titles: Sequence[str] | None) -> bool:
    """Whether the first titles are those of triples, or of pairs."""
    known = zip(titles or (), TITLES, strict=False)
    return titles is not None and all(title.strip().lower() in words for title, words in known)


def matrix_of_triples(path: Path, delimiter: str, header: int | None, n_columns: int) -> Matrix:
    """The matrix, its labels sorted (numbers first); NaN at the places that no triple has."""
    import pandas as pd

    if n_columns > 3:
        logger.warning("%s: of its %d columns the first three are taken for row, column and value", path, n_columns)
    options: dict[str, Any] = {"sep": delimiter, "header": header, "encoding": "utf-8-sig", "usecols": [0, 1, 2]}
    table: Any = pd.read_csv(path, dtype=str, keep_default_na=False, **options)  # labels stay text: 007 is not 7
    values = pd.to_numeric(table.iloc[:, 2].replace("", "nan"), errors="coerce").to_numpy(dtype=np.float64)
    wrong = np.isnan(values) & ~table.iloc[:, 2].str.strip().str.lower().isin(["", "nan", "na"]).to_numpy()
    if wrong.any():
        line = int(np.argmax(wrong))
        raise DataError(f"{path} must have a number as value of each triple; got {table.iloc[line, 2]!r}.")
    if (table.iloc[:, :2] == "").any(axis=None):
        raise DataError(f"{path} must name a row and a column in each triple; some have no label.")
    (rows, row_names), (columns, column_names) = (_codes(table.iloc[:, i]) for i in range(2))
    again = table.iloc[:, :2].duplicated().to_numpy()
    if again.any():
        row, column = table.iloc[int(np.argmax(again)), :2]
        raise DataError(
            f"{path} must have one value for a row and a column; row {row!r}, column {column!r} has several."
        )
    entries = np.full((len(row_names), len(column_names)), np.nan)
    entries[rows, columns] = values
    return Matrix(
        entries,
        checked_names(row_names, len(row_names), "row"),
        checked_names(column_names, len(column_names), "column"),
    )


def _codes(labels: Any) -> tuple[np.ndarray, list[str]]:
    """Places of labels among their sorted distinct ones, and these: numbers first, then text, as in counts."""
    distinct = sorted(set(labels), key=lambda label: (0, int(label), label) if label.isdecimal() else (1, 0, label))
    place = {label: i for i, label in enumerate(distinct)}
    return np.array([place[label] for label in labels], dtype=np.int64), distinct


def _are_labels(first: Any, second: Any) -> bool:
    """Whether two columns can be labels of rows and columns: each pair once, some of both several times."""
    if not (_can_label(first) and _can_label(second) and first.duplicated().any() and second.duplicated().any()):
        return False
    return len(set(zip(first, second, strict=True))) == len(first)


def _can_label(column: Any) -> bool:
    """Text or whole numbers, none missing."""
    if column.isna().any():
        return False
    return not is_numeric(column) or bool(((column >= 0) & (column % 1 == 0)).all())


def is_numeric(column: Any) -> bool:
    """Whether it holds numbers alone (an empty one does: all are missing)."""
    return column.dtype.kind in "iuf"
