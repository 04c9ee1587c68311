"""DuckDB at work: a table of triples checked, its labels numbered, its counts summed.

Everything that grows with the file happens inside DuckDB, which goes to disk when memory is short.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scipy import sparse

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.triples import say_summed

if TYPE_CHECKING:
    import duckdb

_FAULTY = "coalesce(r, '') = '' OR coalesce(c, '') = '' OR n IS NULL OR NOT isfinite(n) OR n < 0"
_LABELS = """
    CREATE TEMP TABLE {table} AS
    SELECT label, row_number() OVER (ORDER BY TRY_CAST(label AS HUGEINT), label) - 1 AS code
    FROM (SELECT DISTINCT {column} AS label FROM lines)"""
_GIVEN_LABELS = """
    CREATE TEMP TABLE column_labels AS
    SELECT unnest(?::VARCHAR[]) AS label, unnest(range(?)) AS code"""
_SUM = """
    SELECT row_labels.code AS r, column_labels.code AS c, sum({value}) AS n FROM lines
    JOIN row_labels ON lines.r = row_labels.label
    JOIN column_labels ON lines.c = column_labels.label
    GROUP BY 1, 2"""


@dataclass(frozen=True)
class Source:
    """Where triples come from.

    Attributes:
        path: The file.
        table: The file as an SQL table function, with its parameters.
        parameters: Their values.
        triple: SQL expressions for row label, column label and count (None: each line counts one).
        hunt: Reads the file again for the place of its first fault.
    """

    path: Path
    table: str
    parameters: list[Any]
    triple: tuple[str, str, str | None]
    hunt: Callable[[], DataError | None]


def sum_source(
    connection: duckdb.DuckDBPyConnection, source: Source, vocabulary: list[str] | None, weights: bool
) -> Counts:
    """Counts of the triples, with rows and columns in the order of their labels: numbers first, then text."""
    n_lines = _load(connection, source, weights)
    _number_labels(connection, source, vocabulary)
    value = "n ORDER BY n" if weights else "n"  # an order makes sums of fractions repeatable
    entries: Any = connection.execute(_SUM.format(value=value)).fetchnumpy()
    say_summed(n_lines - len(entries["n"]), source.path, counting=source.triple[2] is None)
    row_names, column_names = _labels(connection, "row_labels"), _labels(connection, "column_labels")
    matrix: Any = sparse.coo_matrix(
        (entries["n"], (entries["r"], entries["c"])), shape=(len(row_names), len(column_names))
    )
    return Counts.from_csr(matrix.tocsr(), row_names, column_names)


def _load(connection: duckdb.DuckDBPyConnection, source: Source, weights: bool) -> int:
    """Bring the triples into the table `lines`, check them, and say how many there are."""
    import duckdb

    row, column, count = source.triple
    number = "1.0" if count is None else f"TRY_CAST({count} AS DOUBLE)"
    faulty = _FAULTY if weights else f"{_FAULTY} OR n <> floor(n)"
    try:
        connection.execute(
            f"CREATE TEMP TABLE lines AS SELECT {row}::VARCHAR AS r, {column}::VARCHAR AS c, {number} AS n "
            f"FROM {source.table}",
            source.parameters,
        )
    except duckdb.Error as error:
        summary = str(error).splitlines()[0]
        raise source.hunt() or DataError(f"{source.path}: {summary}") from error
    n_lines, n_faulty = _one(connection, f"SELECT count(*), count(*) FILTER ({faulty}) FROM lines")
    if n_lines == 0:
        raise DataError(f"{source.path}: the file has no triples.")
    if n_faulty:
        raise source.hunt() or DataError(f"{source.path}: {n_faulty} triples are faulty.")
    return n_lines


def _number_labels(connection: duckdb.DuckDBPyConnection, source: Source, vocabulary: list[str] | None) -> None:
    connection.execute(_LABELS.format(table="row_labels", column="r"))
    if vocabulary is None:
        connection.execute(_LABELS.format(table="column_labels", column="c"))
        return
    if len(set(vocabulary)) < len(vocabulary):
        twice = next(word for i, word in enumerate(vocabulary) if word in vocabulary[:i])
        raise DataError(f"The words of a vocabulary for a table must differ, but {twice!r} comes twice.")
    connection.execute(_GIVEN_LABELS, [vocabulary, len(vocabulary)])
    (n_unknown,) = _one(connection, "SELECT count(*) FROM lines WHERE c NOT IN (SELECT label FROM column_labels)")
    if n_unknown:
        raise source.hunt() or DataError(f"{source.path}: {n_unknown} labels are not in the vocabulary.")


def _labels(connection: duckdb.DuckDBPyConnection, table: str) -> list[str]:
    return [label for (label,) in connection.execute(f"SELECT label FROM {table} ORDER BY code").fetchall()]


def _one(connection: duckdb.DuckDBPyConnection, query: str) -> Any:
    return connection.execute(query).fetchone()
