"""Triples in tables: CSV, TSV and Parquet.

DuckDB reads and checks a file as a whole (`sums`). Only when something is wrong is the file read again,
record by record, for the place of the first fault.
"""

from __future__ import annotations

import csv
import logging
import math
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.readers.files import LineFile, is_gzipped
from cormorant.data.readers.sums import Source, sum_source
from cormorant.data.readers.tokens import fractional_count

if TYPE_CHECKING:
    import duckdb

logger = logging.getLogger("cormorant.data")

#: A column by name or by position (from 0).
Column = str | int


class Chosen(NamedTuple):
    """Positions of row labels, column labels and numbers (None: each line counts one) in a record."""

    row: int
    column: int
    number: int | None


@dataclass(frozen=True)
class Rule:
    """What the triples of a file must satisfy."""

    vocabulary: Collection[str] | None
    weights: bool

    def fault(self, row: str | None, column: str | None, count: str | None) -> str | None:
        """What is wrong with a triple, if anything."""
        if not row or not column:
            return f"the {'column' if row else 'row'} label is missing."
        if self.vocabulary is not None and column not in self.vocabulary:
            return f"the column label {column!r} is not in the vocabulary."
        try:
            value = float((count or "").encode("ascii"))  # DuckDB, unlike Python, reads no other digits
        except ValueError:
            return f"expected a number as count, got {count!r}."
        if not math.isfinite(value) or value < 0:
            return f"expected a finite count of at least 0, got {count}."
        if not self.weights and value != math.floor(value):
            return fractional_count(value)
        return None


def read_csv(
    path: Path,
    vocabulary: list[str] | None,
    *,
    row: Column | None = None,
    column: Column | None = None,
    count: Column | None = None,
    header: bool = True,
    delimiter: str = ",",
    weights: bool = False,
) -> Counts:
    """Delimited text with a triple a line.

    Columns are chosen by name or position. Without a choice they are the first three (of two: row and column,
    each line counting one), unless the table may as well be a matrix, which is refused; with `row` and `column` but no
    `count`, each line counts one. Labels stay text: "007" is not "7".
    """
    import duckdb

    names = _first_record(path, delimiter)
    chosen = _choose(path, names, row, column, count, named=header)
    rule = Rule(None if vocabulary is None else frozenset(vocabulary), weights)
    columns = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    table = (
        f"read_csv(?, auto_detect = false, columns = {{{columns}}}, header = {header}, delim = ?, "
        f"quote = '\"', escape = '\"', compression = '{'gzip' if is_gzipped(path) else 'none'}')"
    )
    number = None if chosen.number is None else f"c{chosen.number}"
    source = Source(
        path,
        table,
        [str(path), delimiter],
        (f"c{chosen.row}", f"c{chosen.column}", number),
        hunt=lambda: _hunt_line(path, delimiter, header, len(names), chosen, rule),
    )
    with duckdb.connect() as connection:
        if row is None:
            _check_first_three(connection, source, [f"c{i}" for i in range(len(names))], names if header else None)
        return sum_source(connection, source, vocabulary, weights)


def read_tsv(path: Path, vocabulary: list[str] | None, **options: Any) -> Counts:
    """`read_csv` with tabs."""
    return read_csv(path, vocabulary, **{"delimiter": "\t", **options})


def read_parquet(
    path: Path,
    vocabulary: list[str] | None,
    *,
    row: Column | None = None,
    column: Column | None = None,
    count: Column | None = None,
    weights: bool = False,
) -> Counts:
    """Parquet with a triple a record; columns are chosen as in `read_csv`."""
    import duckdb

    with duckdb.connect() as connection:
        try:
            described = connection.execute("DESCRIBE SELECT * FROM read_parquet(?)", [str(path)]).fetchall()
        except duckdb.Error as error:
            raise DataError(f"{path}: not Parquet, or damaged ({str(error).splitlines()[0]}).") from error
        names = [record[0] for record in described]
        chosen = _choose(path, names, row, column, count, named=True)
        rule = Rule(None if vocabulary is None else frozenset(vocabulary), weights)
        quoted = ['"' + name.replace('"', '""') + '"' for name in names]
        triple = (
            quoted[chosen.row],
            quoted[chosen.column],
            None if chosen.number is None else quoted[chosen.number],
        )
        source = Source(
            path,
            "read_parquet(?)",
            [str(path)],
            triple,
            hunt=lambda: _hunt_record(connection, path, triple, rule),
        )
        if row is None:
            _check_first_three(connection, source, quoted, names)
        return sum_source(connection, source, vocabulary, weights)


def _choose(
    path: Path,
    names: list[str],
    row: Column | None,
    column: Column | None,
    count: Column | None,
    *,
    named: bool,
) -> Chosen:
    if row is None and column is None and count is None:
        if len(names) < 2:
            raise DataError(f"{path}: expected columns for row, column and count, got only {names}.")
        return Chosen(0, 1, 2 if len(names) > 2 else None)
    if row is None or column is None:
        raise DataError("Choose both row= and column= (count= is optional), or none of the three.")

    def position(column: Column) -> int:
        if isinstance(column, int) and 0 <= column < len(names):
            return column
        if named and column in names:
            return names.index(str(column))
        have = ", ".join(map(repr, names)) if named else f"0..{len(names) - 1}"
        raise DataError(f"{path}: no column {column!r}; the columns are {have}.")

    return Chosen(position(row), position(column), None if count is None else position(count))


def _check_first_three(
    connection: duckdb.DuckDBPyConnection, source: Source, columns: list[str], names: list[str] | None
) -> None:
    """Say which columns are taken of more than three; refuse numbers in all but the first, as a matrix has them.

    Args:
        connection: Where the source can be asked.
        source: The table.
        columns: Its columns, as SQL.
        names: What they are called; None: they go by their positions.
    """
    import duckdb

    if len(columns) <= 3:
        return
    row, column, count = (str(i) if names is None else repr(names[i]) for i in range(3))
    others = " AND ".join(f"({c} IS NULL OR TRY_CAST({c}::VARCHAR AS DOUBLE) IS NOT NULL)" for c in columns[1:])
    try:
        cursor = connection.execute(f"SELECT count(*), bool_and({others}) FROM {source.table}", source.parameters)
        n_lines, is_matrix = cursor.fetchall()[0]
    except duckdb.Error:
        return  # `sum_source` says what is wrong, and where
    if n_lines and is_matrix:
        raise DataError(
            f"{source.path}: expected a triple a line, but all of its {len(columns)} columns except the first hold "
            f"only numbers, as a matrix with a row a line has them. If it holds triples, choose row=, column= and "
            f"count= (the first three are {row}, {column} and {count}); a matrix is read by "
            "as_counts(pandas.read_csv(path, index_col=0))."
        )
    logger.warning(
        "%s: of its %d columns %s is taken for the row, %s for the column and %s for the count; row=, column= and "
        "count= choose others",
        source.path, len(columns), row, column, count,
    )  # fmt: skip


def _records(file: LineFile, delimiter: str) -> Iterator[list[str]]:
    """The records of delimited text that are not blank."""
    try:
        yield from filter(None, csv.reader((f"{line}\n" for line in file.lines()), delimiter=delimiter))
    except csv.Error as error:
        raise file.fault(f"not readable as delimited text ({error}).") from error


def _first_record(path: Path, delimiter: str) -> list[str]:
    with LineFile(path) as file:
        first = next(_records(file, delimiter), None)
    if first is None:
        raise DataError(f"{path}: the file is empty.")
    return first


def _hunt_line(path: Path, delimiter: str, header: bool, width: int, chosen: Chosen, rule: Rule) -> DataError | None:
    """The first fault of delimited text, with its line."""
    with LineFile(path) as file:
        for i, record in enumerate(_records(file, delimiter)):
            if header and i == 0:
                continue
            if len(record) != width:
                return file.fault(f"expected {width} fields, as on the first line, got {len(record)}.")
            number = "1" if chosen.number is None else record[chosen.number]
            fault = rule.fault(record[chosen.row], record[chosen.column], number)
            if fault is not None:
                return file.fault(fault)
    return None


def _hunt_record(
    connection: duckdb.DuckDBPyConnection, path: Path, triple: tuple[str, str, str | None], rule: Rule
) -> DataError | None:
    """The first fault of a Parquet file, with its record (numbered from 1)."""
    row, column, number = triple
    cursor = connection.execute(
        f"SELECT file_row_number + 1, {row}::VARCHAR, {column}::VARCHAR, {number or 1}::VARCHAR "
        "FROM read_parquet(?, file_row_number = true) ORDER BY file_row_number",
        [str(path)],
    )
    while records := cursor.fetchmany(10_000):
        for position, *values in records:
            fault = rule.fault(*values)
            if fault is not None:
                return DataError(f"{path}, record {position}: {fault}")
    return None
