"""Readers of triples in CSV, TSV and Parquet."""

import gzip
import logging

import pandas as pd
import pytest

from cormorant.data import Counts, DataError, read

CSV = "doc,word,n\nb,y,2\na,x,1\n"


def put(folder, name, text):
    content = text.encode() if isinstance(text, str) else text
    (folder / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder / name


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.tsv.gz", "T.CSV"])
def test_delimited(tmp_path, name):
    text = CSV.replace(",", "\t") if ".tsv" in name else CSV
    counts = read(put(tmp_path, name, text))
    assert counts.tocsr().toarray().tolist() == [[1, 0], [0, 2]]
    assert counts.row_names.tolist() == ["a", "b"]
    assert counts.column_names.tolist() == ["x", "y"]


def test_parquet(tmp_path):
    frame = pd.DataFrame({"film": ["y", "x"], 'the "user"': [10, 9], "n": [2, 1]})
    frame.to_parquet(tmp_path / "t.parquet")
    counts = read(tmp_path / "t.parquet", row='the "user"', column="film", count="n")
    assert counts == Counts.from_triples(frame, row='the "user"', column="film", count="n")
    assert counts.row_names.tolist() == ["9", "10"]


def test_columns_by_name_or_position(tmp_path):
    path = put(tmp_path, "t.csv", "when,doc,word,n\n1,a,x,5\n2,b,y,6\n")
    by_name = read(path, row="doc", column="word", count="n")
    assert by_name == read(path, row=1, column=2, count=3)
    assert by_name.total == 11
    assert read(path, row="doc", column="word").total == 2


def test_without_header(tmp_path):
    counts = read(put(tmp_path, "t.csv", "10;x;1\n9;y;2\n"), header=False, delimiter=";")
    assert counts.row_names.tolist() == ["9", "10"]
    assert counts.tocsr().toarray().tolist() == [[0, 2], [1, 0]]


def test_labels_stay_text(tmp_path):
    text = '\ufeffdoc,word,n\n007,"a ""b"", c",1\n7,NULL,1\n7,#x,1\n'
    counts = read(put(tmp_path, "t.csv", text))
    assert counts.row_names.tolist() == ["007", "7"]
    assert counts.column_names.tolist() == ["#x", "NULL", 'a "b", c']


def test_two_columns_count_each_line_once(tmp_path, caplog):
    path = put(tmp_path, "t.csv", "user,page\nu,p\nu,p\nv,q\n")
    with caplog.at_level(logging.INFO, "cormorant.data"):
        assert read(path).tocsr().toarray().tolist() == [[2, 0], [0, 1]]
    assert [(r.levelname, r.getMessage()) for r in caplog.records] == [
        ("INFO", f"{path}: 1 duplicated (row, column) pairs were summed into others")
    ]


MATRIX = ",c0,c1,c2\nr0,6,0,\nr1,3,2.5,1\n"


@pytest.mark.parametrize("name", ["t.csv", "t.csv.gz", "t.tsv", "t.parquet"])
def test_a_matrix_is_not_taken_for_triples(tmp_path, name):
    """As pandas writes it: its second column would be the names of the columns, its third the counts."""
    frame = pd.DataFrame({"id": ["r0", "r1"], "c0": [6, 3], "c1": [0, 2.5], "c2": [None, 1]})
    if name == "t.parquet":
        frame.to_parquet(tmp_path / name)
    else:
        put(tmp_path, name, MATRIX.replace(",", "\t") if name == "t.tsv" else MATRIX)
    said = r"as a matrix .* choose row=.*the first three are '(id)?', 'c0' and 'c1'.*as_counts"
    with pytest.raises(DataError, match=said):
        read(tmp_path / name)
    assert read(tmp_path / name, row=0, column=1, count=2, weights=True).column_names.tolist() == ["3", "6"]


def test_a_matrix_without_a_header(tmp_path):
    with pytest.raises(DataError, match="the first three are 0, 1 and 2"):
        read(put(tmp_path, "t.csv", "r0,6,0,1\nr1,3,2,1\n"), header=False)


def test_what_is_taken_of_more_columns_is_said(tmp_path, caplog):
    path = put(tmp_path, "t.csv", "doc,word,n,when\na,x,1,5\nb,y,2,6\n")
    assert read(path).tocsr().toarray().tolist() == [[1, 0], [0, 2]]
    assert [r.getMessage().removeprefix(f"{path}: ") for r in caplog.records] == [
        "of its 4 columns 'doc' is taken for the row, 'word' for the column and 'n' for the count; row=, column= and "
        "count= choose others"
    ]


def test_faults_of_tables_with_more_columns(tmp_path):
    with pytest.raises(DataError, match="line 3: expected 4 fields, as on the first line, got 5"):
        read(put(tmp_path, "t.csv", "doc,word,n,when\na,x,1,5\nb,y,2,6,7\n"))
    with pytest.raises(DataError, match="the file has no triples"):
        read(put(tmp_path, "t.csv", "doc,word,n,when\n"))


def test_duplicates_are_summed_and_said(tmp_path, caplog):
    path = put(tmp_path, "t.csv", CSV + "a,x,4\na,x,5\n")
    assert read(path).tocsr().toarray().tolist() == [[10, 0], [0, 2]]
    assert caplog.messages == [f"{path}: 2 duplicated (row, column) pairs were summed into others"]


def test_weights(tmp_path):
    assert read(put(tmp_path, "t.csv", CSV + "a,x,.5\n"), weights=True).total == 3.5


def test_vocabulary_says_which_columns(tmp_path):
    counts = read(put(tmp_path, "t.csv", CSV), vocabulary=["y", "z", "x"])
    assert counts.tocsr().toarray().tolist() == [[0, 0, 1], [2, 0, 0]]
    assert counts.column_names.tolist() == ["y", "z", "x"]
    with pytest.raises(DataError, match="must differ, but 'x' comes twice"):
        read(tmp_path / "t.csv", vocabulary=["x", "y", "x"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (CSV + "c,z,-2\n", "line 4: expected a finite count of at least 0, got -2"),
        (CSV + "\nc,z,1.5\n", "line 5: expected a whole number, got 1.5; weights=True accepts fractions"),
        (CSV + "c,z,nan\n", "line 4: expected a finite count of at least 0, got nan"),
        (CSV + "c,z,many\n", "line 4: expected a number as count, got 'many'"),
        (CSV + "c,z,٣\n", "line 4: expected a number as count, got '٣'"),
        (CSV + "c,z,1_000\nc,z,\u00a03\n", r"line 5: expected a number as count, got '\\xa03'"),
        (CSV + "c,z,\n", "line 4: expected a number as count, got ''"),
        (CSV + "c,z\n", "line 4: expected 3 fields, as on the first line, got 2"),
        (CSV + "c,z,1,1\n", "line 4: expected 3 fields, as on the first line, got 4"),
        (CSV + ",z,1\n", "line 4: the row label is missing"),
        (CSV + 'c,"",1\n', "line 4: the column label is missing"),
        (CSV.encode() + b"c,\xff,1\n", "line 4: not UTF-8 text"),
        (CSV + '"c\nd",z,-1\n', "line 5: expected a finite count"),
        (CSV + "c," + "z" * 200_000 + ",1\nd,z,-1\n", "line 4: not readable as delimited text"),
        ("doc,word,n\n", "t.csv: the file has no triples"),
        ("\n\n", "t.csv: the file is empty"),
        ("doc\na\n", r"expected columns for row, column and count, got only \['doc'\]"),
    ],
)
def test_the_first_fault_has_file_and_line(tmp_path, text, message):
    path = put(tmp_path, "t.csv", text)
    with pytest.raises(DataError, match=message) as caught:
        read(path)
    assert str(caught.value).startswith(str(path))


def test_faults_far_down(tmp_path):
    lines = [f"d{i % 97},w{i % 89},{i % 7}" for i in range(60_000)]
    lines[51_000] = "d1,w1,1.25"
    with pytest.raises(DataError, match=r"line 51002: expected a whole number, got 1\.25"):
        read(put(tmp_path, "t.csv.gz", "doc,word,n\n" + "\n".join(lines)))


def test_what_only_duckdb_finds_wrong_is_told_in_its_words(tmp_path):
    path = put(tmp_path, "t.csv", CSV + '"c"d,z,1\n')
    with pytest.raises(DataError, match=r"t\.csv: Invalid Input Error: [^\n]*$"):
        read(path)


def test_a_label_outside_the_vocabulary(tmp_path):
    with pytest.raises(DataError, match="line 2: the column label 'y' is not in the vocabulary"):
        read(put(tmp_path, "t.csv", CSV), vocabulary=["x"])


def test_truncated_gzip(tmp_path):
    path = tmp_path / "t.csv.gz"
    path.write_bytes(gzip.compress((CSV + "a,x,1\n" * 1000).encode())[:-12])
    with pytest.raises(DataError, match="gzip stream is broken or cut short after line"):
        read(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"row": "doc"}, "Choose both row= and column="),
        ({"row": "doc", "column": "term"}, "no column 'term'; the columns are 'doc', 'word', 'n'"),
        ({"row": 0, "column": 3}, "no column 3; the columns are"),
        ({"row": "doc", "column": 1, "header": False}, r"no column 'doc'; the columns are 0\.\.2"),
    ],
)
def test_columns_that_are_not_there(tmp_path, options, message):
    with pytest.raises(DataError, match=message):
        read(put(tmp_path, "t.csv", CSV), **options)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("n", [1, 2, -3], "record 3: expected a finite count of at least 0, got -3"),
        ("n", [1, 0.5, 1], "record 2: expected a whole number, got 0.5"),
        ("n", [1, None, 1], "record 2: expected a number as count, got None"),
        ("word", ["x", None, "y"], "record 2: the column label is missing"),
    ],
)
def test_parquet_faults_have_file_and_record(tmp_path, column, values, message):
    frame = pd.DataFrame({"doc": ["a", "b", "c"], "word": ["x", "y", "z"], "n": [1, 2, 3]})
    frame.assign(**{column: values}).to_parquet(tmp_path / "t.parquet")
    with pytest.raises(DataError, match=rf"t\.parquet, {message}"):
        read(tmp_path / "t.parquet")


def test_parquet_vocabulary_and_lines_that_count_one(tmp_path):
    pd.DataFrame({"doc": ["a", "b"], "word": ["x", "y"]}).to_parquet(tmp_path / "t.parquet")
    assert read(tmp_path / "t.parquet").total == 2
    with pytest.raises(DataError, match="record 1: the column label 'x' is not in the vocabulary"):
        read(tmp_path / "t.parquet", vocabulary=["y"])


def test_damaged_parquet(tmp_path):
    with pytest.raises(DataError, match="not Parquet, or damaged"):
        read(put(tmp_path, "t.parquet", "nonsense, not a table"))
