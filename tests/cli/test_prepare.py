"""`cormorant prepare`: any reader, filters, SQL; one file with its record beside it."""

import json
import sqlite3
from contextlib import closing

import numpy as np
import pytest

from cormorant.cli.prepare import filter_counts
from cormorant.data import as_counts, read

VISITS = "patient,code,times\np1,flu,2\np1,cough,1\np2,flu,1\np3,cough,3\np3,rash,1\n"
QUERY = "SELECT patient, code, sum(times) FROM source WHERE code <> 'rash' GROUP BY 1, 2"


@pytest.fixture
def workplace(workplace):
    """A folder with a table of visits, and an empty database."""
    (workplace / "visits.csv").write_text(VISITS)
    with closing(sqlite3.connect("visits.sqlite")) as database:
        database.execute("CREATE TABLE visits (patient TEXT, code TEXT, times INTEGER)")
    return workplace


def test_a_table(cormorant, workplace):
    ran = cormorant("prepare", "visits.csv", "--row", "patient", "--column", "code", "--count", "times",
                    "--out", "counts.npz")  # fmt: skip
    assert (ran.code, ran.out) == (0, "")
    assert "3 rows x 3 columns, 5 nonzeros" in ran.err
    counts = read("counts.npz")
    assert counts.row_names.tolist() == ["p1", "p2", "p3"]
    np.testing.assert_array_equal(counts.tocsr().toarray(), [[1, 2, 0], [0, 1, 0], [3, 0, 1]])  # cough, flu, rash


def test_the_settings_lie_beside_the_file(cormorant, workplace):
    ran = cormorant("prepare", "visits.csv", "--min-rows", 2, "--min-count", 2, "--out", "deep/counts.npz", "--json")
    record = json.loads((workplace / "deep" / "counts.npz.run.json").read_text())
    assert record["source"] == "visits.csv"
    assert record["filters"] == {"min_rows": 2, "top_columns": None, "min_count": 2}
    assert (record["rows"], record["columns"], record["nonzeros"]) == (2, 2, 3)
    assert {**ran.json, "cormorant": record["cormorant"]} == {**record, "out": "deep/counts.npz"}


def test_queries(cormorant, workplace):
    ran = cormorant("prepare", "visits.csv", "--query", QUERY, "--out", "counts.npz")
    assert ran.code == 0, ran.err
    counts = read("counts.npz")
    assert counts.column_names.tolist() == ["cough", "flu"]
    np.testing.assert_array_equal(counts.tocsr().toarray(), [[1, 2], [0, 1], [3, 0]])
    assert json.loads((workplace / "counts.npz.run.json").read_text())["query"] == QUERY


def test_queries_may_give_fractions(cormorant, workplace):
    query = ("prepare", "visits.csv", "--query", "SELECT patient, code, times / 2 FROM source", "--out", "counts.npz")
    assert "--weights accepts fractions" in cormorant(*query).err
    assert cormorant(*query, "--weights").code == 0
    assert read("counts.npz", weights=True).total == 4


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["visits.csv", "--query", "SELECT patien, code FROM source"], "--query must be SQL that DuckDB can run"),
        (["visits.csv", "--query", "SELECT patient FROM source"], "--query must give two or three columns"),
        (["visits.sqlite", "--query", "SELECT a, b FROM source"], "--query must be SQL that SQLite can run"),
        (["no.csv", "--query", "SELECT 1, 2"], "no.csv does not exist"),
        (["nyt", "--query", "SELECT 1, 2"], "nyt does not exist"),
        (["visits.csv", "--query", "SELECT 1, 2", "--row", "patient"], "--row does nothing beside --query"),
        (["visits.csv", "--layer", "raw"], "takes no option 'layer'"),
        (["visits.csv", "--row", "who", "--column", "code"], "no column 'who'"),
        (["visits.csv", "--format", "xml"], "Unknown format 'xml'"),
        (["visits.csv", "--min-rows", "9"], "leave no column"),
        (["visits.csv", "--min-count", "9"], "leave no row"),
        (["nyt", "--row", "x"], "is not read with options"),
        (["no.csv"], "no.csv does not exist"),
        ([".", "--format", "csv"], ". is a folder"),
    ],
)
def test_refusals(cormorant, workplace, arguments, said):
    ran = cormorant("prepare", *arguments, "--out", "counts.npz")
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert not (workplace / "counts.npz").exists()


def test_tables_without_a_header_go_by_position(cormorant, workplace):
    (workplace / "bare.csv").write_text("2,p1,flu\n1,p2,flu\n")
    bare = ("prepare", "bare.csv", "--no-header", "--row", 1, "--column", 2, "--count", 0, "--out", "counts.npz")
    assert cormorant(*bare).code == 0
    assert read("counts.npz").total == 3


def test_text(cormorant, workplace):
    (workplace / "posts.txt").write_text("the cat sat\ncats and the cat\ndogs\n")
    ran = cormorant("prepare", "posts.txt", "--min-df", 1, "--max-df", "1.0", "--stop-words", "none",
                    "--out", "counts.npz")  # fmt: skip
    assert ran.code == 0
    assert read("counts.npz").column_names.tolist() == ["and", "cat", "cats", "dogs", "sat", "the"]


def test_rows_without_counts_are_told(cormorant, workplace):
    ran = cormorant("prepare", "visits.csv", "--top-columns", 1, "--out", "counts.npz")
    assert "note: 1 row without counts; --min-count 1 leaves such rows out." in ran.err


def test_only_npz_is_written(cormorant, workplace):
    ran = cormorant("prepare", "visits.csv", "--out", "counts.csv")
    assert ran.code == 2
    assert "--out must be named .npz" in ran.err


def test_filters_in_their_order():
    # Columns are shown by 3, 2, 1 and 2 rows; their totals are 3, 9, 1 and 2.
    counts = as_counts([[1, 8, 0, 0], [1, 1, 1, 1], [1, 0, 0, 1]], column_names=list("abcd"))
    assert filter_counts(counts, 0, None, 0) == counts
    assert filter_counts(counts, 2, None, 0).column_names.tolist() == ["a", "b", "d"]
    assert filter_counts(counts, 2, 2, 0).column_names.tolist() == ["a", "b"]
    kept = filter_counts(counts, 2, 2, 2)  # the last row has only one count left in these columns
    np.testing.assert_array_equal(kept.tocsr().toarray(), [[1, 8], [1, 1]])


def test_fractions_that_were_accepted_can_be_fitted(cormorant, workplace):
    lines = [f"r{i % 9},c{i % 4},{1 + i % 3}.5" for i in range(36)]
    (workplace / "shares.csv").write_text("\n".join(["row,column,count", *lines]))
    refused = cormorant("prepare", "shares.csv", "--out", "shares.npz")
    assert refused.code == 2
    assert "cormorant prepare --weights accepts fractions" in refused.err
    assert cormorant("prepare", "shares.csv", "--weights", "--out", "shares.npz").code == 0
    short = ["--components", 2, "--dims", 1, "--max-epochs", 2, "--quiet"]
    assert cormorant("fit", "shares.npz", "--out", "fit", *short).code == 0
    assert cormorant("evaluate", "fit", "shares.npz").code == 0


def test_a_matrix_is_not_taken_for_triples(cormorant, workplace):
    (workplace / "wide.csv").write_text("id,c0,c1,c2\nr0,6,0,1\nr1,3,2,0\n")
    for command in (["prepare", "wide.csv", "--out", "counts.npz"], ["fit", "wide.csv", "--out", "fit"]):
        ran = cormorant(*command)
        assert ran.code == 2
        assert "cormorant prepare --row, --column and --count (the first three are 'id', 'c0' and 'c1')" in ran.err
        assert len(ran.err.splitlines()) == 1
    query = "UNPIVOT source ON * EXCLUDE id"  # what the message advises
    assert query.replace("id", "FIRST") in ran.err
    assert cormorant("prepare", "wide.csv", "--query", query, "--out", "counts.npz").code == 0
    assert read(workplace / "counts.npz").tocsr().toarray().tolist() == [[6, 0, 1], [3, 2, 0]]


def test_columns_taken_of_many_are_told(cormorant, workplace):
    (workplace / "long.csv").write_text("doc,word,n,when\na,x,1,May\n")
    ran = cormorant("prepare", "long.csv", "--out", "counts.npz")
    assert ran.code == 0
    assert "note: long.csv: of its 4 columns 'doc' is taken for the row" in ran.err
    assert "cormorant prepare --row, --column and --count choose others" in ran.err


def test_nothing_to_count(cormorant, workplace):
    (workplace / "labels.svm").write_text("1\n")
    ran = cormorant("prepare", "labels.svm", "--out", "counts.npz")
    assert ran.code == 2
    assert ran.err.startswith("error: there is nothing to count: the source has 1 row x 0 columns")


def test_text_that_is_named_npz(cormorant, workplace):
    (workplace / "notes.npz").write_text("no matrix\n")
    for command in (["prepare", "notes.npz", "--out", "counts.npz"], ["fit", "notes.npz", "--out", "fit"]):
        ran = cormorant(*command)
        assert ran.code == 2
        assert ran.err.startswith("error: notes.npz: not a sparse matrix")
        assert "pickle" not in ran.err
        assert len(ran.err.splitlines()) == 1
