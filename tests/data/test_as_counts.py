"""`as_counts`: every matrix in memory."""

from decimal import Decimal
from types import SimpleNamespace

import anndata
import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from cormorant.data import DataError, as_counts

DENSE = np.array([[2, 0, 1], [0, 5, 0]])


def test_counts_are_returned_as_they_are():
    counts = as_counts(DENSE)
    assert as_counts(counts) is counts
    named = as_counts(counts, column_names=["x", "y", "z"])
    assert named.column_names.tolist() == ["x", "y", "z"]
    assert named.data is counts.data


@pytest.mark.parametrize("format", ["bsr", "coo", "csc", "csr", "dia", "dok", "lil"])
@pytest.mark.parametrize("kind", [sparse.csr_matrix, sparse.csr_array])
@pytest.mark.parametrize("dtype", [bool, np.int8, np.uint64, np.float32, np.float64])
def test_every_sparse_format(format, kind, dtype):
    matrix = kind(DENSE.astype(dtype)).asformat(format)
    assert as_counts(matrix) == as_counts(DENSE.astype(dtype))


def test_repeated_coordinates_are_summed_without_overflow():
    matrix = sparse.coo_matrix((np.array([100, 100], np.int8), ([0, 0], [1, 1])), shape=(1, 2))
    assert as_counts(matrix).tocsr().toarray().tolist() == [[0, 200]]


def test_room_after_the_last_entry_is_ignored():
    matrix = sparse.csr_matrix(DENSE)
    matrix.data = np.concatenate([matrix.data, [9, 9]])
    matrix.indices = np.concatenate([matrix.indices, [0, 0]])
    assert as_counts(matrix) == as_counts(DENSE)


def test_a_wide_sparse_matrix_is_never_densified():
    matrix = sparse.coo_matrix(([1, 2], ([0, 10**7], [10**7, 3])), shape=(10**7 + 1, 10**7 + 1))
    assert as_counts(matrix).total == 3


@pytest.mark.parametrize("X", [DENSE.tolist(), DENSE.astype(np.float16), DENSE.astype(object)])
def test_dense_input(X):
    assert as_counts(X) == as_counts(DENSE)


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
def test_the_matrix_of_numpy():
    assert as_counts(np.matrix(DENSE)) == as_counts(DENSE)


def test_numbers_of_other_kinds():
    assert as_counts(np.array([[Decimal(2), np.True_]], dtype=object)).tocsr().toarray().tolist() == [[2, 1]]
    assert as_counts([[True, False]]).data.dtype == np.int32


def test_wide_frame_gives_names():
    counts = as_counts(pd.DataFrame(DENSE, index=["a", "b"], columns=["x", "y", "z"]))
    assert counts.row_names.tolist() == ["a", "b"]
    assert counts.column_names.tolist() == ["x", "y", "z"]
    assert as_counts(counts.named(), row_names=["c", "d"]).row_names.tolist() == ["c", "d"]


def test_default_indexes_only_number():
    counts = as_counts(pd.DataFrame(DENSE))
    assert counts == as_counts(DENSE)
    assert counts.row_names is None


def test_nullable_frame():
    assert as_counts(pd.DataFrame(DENSE).astype("Int64")) == as_counts(DENSE)
    with pytest.raises(DataError, match=r"row 1, column 0 \('x'\) is nan"):
        as_counts(pd.DataFrame({"x": pd.array([1, None], dtype="Int64")}))


def test_sparse_frame_is_not_densified():
    matrix = sparse.coo_matrix(([1, 2], ([0, 10**6], [0, 1])), shape=(10**6 + 1, 3))
    frame = pd.DataFrame.sparse.from_spmatrix(matrix, columns=["x", "y", "z"])
    counts = as_counts(frame)
    assert counts.nnz == 2
    assert counts.column_names.tolist() == ["x", "y", "z"]


def test_frame_with_sparse_and_dense_columns_keeps_their_order():
    frame = pd.DataFrame(DENSE, columns=["x", "y", "z"]).astype({"y": pd.SparseDtype(np.int64, 0)})
    assert as_counts(frame) == as_counts(DENSE, column_names=["x", "y", "z"])


def test_sparse_column_must_fill_with_zero():
    with pytest.raises(DataError, match="Sparse column 'x' must have the fill value 0, got nan"):
        as_counts(pd.DataFrame({"x": pd.arrays.SparseArray([1.0, np.nan])}))


def test_a_mask_is_refused_and_the_way_to_give_it_is_said():
    """Its hidden values are no counts; an array of that kind that hides nothing is as any other."""
    hiding = np.ma.array(DENSE, mask=DENSE > 1)
    with pytest.raises(DataError, match=r"masked array hides 2; pass X\.filled\(0\) and, .*, mask=X\.mask\."):
        as_counts(hiding)
    assert as_counts(hiding.filled(0)).total == 1
    assert as_counts(np.ma.array(DENSE)) == as_counts(np.ma.array(DENSE, mask=False)) == as_counts(DENSE)


@pytest.fixture
def adata() -> anndata.AnnData:
    obs, var = pd.DataFrame(index=["cell1", "cell2"]), pd.DataFrame(index=["g1", "g2", "g3"])
    return anndata.AnnData(sparse.csr_matrix(DENSE), obs=obs, var=var, layers={"raw": sparse.csr_matrix(2 * DENSE)})


def test_anndata(adata: anndata.AnnData):
    counts = as_counts(adata)
    assert counts == as_counts(DENSE, row_names=["cell1", "cell2"], column_names=["g1", "g2", "g3"])
    assert as_counts(adata, layer="raw").total == 2 * counts.total
    assert as_counts(adata[1:]).row_names.tolist() == ["cell2"]
    assert as_counts(adata, column_names=["a", "b", "c"]).column_names.tolist() == ["a", "b", "c"]


def test_anndata_backed_by_a_file(adata: anndata.AnnData, tmp_path):
    adata.write_h5ad(tmp_path / "cells.h5ad")
    backed = anndata.read_h5ad(tmp_path / "cells.h5ad", backed="r")
    try:
        assert as_counts(backed) == as_counts(adata)
    finally:
        backed.file.close()


def test_anndata_without_what_was_asked(adata: anndata.AnnData):
    with pytest.raises(DataError, match=r"no layer 'spliced'; it has \['raw'\]"):
        as_counts(adata, layer="spliced")
    adata.X = None
    with pytest.raises(DataError, match=r"no X; choose a layer of \['raw'\]"):
        as_counts(adata)
    with pytest.raises(DataError, match="layer='raw' needs an AnnData, got ndarray"):
        as_counts(DENSE, layer="raw")


def test_a_negative_coordinate_is_refused_before_repeats_are_summed():
    matrix = sparse.coo_matrix((np.array([5, -3]), ([1, 1], [2, 2])), shape=(2, 3))
    with pytest.raises(DataError, match=r"row 1, column 2 is -3\. Negative values in data are no counts: undo"):
        as_counts(matrix)


@pytest.mark.parametrize(
    ("bad", "remedy"), [(-1.5, "set them to zero"), (np.nan, "the mask of fit"), (np.inf, "the count it stands for")]
)
def test_errors_say_what_to_do(bad, remedy):
    with pytest.raises(DataError, match=remedy):
        as_counts([[1.0, bad]])


@pytest.mark.parametrize("bad", [-1, np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_matrix, sparse.csc_matrix, pd.DataFrame])
def test_the_first_bad_entry_is_named(bad, kind):
    dense = DENSE.astype(float)
    dense[1, 2] = bad
    with pytest.raises(DataError, match=rf"non-negative and finite.*row 1, column 2.* is {bad}"):
        as_counts(kind(dense))


def test_bad_entries_are_named_by_name():
    frame = pd.DataFrame([[1, -2]], index=["doc"], columns=["x", "y"])
    with pytest.raises(DataError, match=r"row 0 \('doc'\), column 1 \('y'\) is -2"):
        as_counts(frame)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1, 2], r"need a matrix \(2-D\), got 1 dimension.*reshape\(1, -1\)"),
        (np.zeros((1, 1, 1)), "got 3 dimension"),
        (3, "got 0 dimension"),
        (SimpleNamespace(), "got 0 dimension"),
        (sparse.coo_array([1, 2]), "sparse array of 1 dimension"),
        ([[1, 2], [3]], "rows of one length"),
        ([["a", "b"]], "must be numbers, but the array has dtype <U1"),
        (np.array([[1, 2j]]), "dtype complex128"),
        (np.array([[1, "a"], [None, 2]], dtype=object), "row 0, column 1 is 'a'"),
        (pd.DataFrame({"x": [1, 2], "y": [3, "z"]}), "row 1, column 1 is 'z'"),
        (np.array([[2**63]], dtype=np.uint64), r"row 0, column 0, 9223372036854775808, is past 2\*\*63 - 1"),
    ],
)
def test_what_is_not_a_count_matrix(X, message):
    with pytest.raises(DataError, match=message):
        as_counts(X)
