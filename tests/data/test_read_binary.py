"""`write` and the readers of .npz and .h5ad; how `read` chooses."""

import builtins
import os
import stat

import anndata
import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from cormorant.data import DataError, as_counts, read, write
from cormorant.data.readers import npz

DENSE = np.array([[2, 0, 1], [0, 5, 0]])


def matrices():
    shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=6)
    numbers = st.one_of(st.integers(0, 2**40), st.floats(0, 1e6))
    return arrays(np.float64, shapes, elements=numbers)


@settings(deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(matrices(), st.data())
def test_what_is_written_is_read(tmp_path, dense, data):
    names = [data.draw(st.none() | st.lists(st.text(), min_size=length, max_size=length)) for length in dense.shape]
    counts = as_counts(dense, row_names=names[0], column_names=names[1])
    write(counts, tmp_path / "x.npz")
    assert read(tmp_path / "x.npz", weights=True) == counts
    assert np.array_equal(sparse.load_npz(tmp_path / "x.npz").toarray(), dense)


def test_a_file_appears_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "x.npz"
    write(as_counts(DENSE), path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~_umask()
    before = path.read_bytes()

    def fail(file, **arrays):
        file.write(b"half a fi")
        raise OSError("disk full")

    monkeypatch.setattr(npz.np, "savez_compressed", fail)
    with pytest.raises(OSError, match="disk full"):
        write(as_counts(2 * DENSE), path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["x.npz"]


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_only_npz_is_written(tmp_path):
    with pytest.raises(DataError, match=r"written as \.npz, got the name 'x\.mtx'"):
        write(as_counts(DENSE), tmp_path / "x.mtx")


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_npz_of_scipy(tmp_path, format):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_matrix(DENSE).asformat(format))
    assert read(tmp_path / "x.npz") == as_counts(DENSE)
    named = read(tmp_path / "x.npz", vocabulary=["x", "y", "z"])
    assert named.column_names.tolist() == ["x", "y", "z"]


REPEATED = {
    "coo": sparse.coo_matrix(([2, 1, 0, 4, 3], ([0, 0, 0, 0, 1], [1, 1, 1, 1, 0])), shape=(2, 3)),
    "csr": sparse.csr_matrix(([2, 1, 0, 4, 3], [1, 1, 1, 1, 0], [0, 4, 5]), shape=(2, 3)),
    "csc": sparse.csc_matrix(([3, 2, 1, 4], [1, 0, 0, 0], [0, 1, 4, 4]), shape=(2, 3)),
}


@pytest.mark.parametrize("format", REPEATED)
def test_duplicates_are_summed_and_said(tmp_path, caplog, format):
    """Stored zeros, which are no entries, do not count."""
    path = tmp_path / "x.npz"
    sparse.save_npz(path, REPEATED[format])
    assert read(path).tocsr().toarray().tolist() == [[0, 7, 0], [3, 0, 0]]
    assert caplog.messages == [f"{path}: 2 duplicated (row, column) pairs were summed into others"]


@pytest.mark.parametrize("format", ["csr", "csc", "coo", "bsr", "dia"])
def test_nothing_is_said_where_nothing_was_summed(tmp_path, caplog, format):
    beyond = sparse.spdiags([[1, 2, 3], [4, 5, 6]], [0, 2], 2, 3)  # stored diagonals that go past the corners
    for matrix in (sparse.csr_matrix(DENSE), sparse.coo_matrix(([0, 0], ([0, 0], [1, 1])), shape=(2, 3)), beyond):
        sparse.save_npz(tmp_path / "x.npz", matrix.asformat(format))
        read(tmp_path / "x.npz")
    assert caplog.messages == []


def test_duplicates_of_an_h5ad_are_said_too(tmp_path, caplog):
    path = tmp_path / "cells.h5ad"
    anndata.AnnData(REPEATED["csr"]).write_h5ad(path)
    assert read(path).total == 10
    assert caplog.messages == [f"{path}: 2 duplicated (row, column) pairs were summed into others"]


def test_whole_numbers_past_int64_are_no_fractions(tmp_path):
    sparse.save_npz(tmp_path / "x.npz", sparse.csr_matrix([[1.0, 1e30]]))
    assert read(tmp_path / "x.npz").total == 1e30


def test_npz_faults(tmp_path):
    path = tmp_path / "x.npz"
    sparse.save_npz(path, sparse.csr_matrix([[1, 0.5]]))
    with pytest.raises(DataError, match=r"x\.npz: at row 0, column 1 expected a whole number, got 0\.5"):
        read(path)
    sparse.save_npz(path, sparse.csr_matrix([[1, -1]]))
    with pytest.raises(DataError, match=r"x\.npz: Counts must be non-negative.*row 0, column 1 is -1"):
        read(path)
    with pytest.raises(DataError, match="one name for each of the 2 columns, got 1"):
        read(path, vocabulary=["x"])


def test_npz_that_is_none(tmp_path):
    path = tmp_path / "x.npz"
    for content in (b"nonsense", b"PK\x03\x04nonsense"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"x\.npz: not a sparse matrix"):
            read(path)
    np.savez(path, a=np.arange(3))
    with pytest.raises(DataError, match=r"x\.npz: not a sparse matrix"):
        read(path)
    np.savez(path, data=np.array([{}], dtype=object), format=b"csr", shape=(1, 1), indices=[0], indptr=[0, 1])
    with pytest.raises(DataError, match="allow_pickle=False"):
        read(path)


def test_every_cut_of_an_npz_is_refused(tmp_path):
    path = tmp_path / "x.npz"
    write(as_counts(DENSE, column_names=["x", "y", "z"]), path)
    whole = path.read_bytes()
    for length in range(1, len(whole), 7):
        path.write_bytes(whole[:length])
        with pytest.raises(DataError, match="damaged"):
            read(path)


@pytest.fixture
def h5ad(tmp_path):
    obs, var = pd.DataFrame(index=["c1", "c2"]), pd.DataFrame(index=["g1", "g2", "g3"])
    X = sparse.csr_matrix(DENSE / 2)
    anndata.AnnData(X, obs, var, layers={"raw": sparse.csr_matrix(DENSE)}).write_h5ad(tmp_path / "cells.h5ad")
    return tmp_path / "cells.h5ad"


def test_h5ad(h5ad):
    counts = read(h5ad, layer="raw")
    assert counts == as_counts(DENSE, row_names=["c1", "c2"], column_names=["g1", "g2", "g3"])
    assert read(h5ad, weights=True).total == 4
    with pytest.raises(DataError, match=r"at row 0 \('c1'\), column 2 \('g3'\) expected a whole number, got 0\.5"):
        read(h5ad)
    with pytest.raises(DataError, match=r"cells\.h5ad: The AnnData has no layer 'spliced'"):
        read(h5ad, layer="spliced")


def test_damaged_h5ad(tmp_path):
    (tmp_path / "x.h5ad").write_bytes(b"nonsense")
    with pytest.raises(DataError, match=r"x\.h5ad: not an AnnData file, or damaged"):
        read(tmp_path / "x.h5ad")


def test_h5ad_without_anndata(h5ad, monkeypatch):
    real = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "anndata":
            raise ImportError(name)
        return real(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(ImportError, match=r"pip install 'cormorant\[anndata\]'"):
        read(h5ad)


def test_choosing_a_format(tmp_path):
    path = tmp_path / "counts.data"
    path.write_text("1 0:3\n")
    assert read(str(path), format="lda-c").total == 3
    with pytest.raises(DataError, match=r"counts\.data: the name does not tell the format; give format= one of npz"):
        read(path)
    with pytest.raises(DataError, match="Unknown format 'excel'; the formats are npz, matrix-market, uci"):
        read(path, format="excel")
    with pytest.raises(TypeError, match=r"counts\.data takes no option 'min_df'; it takes n_columns, weights"):
        read(path, format="lda-c", min_df=3)
    with pytest.raises(FileNotFoundError):
        read(tmp_path / "missing.npz")


@pytest.mark.parametrize("suffix", ["npz", "mtx", "ldac", "svm", "csv", "tsv", "parquet", "h5ad", "txt", "jsonl"])
def test_an_empty_file(tmp_path, suffix):
    path = tmp_path / f"empty.{suffix}"
    path.touch()
    with pytest.raises(DataError, match=f"empty.{suffix}: the file is empty"):
        read(path)


def test_names_from_files(tmp_path):
    path = tmp_path / "a.ldac"
    path.write_text("1 0:3\n1 1:2\n")
    (tmp_path / "words.txt").write_text("été\nwinter\n", encoding="utf-8")
    (tmp_path / "bad.txt").write_bytes(b"a\n\xff\n")
    (tmp_path / "none.txt").touch()
    counts = read(path, vocabulary=tmp_path / "words.txt", row_names=str(tmp_path / "words.txt"))
    assert counts.column_names.tolist() == counts.row_names.tolist() == ["été", "winter"]
    with pytest.raises(DataError, match=r"bad\.txt, line 2: not UTF-8 text"):
        read(path, vocabulary=tmp_path / "bad.txt")
    with pytest.raises(DataError, match=r"none\.txt: the file is empty; expected one name a line"):
        read(path, vocabulary=tmp_path / "none.txt")
    with pytest.raises(DataError, match="Expected at least one name, got none"):
        read(path, vocabulary=[])
