"""Files with one row a line, index:value pairs after a first number: LDA-C and SVMlight."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.readers.files import LineFile
from cormorant.data.readers.tokens import (
    MAX_INDEX,
    Fault,
    Tokens,
    count_faults,
    index_fault,
    raise_first,
    read_tokens,
    show,
)
from cormorant.data.triples import sum_coordinates

_COMMENT = re.compile(rb"#[^\n]*")
_QUERY = re.compile(rb"[ \t]qid:\S+")
_LABEL = re.compile(rb"^[ \t]*[^\s:]+(?=\s|\Z)", re.MULTILINE)

#: The lines of some records, and what may be wrong with these.
Faults = tuple[NDArray[np.int64], list[Fault]]


class Rows(NamedTuple):
    """The rows of a block (line, first number), and their pairs (row, line, column, value)."""

    line: NDArray[np.int64]
    head: NDArray[np.float64]
    pair_row: NDArray[np.int64]
    pair_line: NDArray[np.int64]
    column: NDArray[np.float64]
    value: NDArray[np.float64]


class Width(NamedTuple):
    """How many columns there are, if known, and who says so."""

    n_columns: int | None
    origin: str


def read_lda_c(
    path: Path, vocabulary: list[str] | None, *, n_columns: int | None = None, weights: bool = False
) -> Counts:
    """LDA-C: a line is `N index:count ...` with N pairs; indices count from 0.

    The number of columns is that of the vocabulary, else `n_columns`, else what the largest index needs.
    """
    width = _width(vocabulary, n_columns)
    blocks: list[Rows] = []
    n_rows = 0
    with LineFile(path) as file:
        for tokens in read_tokens(file):
            rows = _rows(tokens)
            raise_first(
                path,
                _structure_faults(tokens),
                _head_faults(rows, n_rows),
                _pair_faults(rows, width, 0, weights),
            )
            n_rows += len(rows.line)
            blocks.append(rows)
    return _counts(path, blocks, 0, width, vocabulary)


def read_svmlight(
    path: Path,
    vocabulary: list[str] | None,
    *,
    n_columns: int | None = None,
    zero_based: bool | None = None,
    weights: bool = False,
) -> Counts:
    """SVMlight or LIBSVM: a line is `label index:value ... # comment`; only the pairs are kept.

    Indices count from 1, or from 0 with `zero_based`; None takes the file to count from 0 if an index 0 is
    anywhere in it (as scikit-learn does). The number of columns is found as in `read_lda_c`.
    """
    width = _width(vocabulary, n_columns)
    base = None if zero_based is None else int(not zero_based)
    blocks: list[Rows] = []
    with LineFile(path) as file:
        for tokens in read_tokens(file, _bare):
            rows = _rows(tokens)
            raise_first(path, _structure_faults(tokens), _pair_faults(rows, width, base, weights))
            blocks.append(rows)
    if base is None:
        base = int(all(rows.column.all() for rows in blocks))
        for rows in blocks:
            raise_first(path, _pair_faults(rows, width, base, weights))
    return _counts(path, blocks, base, width, vocabulary)


def _width(vocabulary: list[str] | None, n_columns: int | None) -> Width:
    if n_columns is not None and n_columns > MAX_INDEX:
        raise DataError(f"n_columns must be at most {MAX_INDEX}, got {n_columns}; number the columns without gaps.")
    if vocabulary is None:
        return Width(n_columns, "n_columns")
    if n_columns is not None and n_columns != len(vocabulary):
        raise DataError(f"n_columns is {n_columns}, but the vocabulary has {len(vocabulary)} words; leave one out.")
    return Width(len(vocabulary), "the vocabulary")


def _bare(block: bytes) -> bytes:
    """SVMlight lines without comments and query numbers, with 0 for every label (which may be any text)."""
    return _LABEL.sub(b"0", _QUERY.sub(b"", _COMMENT.sub(b"", block)))


def _rows(tokens: Tokens) -> Rows:
    is_first = np.diff(tokens.line, prepend=0) > 0
    pairs = tokens.is_pair
    return Rows(
        tokens.line[is_first],
        tokens.value[is_first],
        (np.cumsum(is_first) - 1)[pairs],
        tokens.line[pairs],
        tokens.key[pairs],
        tokens.value[pairs],
    )


def _structure_faults(tokens: Tokens) -> Faults:
    """A line is a number, then pairs."""
    is_first = np.diff(tokens.line, prepend=0) > 0

    def misplaced(i: int) -> str:
        return f"expected a number before the pairs, got {show(tokens.key[i])}:{show(tokens.value[i])}."

    def unpaired(i: int) -> str:
        return f"expected an index:value pair, got {show(tokens.value[i])}."

    return tokens.line, [(is_first & tokens.is_pair, misplaced), (~is_first & ~tokens.is_pair, unpaired)]


def _head_faults(rows: Rows, n_before: int) -> Faults:
    """In LDA-C every line is a row, and its first number says how many pairs follow."""
    lengths = np.bincount(rows.pair_row, minlength=len(rows.line))
    after_blank = rows.line != n_before + 1 + np.arange(len(rows.line))

    def miscounted(i: int) -> str:
        return f"the line declares {show(rows.head[i])} pairs and has {lengths[i]}."

    return rows.line, [
        (after_blank, lambda i: "a blank line comes before; an empty row is written 0."),
        (rows.head != lengths, miscounted),
    ]


def _pair_faults(rows: Rows, width: Width, base: int | None, weights: bool) -> Faults:
    """Indices count from `base`; while it is not known (None), what is right for either 0 or 1 passes."""
    low, high = (0, 1) if base is None else (base, base)
    last = None if width.n_columns is None else high + width.n_columns - 1
    index = index_fault(rows.column, low, last, "column index", width.origin)
    return rows.pair_line, [index, *count_faults(rows.value, weights)]


def _counts(path: Path, blocks: list[Rows], base: int, width: Width, vocabulary: list[str] | None) -> Counts:
    """Put the blocks together; indices count from `base`."""
    offsets = np.cumsum([0, *(len(rows.line) for rows in blocks)])
    n_rows = int(offsets[-1])
    if n_rows == 0:
        raise DataError(f"{path}: the file has no rows.")
    row = np.concatenate([rows.pair_row + offset for rows, offset in zip(blocks, offsets[:-1], strict=True)])
    column = np.concatenate([rows.column for rows in blocks]).astype(np.int64) - base
    value = np.concatenate([rows.value for rows in blocks])
    n_columns = int(column.max(initial=-1)) + 1 if width.n_columns is None else width.n_columns
    matrix = sum_coordinates(row, column, value, (n_rows, n_columns), path)
    return Counts.from_csr(matrix, column_names=vocabulary)
