"""Matrices of real numbers: what becomes one, and the files that hold one."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cormorant.data import DataError, Matrix, as_counts, as_matrix, read_matrix
from cormorant.data.readers import has_header, matrices, read_matrix_of_counts, write_matrix

Y = np.array([[0.5, -1.0, 2.0], [np.nan, 0.0, 1e-3]])


def test_what_becomes_a_matrix():
    frame = pd.DataFrame(Y, index=["a", "b"], columns=["x", "y", "z"])
    named = as_matrix(frame)
    assert isinstance(named, Matrix)
    assert (list(named.row_names), list(named.column_names)) == (["a", "b"], ["x", "y", "z"])
    assert (named.shape, named.n_missing) == ((2, 3), 1)
    for X in (Y, Y.tolist(), frame, np.ma.MaskedArray(np.nan_to_num(Y), np.isnan(Y)), sparse.csr_array(Y)):
        np.testing.assert_array_equal(as_matrix(X).values, Y)
    counts = as_counts(np.ones((2, 3)))
    assert as_matrix(counts) is counts
    assert as_matrix(named) is named
    assert as_matrix(pd.DataFrame(Y)).row_names is None


def test_rows_keep_their_names():
    found = as_matrix(Y).numbered().rows([1])
    assert (found.n_rows, list(found.row_names)) == (1, ["1"])


def test_columns_by_name_or_place():
    named = as_matrix(pd.DataFrame(Y, columns=["x", "y", "z"]))
    for index in (["z", "x"], [2, 0]):
        found = named.columns(index)
        np.testing.assert_array_equal(found.values, Y[:, [2, 0]])
        assert list(found.column_names) == ["z", "x"]
    with pytest.raises(DataError, match="no column named 'w'"):
        named.columns(["w"])
    with pytest.raises(DataError, match="have no names"):
        as_matrix(Y).columns(["x"])


def test_numbers_in_another_order_are_names():
    """The default index only numbers; turned around or cut, its numbers tell which columns and rows they are."""
    turned = as_matrix(pd.DataFrame(Y).iloc[1:, ::-1])
    assert (list(turned.row_names), list(turned.column_names)) == (["1"], ["2", "1", "0"])


@pytest.mark.parametrize(
    ("X", "said"), [(np.zeros(3), r"got shape \(3,\)"), ([["a", "b"]], "a matrix of numbers, rows x columns")]
)
def test_what_is_none(X, said):
    with pytest.raises(DataError, match=said):
        as_matrix(X)


def test_npy(tmp_path):
    np.save(tmp_path / "y.npy", Y.astype(np.float32))
    np.testing.assert_array_equal(read_matrix(tmp_path / "y.npy").values, Y.astype(np.float32))


@pytest.mark.parametrize(
    ("text", "rows", "columns"),
    [
        (",x,y,z\na,0.5,-1,2\nb,,0,0.001\n", ["a", "b"], ["x", "y", "z"]),  # as to_csv writes it
        (",x,y,z\n0,0.5,-1,2\n1,,0,0.001\n", ["0", "1"], ["x", "y", "z"]),  # a column without a title has names
        ("name,x,y,z\na,0.5,-1,2\nb,,0,0.001\n", ["a", "b"], ["x", "y", "z"]),  # and so has one that is no number
        ("x,y,z\n0.5,-1,2\n,0,0.001\n", None, ["x", "y", "z"]),
        ("0,1,2\n0.5,-1,2\n,0,0.001\n", None, ["0", "1", "2"]),  # to_csv(index=False) without names
        ("0.5,-1,2\nnan,0,0.001\n", None, None),  # as numpy.savetxt writes it
        (",0,1,2\na,0.5,-1,2\nb,,0,0.001\n", ["a", "b"], ["0", "1", "2"]),
    ],
)
@pytest.mark.parametrize("delimiter", [",", "\t"])
def test_tables(tmp_path, text, rows, columns, delimiter):
    path = tmp_path / ("y.csv" if delimiter == "," else "y.tsv")
    path.write_text(text.replace(",", delimiter))
    found = read_matrix(path)
    np.testing.assert_array_equal(found.values, Y)
    for names, expected in ((found.row_names, rows), (found.column_names, columns)):
        assert (names if names is None else list(names)) == expected


@pytest.mark.parametrize("name", ["y.npy", "y.csv", "y.tsv"])
@pytest.mark.parametrize("rows", [None, ["a", "b, c"]])
@pytest.mark.parametrize("columns", [None, ["x", "7", "="]])
def test_what_is_written_is_read_again(tmp_path, name, rows, columns):
    """To the last digit; a table has all names (where only rows have some, numbers for the columns)."""
    values = np.where(np.isnan(Y), np.nan, Y / 3)
    names = (None if given is None else np.array(given, dtype=object) for given in (rows, columns))
    write_matrix(Matrix(values, *names), tmp_path / name)
    found = read_matrix(tmp_path / name)
    np.testing.assert_array_equal(found.values, values)
    if name != "y.npy":
        assert (None if found.row_names is None else list(found.row_names)) == rows
        numbered = columns or (["0", "1", "2"] if rows else None)
        assert (None if found.column_names is None else list(found.column_names)) == numbered


def test_a_first_line_may_have_an_entry_missing(tmp_path):
    (tmp_path / "y.csv").write_text("1,,0.5\n2,3,4\n")
    found = read_matrix(tmp_path / "y.csv")
    np.testing.assert_array_equal(found.values, [[1, np.nan, 0.5], [2, 3, 4]])
    assert found.column_names is None


def test_whole_numbers_are_written_without_a_point(tmp_path):
    write_matrix(as_matrix([[1.0, np.nan, 0.25]]), tmp_path / "y.csv")
    assert (tmp_path / "y.csv").read_text() == "1,,0.25\n"


def test_files_that_hold_none(tmp_path):
    np.save(tmp_path / "line.npy", np.zeros(3))
    with pytest.raises(DataError, match=r"rows x columns; it has shape \(3,\)"):
        read_matrix(tmp_path / "line.npy")
    (tmp_path / "text.npy").write_text("no")
    with pytest.raises(DataError, match=r"that numpy\.save wrote"):
        read_matrix(tmp_path / "text.npy")
    (tmp_path / "empty.csv").write_text("")
    with pytest.raises(DataError, match="could not be read"):
        read_matrix(tmp_path / "empty.csv")
    with pytest.raises(DataError, match=r"read from \.npy, \.csv, \.tsv; got the name 'y\.npz'"):
        read_matrix(tmp_path / "y.npz")


# Triples


def long_table(titles="", rows=4, columns=3, drop=(5,), label=str, shuffle=None):
    """Triples of a matrix whose entry at (u, i) is u - i / 4, less some, as text."""
    lines = [f"{u},{label(i)},{u - i / 4}" for u in range(rows) for i in range(columns)]
    lines = [line for number, line in enumerate(lines) if number not in drop]
    if shuffle is not None:
        lines = [lines[i] for i in np.random.default_rng(shuffle).permutation(len(lines))]
    return "\n".join([*([titles] if titles else []), *lines]) + "\n"


@pytest.mark.parametrize(
    "text",
    [
        long_table("row,column,value"),
        long_table(" Row , col,count", shuffle=1),  # titles that say so need no order
        long_table("row,column,value", rows=2),  # nor many lines
        long_table("user,film,rating"),  # the order of whole numbers tells
        long_table(),
        long_table("user,film,rating", label="film{}".format, shuffle=1),  # and so does text
    ],
)
def test_triples_become_a_matrix(tmp_path, text):
    (tmp_path / "y.csv").write_text(text)
    found = read_matrix(tmp_path / "y.csv")
    rows = found.n_rows
    expected = np.arange(rows)[:, None] - np.arange(3) / 4
    expected[1, 2] = np.nan
    np.testing.assert_array_equal(found.values, expected)
    assert list(found.row_names) == [str(u) for u in range(rows)]
    assert [name.removeprefix("film") for name in found.column_names] == ["0", "1", "2"]


@pytest.mark.parametrize(
    "entries",
    [
        np.random.default_rng(0).normal(size=(40, 3)),
        np.random.default_rng(0).poisson(2.0, size=(40, 3)),  # whole numbers, but pairs come again
        np.c_[np.arange(20), np.arange(20) % 4, np.ones(20)],  # no row twice
        np.c_[-np.arange(12) // 4, np.arange(12) % 4, np.ones(12)],  # labels are not below zero
        np.c_[np.arange(12) // 4, np.arange(12) % 4, np.ones(12), np.ones(12)],  # and triples are no four numbers
    ],
)
@pytest.mark.parametrize("titles", [None, list("abcd")])
def test_three_columns_stay_a_matrix(tmp_path, entries, titles):
    pd.DataFrame(entries).to_csv(
        tmp_path / "y.csv", index=False, header=False if titles is None else titles[: entries.shape[1]]
    )
    np.testing.assert_allclose(read_matrix(tmp_path / "y.csv").values, entries)


def test_triples_that_may_be_a_matrix_are_refused_until_something_tells(tmp_path):
    path = tmp_path / "y.csv"
    for text in (long_table("a,b,c", shuffle=1), long_table("a,b,c", rows=2, columns=2, drop=[])):
        path.write_text(text)
        with pytest.raises(DataError, match=r"may hold triples .* titles row,column,value above triples"):
            read_matrix(path)
    table = pd.read_csv(path)
    table.to_csv(path)  # names of the rows in front
    np.testing.assert_array_equal(read_matrix(path).values, table)


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("1,2,x\n1,3,1\n", "a number as value of each triple; got 'x'"),
        ("1,2,0.5\n1,2,1\n", "row '1', column '2' has several"),
        ("1,,0.5\n1,2,1\n", "some have no label"),
    ],
)
def test_triples_that_are_wrong(tmp_path, lines, said):
    (tmp_path / "y.csv").write_text(f"row,column,value\n{lines}")
    with pytest.raises(DataError, match=said):
        read_matrix(tmp_path / "y.csv")


def test_labels_stay_text_and_more_columns_are_told(tmp_path, caplog):
    (tmp_path / "y.csv").write_text("row,column,value,when\n007,b,0.5,3\n7,NA,,4\n")
    found = read_matrix(tmp_path / "y.csv")
    assert (list(found.row_names), list(found.column_names)) == (["007", "7"], ["NA", "b"])
    np.testing.assert_array_equal(found.values, [[np.nan, 0.5], [np.nan, np.nan]])
    assert "the first three are taken for row, column and value" in caplog.text


@pytest.mark.parametrize(
    ("text", "is_long"),
    [
        ("row,column,count\n1,1,2\n", True),
        ("user,film,n\n1,5,2\n1,7,1\n", True),  # three whole numbers, as `read` takes them
        ("1,5\n1,7\n", True),
        ("user,film,n,when\n1,alien,2,3\n", True),
        ("a,b,c,d\n1,0,1,1\n1,0,0,1\n", False),
        (",a,b\nx,0,1\nx,1,1\n", False),
        ("name,a,b\nx,0,1\ny,1,1\n", False),
        ("name\n1\n", False),
    ],
)
def test_triples_of_counts(tmp_path, text, is_long):
    (tmp_path / "y.csv").write_text(text)
    found = read_matrix_of_counts(tmp_path / "y.csv")
    assert has_header(tmp_path / "y.csv") == (not text[0].isdigit())
    if is_long:
        assert found is None
    else:
        np.testing.assert_array_equal(found.values, read_matrix(tmp_path / "y.csv").values)


@pytest.mark.parametrize(
    ("line", "last", "is_long", "read"),
    [
        ("{i},{i},1\n", "", False, [5, None]),
        ("{i},{i},1\n", "0,9,1\n", True, [5, None]),  # only the last line tells
        ("{j},{i},1\n", "", True, [5]),
        ("{i},word,1\n", "", True, [5]),
        ("{i},{i},1,1\n", "", False, [5, None]),
    ],
)
def test_a_long_table_is_gone_through_once(tmp_path, monkeypatch, line, last, is_long, read):
    """By pandas and then by DuckDB it would take twice as long; a head is read to tell which of them is to read it."""
    (tmp_path / "y.csv").write_text("".join(line.format(i=i, j=i // 2) for i in range(8)) + last)
    seen, read_csv = [], pd.read_csv
    monkeypatch.setattr(pd, "read_csv", lambda *a, nrows, **k: seen.append(nrows) or read_csv(*a, nrows=nrows, **k))
    monkeypatch.setattr(matrices, "HEAD", 5)
    assert (read_matrix_of_counts(tmp_path / "y.csv") is None) == is_long
    assert seen == read
    monkeypatch.setattr(matrices, "HEAD", 50)
    assert (read_matrix_of_counts(tmp_path / "y.csv") is None) == is_long
    assert seen == [*read, 50]
