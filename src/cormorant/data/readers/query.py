"""Counts by SQL: a query over a file or a database that gives (row, column, count), or (row, column).

DuckDB runs it. A CSV, TSV, Parquet or JSON file is the table ``source``; of a DuckDB or SQLite database the tables
have their own names. (SQLite runs the query on its own databases: DuckDB would have to download an extension.)
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cormorant.data.counts import Counts
from cormorant.data.errors import DataError
from cormorant.data.readers.sums import Source, sum_source

if TYPE_CHECKING:
    import duckdb

TABLE = "source"
READERS = {
    ".csv": "read_csv",
    ".tsv": "read_csv",
    ".parquet": "read_parquet",
    ".json": "read_json",
    ".jsonl": "read_json",
    ".ndjson": "read_json",
}


def read_query(path: str | PathLike[str], query: str, *, weights: bool = False) -> Counts:
    """The counts that a query gives.

    Args:
        path: CSV, TSV, Parquet, JSON (gzipped too), a DuckDB or a SQLite database.
        query: A SELECT of two or three columns: row label, column label and, if there is a third, count.
        weights: Whether counts may be fractions.

    Raises:
        DataError: if the query fails, or gives what cannot be counted; the message says what there is to ask for.
    """
    import duckdb

    path = Path(path)
    query = query.strip().rstrip(";")
    with duckdb.connect() as connection:
        selected = _open(connection, path, query)
        names = _describe(connection, selected, path)
        if len(names) not in (2, 3):
            raise DataError(
                f"query must give two or three columns (row, column and, if not each line counts once, count); "
                f"it gives {len(names)}: {', '.join(names)}."
            )
        triple = [f'"{name}"' for name in ("r", "c", "n")[: len(names)]]
        table = f"({selected}) AS result({', '.join(triple)})"
        source = Source(path, table, [], (triple[0], triple[1], triple[2] if len(triple) > 2 else None), lambda: None)
        try:
            return sum_source(connection, source, None, weights)
        except DataError as error:
            whole = "" if weights else "whole (weights=True accepts fractions) and "
            raise DataError(f"{error} Labels must be there, and counts be {whole}not negative.") from error


def _open(connection: duckdb.DuckDBPyConnection, path: Path, query: str) -> str:
    """Make the file visible to SQL, and return the query to run."""
    if not path.exists():
        raise FileNotFoundError(2, "No such file", str(path))
    with path.open("rb") as file:
        begin = file.read(16)
    if begin.startswith(b"SQLite format 3\0"):
        connection.register("result_of_sqlite", _ask_sqlite(path, query))
        return "SELECT * FROM result_of_sqlite"
    if begin[8:12] == b"DUCK":
        connection.execute(f"ATTACH {_quoted(path)} AS database_file (READ_ONLY)")
        connection.execute("USE database_file")
        return query
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if suffix.lower() not in READERS:
        raise DataError(
            f"{path}: a query reads {', '.join(s[1:] for s in READERS)}, DuckDB and SQLite databases; "
            "this is none of them."
        )
    try:
        connection.execute(f"CREATE VIEW {TABLE} AS SELECT * FROM {READERS[suffix.lower()]}({_quoted(path)})")
    except Exception as error:
        raise DataError(f"{path}: cannot be read as {suffix[1:]}: {_first_line(error)}") from error
    return query


def _describe(connection: duckdb.DuckDBPyConnection, query: str, path: Path) -> list[str]:
    """Names of the columns of the query's result."""
    import duckdb

    try:
        return [record[0] for record in connection.execute(f"DESCRIBE SELECT * FROM ({query})").fetchall()]
    except duckdb.Error as error:
        raise DataError(
            f"query must be SQL that DuckDB can run here: {_first_line(error)} {_hint(connection, path)}"
        ) from error


def _hint(connection: duckdb.DuckDBPyConnection, path: Path) -> str:
    found = connection.execute("SELECT table_name FROM duckdb_tables() UNION SELECT view_name FROM duckdb_views() "
                               "WHERE NOT internal ORDER BY 1").fetchall()  # fmt: skip
    names = [name for (name,) in found]
    if names == [TABLE]:
        columns = [record[0] for record in connection.execute(f"DESCRIBE {TABLE}").fetchall()]
        return f"{path.name} is the table {TABLE}, with the columns {', '.join(columns)}."
    return f"The tables of {path.name} are {', '.join(names) or 'none'}."


def _ask_sqlite(path: Path, query: str) -> Any:
    import pandas as pd

    address = f"{path.absolute().as_uri()}?mode=ro"
    with closing(sqlite3.connect(address, uri=True)) as connection:
        try:
            return pd.read_sql_query(query, connection)
        except (pd.errors.DatabaseError, sqlite3.Error) as error:
            tables = connection.execute("SELECT name FROM sqlite_master WHERE type IN ('table', 'view') ORDER BY 1")
            names = ", ".join(name for (name,) in tables)
            cause = _first_line(error.__cause__ or error)
            raise DataError(
                f"query must be SQL that SQLite can run here: {cause} The tables of {path.name} are {names or 'none'}."
            ) from error


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0].rstrip(".!") + "."
