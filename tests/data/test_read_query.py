"""Counts by SQL: every kind of file and database, none of them changed, and errors that say what there is."""

import sqlite3
from contextlib import closing

import duckdb
import pytest

from cormorant.data import DataError, read_query

VISITS = "patient,code,times\np1,flu,2\np1,cough,1\np2,flu,1\np3,cough,3\np3,rash,1\n"
QUERY = "SELECT patient, code, sum(times) FROM {table} WHERE code <> 'rash' GROUP BY 1, 2"


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """A folder with the same visits in every kind of file, and files that cannot be asked."""
    folder = tmp_path_factory.mktemp("visits")
    (folder / "visits.csv").write_text(VISITS)
    (folder / "visits.txt").write_text(VISITS)
    (folder / "damaged.parquet").write_bytes(b"PAR1")
    with duckdb.connect(folder / "visits.duckdb") as database:
        database.execute(f"CREATE TABLE visits AS SELECT * FROM read_csv('{folder / 'visits.csv'}')")
        for name in ("visits.parquet", "visits.jsonl.gz"):
            database.execute(f"COPY visits TO '{folder / name}'")
    with closing(sqlite3.connect(folder / "visits.sqlite")) as database:
        database.execute("CREATE TABLE visits (patient TEXT, code TEXT, times INTEGER)")
        lines = [line.split(",") for line in VISITS.splitlines()[1:]]
        database.executemany("INSERT INTO visits VALUES (?, ?, ?)", lines)
        database.commit()
    return folder


@pytest.mark.parametrize(
    ("file", "table"),
    [
        ("visits.csv", "source"),
        ("visits.parquet", "source"),
        ("visits.jsonl.gz", "source"),
        ("visits.duckdb", "visits"),
        ("visits.sqlite", "visits"),
    ],
)
def test_files_and_databases(visits, file, table):
    counts = read_query(visits / file, QUERY.format(table=table) + " ;")
    assert counts.row_names.tolist() == ["p1", "p2", "p3"]
    assert counts.column_names.tolist() == ["cough", "flu"]
    assert counts.tocsr().toarray().tolist() == [[1, 2], [0, 1], [3, 0]]


def test_two_columns_count_lines(visits):
    counts = read_query(str(visits / "visits.csv"), "SELECT patient, code FROM source")
    assert counts.tocsr().toarray().tolist() == [[1, 1, 0], [0, 1, 0], [1, 0, 1]]


def test_fractions_only_where_they_are_asked_for(visits):
    halves = "SELECT patient, code, times / 2 FROM source"
    with pytest.raises(DataError, match="weights=True accepts fractions"):
        read_query(visits / "visits.csv", halves)
    assert read_query(visits / "visits.csv", halves, weights=True).total == 4


@pytest.mark.parametrize("name", ["visits.duckdb", "visits.sqlite"])
@pytest.mark.parametrize("query", ["DELETE FROM visits", "DROP TABLE visits", "SELECT 1, 2); DROP TABLE visits; --"])
def test_the_database_is_not_changed(visits, name, query):
    before = (visits / name).read_bytes()
    with pytest.raises(DataError):
        read_query(visits / name, query)
    assert (visits / name).read_bytes() == before


@pytest.mark.parametrize(
    ("file", "query", "said"),
    [
        ("visits.csv", "SELECT patien, code FROM source", "the columns patient, code, times"),
        ("visits.csv", "SELECT patient FROM source", "query must give two or three columns .* it gives 1: patient"),
        ("visits.csv", "SELECT 1, 2, 3, 4", "two or three columns"),
        ("visits.csv", "SELECT FROM FROM", "syntax error"),
        ("visits.csv", "SELECT patient, NULL FROM source", "Labels must be there"),
        ("visits.csv", "SELECT patient, code, -1 FROM source", "not negative"),
        ("visits.csv", "SELECT patient, code FROM source WHERE false", "no triples"),
        ("visits.duckdb", "SELECT a, b FROM source", "The tables of visits.duckdb are visits"),
        ("visits.sqlite", "SELECT a, b FROM source", "The tables of visits.sqlite are visits"),
        ("damaged.parquet", "SELECT 1, 2", "cannot be read as parquet"),
        ("visits.txt", "SELECT 1, 2", "a query reads csv, tsv, parquet"),
    ],
)
def test_refusals(visits, file, query, said):
    with pytest.raises(DataError, match=said):
        read_query(visits / file, query)


def test_no_such_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        read_query(tmp_path / "no.csv", "SELECT 1, 2")
