"""Files with one entry a line: UCI bag-of-words and Matrix Market."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError, at_line
from cormorant.data.readers.files import LineFile, read_names
from cormorant.data.readers.tokens import MAX_INDEX, count_faults, index_fault, raise_first, read_tokens
from cormorant.data.triples import sum_coordinates

ORIGIN = "declared in the header"


class Entries(NamedTuple):
    """Entries by coordinates, counted from 0."""

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    values: NDArray[np.float64]


def read_uci(path: Path, vocabulary: list[str] | None, *, weights: bool = False) -> Counts:
    """UCI bag-of-words: three lines with D, W and NNZ, then lines `document word count`, numbered from 1.

    The words come from `vocabulary` or, failing that, from the file `vocab.*` beside `docword.*`.
    """
    vocabulary = vocabulary or _vocabulary_beside(path)
    with LineFile(path) as file:
        n_rows, n_columns = (_header_number(file, what, most=MAX_INDEX) for what in ("documents", "words"))
        n_entries = _header_number(file, "nonzero counts")
        if vocabulary is not None and len(vocabulary) != n_columns:
            raise at_line(path, 2, f"the header declares {n_columns} words, the vocabulary has {len(vocabulary)}.")
        entries = _read_entries(file, (n_rows, n_columns), weights)
    _check_number(path, 3, n_entries, len(entries.values))
    return Counts.from_csr(sum_coordinates(*entries, (n_rows, n_columns), path), column_names=vocabulary)


def read_matrix_market(path: Path, vocabulary: list[str] | None, *, weights: bool = False) -> Counts:
    """Matrix Market: coordinate or array; integer, real or pattern; general or symmetric."""
    with LineFile(path) as file:
        layout, field, symmetry = _banner(file)
        n_sizes = 3 if layout == "coordinate" else 2
        n_rows, n_columns, *n_entries = _size_line(file, n_sizes)
        size_line = file.line
        _check_shape(file, n_rows, n_columns, symmetry)
        if layout == "array":
            matrix = _read_array(file, (n_rows, n_columns), weights)
        else:
            entries = _read_entries(file, (n_rows, n_columns), weights, pattern=field == "pattern")
            _check_number(path, size_line, n_entries[0], len(entries.values))
            if symmetry == "symmetric":
                entries = _mirrored(entries)
            matrix = sum_coordinates(*entries, (n_rows, n_columns), path)
    return Counts.from_csr(matrix, column_names=vocabulary)


def _read_entries(file: LineFile, shape: tuple[int, int], weights: bool, *, pattern: bool = False) -> Entries:
    """Lines `row column value` (with `pattern`, `row column`) up to the end of the file."""
    width = 2 if pattern else 3
    n_rows, n_columns = shape
    parts = [(np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0))]
    for line, fields in _records(file, width):
        rows, columns = fields[:, 0], fields[:, 1]
        values = np.ones(len(fields)) if pattern else fields[:, 2]
        faults = [
            index_fault(rows, 1, n_rows, "row", ORIGIN),
            index_fault(columns, 1, n_columns, "column", ORIGIN),
            *count_faults(values, weights),
        ]
        raise_first(file.path, (line, faults))
        parts.append((rows.astype(np.int64) - 1, columns.astype(np.int64) - 1, values))
    return Entries(*map(np.concatenate, zip(*parts, strict=True)))


def _records(file: LineFile, width: int) -> Iterator[tuple[NDArray[np.int64], NDArray[np.float64]]]:
    """The rest of the file in blocks of (line of each record, one row of `width` numbers a record)."""
    for tokens in read_tokens(file):
        line, lengths = np.unique(tokens.line, return_counts=True)
        is_wrong = lengths != width
        is_wrong[np.searchsorted(line, tokens.line[tokens.is_pair])] = True
        n_right = int(np.argmax(is_wrong)) if is_wrong.any() else len(line)
        yield line[:n_right], tokens.value[: n_right * width].reshape(-1, width)
        if n_right < len(line):
            on_line = tokens.line == line[n_right]
            got = "index:value pairs" if tokens.is_pair[on_line].any() else lengths[n_right]
            raise at_line(file.path, int(line[n_right]), f"expected {width} numbers on the line, got {got}.")


def _read_array(file: LineFile, shape: tuple[int, int], weights: bool) -> sparse.csr_matrix:
    """A dense Matrix Market body: one value a line, column by column."""
    parts = [np.empty(0)]
    size_line = file.line
    for line, fields in _records(file, 1):
        raise_first(file.path, (line, count_faults(fields[:, 0], weights)))
        parts.append(fields[:, 0])
    values = np.concatenate(parts)
    _check_number(file.path, size_line, shape[0] * shape[1], len(values))
    return sparse.csr_matrix(values.reshape(shape, order="F"))


def _mirrored(entries: Entries) -> Entries:
    off = entries.rows != entries.columns
    rows, columns, values = entries
    return Entries(
        np.concatenate([rows, columns[off]]),
        np.concatenate([columns, rows[off]]),
        np.concatenate([values, values[off]]),
    )


def _check_number(path: Path, line: int, declared: int, found: int) -> None:
    if declared != found:
        hint = "; the file may be cut short" if found < declared else ""
        raise at_line(path, line, f"the header declares {declared} entries, the body has {found}{hint}.")


def _header_number(file: LineFile, what: str, most: int | None = None) -> int:
    text = file.readline().strip()
    if not text.isdecimal():
        raise file.fault(f"expected the number of {what} alone on this line, got {text!r}.")
    if most is not None and int(text) > most:
        raise _too_many(file, what, text)
    return int(text)


def _too_many(file: LineFile, what: str, size: int | str) -> DataError:
    return file.fault(f"expected at most {MAX_INDEX} {what}, got {size}; number them anew, without gaps.")


def _check_shape(file: LineFile, n_rows: int, n_columns: int, symmetry: str) -> None:
    for what, size in (("rows", n_rows), ("columns", n_columns)):
        if size > MAX_INDEX:
            raise _too_many(file, what, size)
    if symmetry == "symmetric" and n_rows != n_columns:
        raise file.fault(
            f"a symmetric matrix must have as many rows as columns, got {n_rows} and {n_columns}; "
            "if it is not symmetric, write 'general' on the first line."
        )


def _banner(file: LineFile) -> tuple[str, str, str]:
    text = file.readline()
    words = text.lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise file.fault(f"expected '%%MatrixMarket matrix ...', got {text[:60]!r}.")
    layout, field, symmetry = words[2:]
    known = (
        layout in ("coordinate", "array")
        and field in ("integer", "real", "double", "pattern", "unsigned-integer")
        and (symmetry == "general" or (symmetry == "symmetric" and layout == "coordinate"))
    )
    if not known:
        raise file.fault(
            "expected integer, real or pattern entries of a general or (by coordinates) symmetric matrix, "
            f"got {text!r}."
        )
    return layout, field, symmetry


def _size_line(file: LineFile, n_sizes: int) -> list[int]:
    text = "%"
    while text.startswith("%") or not text.strip():
        text = file.readline()
    words = text.split()
    if len(words) != n_sizes or not all(word.isdecimal() for word in words):
        wanted = "rows, columns and entries" if n_sizes == 3 else "rows and columns"
        raise file.fault(f"expected the numbers of {wanted}, got {text!r}.")
    return [int(word) for word in words]


def _vocabulary_beside(path: Path) -> list[str] | None:
    """The words of vocab.X.txt[.gz] for docword.X.txt[.gz], if there."""
    if not path.name.startswith("docword"):
        return None
    name = "vocab" + path.name.removeprefix("docword").removesuffix(".gz")
    for candidate in (path.with_name(name), path.with_name(name + ".gz")):
        if candidate.exists():
            return read_names(candidate)
    return None
