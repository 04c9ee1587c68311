"""Matrices of real numbers: what becomes one, and the files that hold one."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cormorant.data import DataError, Matrix, as_counts, as_matrix, read_matrix

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
