"""The formats by name and by file name, and `read`, which picks one."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.readers.coordinate import read_matrix_market, read_uci
from cormorant.data.readers.files import read_names
from cormorant.data.readers.h5ad import read_h5ad
from cormorant.data.readers.npz import read_npz
from cormorant.data.readers.pairs import read_lda_c, read_svmlight
from cormorant.data.readers.tables import read_csv, read_parquet, read_tsv
from cormorant.data.readers.text import count_words, read_json_lines, read_text

#: Names in memory, or a file with one a line.
Names = str | PathLike[str] | Sequence[str]


@dataclass(frozen=True)
class Format:
    """A kind of file: its reader, the ends of its names and the options of `read` that it understands."""

    reader: Callable[..., Counts]
    suffixes: tuple[str, ...]
    options: tuple[str, ...]


def _format(reader: Callable[..., Counts], *suffixes: str, through: Callable[..., Counts] | None = None) -> Format:
    """A format whose options are the keywords of its reader and of the function these go `through`."""
    functions = [reader] if through is None else [reader, through]
    parameters = [p for f in functions for p in inspect.signature(f).parameters.values()]
    return Format(reader, suffixes, tuple(p.name for p in parameters if p.kind is p.KEYWORD_ONLY))


def _gz(*suffixes: str) -> tuple[str, ...]:
    return (*suffixes, *(f"{suffix}.gz" for suffix in suffixes))


#: Every format, by name. UCI files are told by their name, which starts with `docword`.
FORMATS: dict[str, Format] = {
    "npz": _format(read_npz, ".npz"),
    "matrix-market": _format(read_matrix_market, *_gz(".mtx")),
    "uci": _format(read_uci),
    "lda-c": _format(read_lda_c, *_gz(".ldac", ".lda-c")),
    "svmlight": _format(read_svmlight, *_gz(".svm", ".svmlight", ".libsvm")),
    "csv": _format(read_csv, *_gz(".csv")),
    "tsv": _format(read_tsv, *_gz(".tsv"), through=read_csv),
    "parquet": _format(read_parquet, ".parquet"),
    "h5ad": _format(read_h5ad, ".h5ad"),
    "text": _format(read_text, *_gz(".txt"), through=count_words),
    "jsonl": _format(read_json_lines, *_gz(".jsonl", ".ndjson"), through=count_words),
}


def read(
    path: str | PathLike[str],
    *,
    format: str | None = None,
    vocabulary: Names | None = None,
    row_names: Names | None = None,
    **options: Any,
) -> Counts:
    """Read a count matrix from a file, gzipped or not.

    Args:
        path: The file.
        format: A name in `FORMATS`; None tells it by the name of the file.
        vocabulary: The names of the columns, or a file with one a line. Where labels or words are in the file
            (tables, text) it says which columns there are.
        row_names: The names of the rows, or a file with one a line.
        **options: What the format understands. Most take `weights=True` (accept fractions); see the reader
            functions and the page on data for `row`, `column`, `count`, `layer`, `min_df` and others.

    Raises:
        DataError: for the first fault of the file; the message has the file and the line.
    """
    path = Path(path)
    chosen = _choose(path, format)
    unknown = [name for name in options if name not in chosen.options]
    if unknown:
        takes = ", ".join(chosen.options)
        raise TypeError(f"Reading {path.name} takes no option {unknown[0]!r}; it takes {takes}.")
    if path.stat().st_size == 0:
        raise DataError(f"{path}: the file is empty.")
    counts = chosen.reader(path, _names(vocabulary), **options)
    return counts.named(row_names=_names(row_names))


def _choose(path: Path, format: str | None) -> Format:
    if format is not None:
        if format not in FORMATS:
            raise DataError(f"Unknown format {format!r}; the formats are {', '.join(FORMATS)}.")
        return FORMATS[format]
    name = path.name.lower()
    if name.startswith("docword"):
        return FORMATS["uci"]
    for candidate in FORMATS.values():
        if candidate.suffixes and name.endswith(candidate.suffixes):
            return candidate
    raise DataError(f"{path}: the name does not tell the format; give format= one of {', '.join(FORMATS)}.")


def _names(names: Names | None) -> list[str] | None:
    if names is None:
        return None
    listed = read_names(Path(names)) if isinstance(names, (str, PathLike)) else [str(name) for name in names]
    if not listed:
        raise DataError("Expected at least one name, got none.")
    return listed
