"""`Counts`: canonical, checked, immutable."""

import copy
import dataclasses
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import sparse

from cormorant.data import Counts, DataError, as_counts

DENSE = np.array([[2, 0, 1], [0, 0, 0], [0, 5, 3]])


@pytest.fixture
def counts() -> Counts:
    return as_counts(DENSE, row_names=["a", "b", "c"], column_names=["x", "y", "z"])


def integers(max_side: int = 8):
    shapes = array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=max_side)
    return arrays(np.int64, shapes, elements=st.integers(0, 2**40))


def test_shape_and_sums(counts: Counts):
    assert counts.shape == (3, 3) == (counts.n_rows, counts.n_columns)
    assert len(counts) == 3
    assert counts.nnz == 4
    assert counts.total == 11
    assert isinstance(counts.total, int)
    assert counts.row_totals().tolist() == [3, 0, 8]
    assert counts.column_totals().tolist() == [2, 5, 4]
    assert counts.is_integer


def test_dtypes_allow_more_than_2_to_31_entries(counts: Counts):
    assert counts.indptr.dtype == np.int64
    assert counts.indices.dtype == np.int32
    assert counts.data.dtype == np.int32


def test_wide_matrices_have_wide_indices():
    counts = Counts([0, 1], [2**31 + 5], [1], (1, 2**31 + 6))
    assert counts.indices.dtype == np.int64
    assert counts.indices.tolist() == [2**31 + 5]


def test_large_counts_are_exact_in_int64():
    counts = as_counts([[2**31, 1]])
    assert counts.data.dtype == np.int64
    assert counts.total == 2**31 + 1


def test_totals_do_not_overflow_int32():
    counts = as_counts(np.full((3, 2), 2**31 - 1))
    assert counts.data.dtype == np.int32
    assert counts.row_totals().tolist() == [2**32 - 2] * 3
    assert counts.column_totals().tolist() == [3 * (2**31 - 1)] * 2


@pytest.mark.parametrize(
    ("dense", "total"),
    [
        ([[2**62, 2**62, 2**62]], 3 * 2.0**62),
        ([[5e18, 5e18]], 1e19),
        ([[2.0**63]], 2.0**63),
        ([[2**63 - 1, 2**63 - 1]], 2.0**64),
    ],
)
def test_sums_past_int64_are_floats_not_negative(dense, total):
    counts = as_counts(dense)
    assert counts.data.dtype == np.float64
    assert counts.total == total
    assert counts.row_totals().tolist() == [total]
    assert (counts.column_totals() > 0).all()
    repeated = sparse.coo_matrix((np.array(dense[0]), ([0] * len(dense[0]), [0] * len(dense[0]))), shape=(1, 1))
    assert as_counts(repeated).total == total


def test_large_totals_below_the_limit_stay_exact():
    counts = as_counts([[2**61, 2**60 + 1]])
    assert counts.data.dtype == np.int64
    assert counts.total == 2**61 + 2**60 + 1


def test_counts_that_sum_to_infinity_are_refused():
    with pytest.raises(DataError, match=r"sum past 1\.8e308 \(largest: 1\.5e\+308 at row 0, column 1\)"):
        as_counts([[1e308, 1.5e308]])


def test_whole_floats_become_integers_and_weights_stay():
    assert as_counts([[1.0, 2.0]]).data.dtype == np.int32
    weights = as_counts(np.array([[0.5, 2.0]], dtype=np.float32))
    assert weights.data.dtype == np.float64
    assert not weights.is_integer
    assert weights.total == 2.5
    assert weights.row_totals().tolist() == [2.5]
    assert as_counts([[1e30]]).data.dtype == np.float64


def test_canonical_form_sorts_sums_and_drops_zeros():
    counts = Counts([0, 4, 4, 6], [2, 0, 2, 1, 1, 0], [1, 2, 3, 0, 5, 0], (3, 3))
    assert counts.tocsr().toarray().tolist() == [[2, 0, 4], [0, 0, 0], [0, 5, 0]]
    assert counts.indices.tolist() == [0, 2, 1]
    assert counts.indptr.tolist() == [0, 2, 2, 3]


def test_duplicates_are_summed_in_a_wide_type():
    counts = Counts([0, 2], [0, 0], np.array([100, 100], dtype=np.int8), (1, 1))
    assert counts.total == 200


def test_nothing_can_be_changed(counts: Counts):
    arrays = (counts.indptr, counts.indices, counts.data, counts.row_names, counts.column_names)
    for array in arrays:
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7
    with pytest.raises(dataclasses.FrozenInstanceError):
        counts.data = np.ones(4)
    matrix = counts.tocsr()
    with pytest.raises(ValueError, match="read-only"):
        matrix.data *= 2
    matrix.indptr[:] = 0
    assert counts.tocsr().toarray().tolist() == DENSE.tolist()


def test_tocsr_shares_or_copies(counts: Counts):
    assert np.shares_memory(counts.tocsr().data, counts.data)
    own = counts.tocsr(copy=True)
    own.data[:] = 9
    assert own.has_sorted_indices
    assert counts.total == 11


def test_the_source_stays_free_and_apart():
    source = sparse.csr_matrix(DENSE.astype(np.int32))
    counts = as_counts(source)
    source.data[:] = 99
    assert counts.tocsr().toarray().tolist() == DENSE.tolist()


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda c: pickle.loads(pickle.dumps(c))])
def test_copies_are_equal_and_read_only(counts: Counts, again):
    other = again(counts)
    assert other == counts
    assert not other.data.flags.writeable


@pytest.mark.parametrize(
    "index", [[2, 0], np.array([True, False, True]), slice(1, None), 1, -1, [], (2, 1), [0, 0], range(3)]
)
def test_rows(counts: Counts, index):
    chosen = np.arange(3)[np.asarray(index, dtype=int) if not isinstance(index, slice | np.ndarray) else index]
    chosen = np.atleast_1d(chosen)
    selected = counts.rows(index)
    assert selected.tocsr().toarray().tolist() == DENSE[chosen].tolist()
    assert selected.row_names is not None
    assert selected.row_names.tolist() == [["a", "b", "c"][i] for i in chosen]
    assert selected.column_names is counts.column_names


@pytest.mark.parametrize("index", [[2, 0], np.array([True, False, True]), slice(1, None), 1, []])
def test_columns(counts: Counts, index):
    chosen = np.atleast_1d(np.arange(3)[index if not isinstance(index, list) else np.array(index, dtype=int)])
    selected = counts.columns(index)
    assert selected.tocsr().toarray().tolist() == DENSE[:, chosen].tolist()
    assert selected.column_names is not None
    assert selected.column_names.tolist() == [["x", "y", "z"][i] for i in chosen]
    assert selected.row_names.tolist() == ["a", "b", "c"]


def test_rows_out_of_range(counts: Counts):
    with pytest.raises(IndexError):
        counts.rows([3])
    with pytest.raises(IndexError):
        counts.rows(np.array([True, False]))


def test_selected_weights_that_are_whole_are_integers():
    assert as_counts([[0.5, 1.0], [2.0, 3.0]]).rows([1]).is_integer


def test_rows_and_columns_by_name(counts: Counts):
    assert counts.rows(["c", "a"]) == counts.rows([2, 0])
    assert counts.columns(np.array(["z", "x"], dtype=object)) == counts.columns([2, 0])
    assert counts.columns("y").column_names.tolist() == ["y"]
    with pytest.raises(DataError, match=r"no column named 'q' \(1 of 2 names are unknown\)"):
        counts.columns(["x", "q"])
    with pytest.raises(DataError, match="rows have no names"):
        as_counts(DENSE).rows(["a"])
    with pytest.raises(DataError, match="not distinct"):
        counts.named(column_names=["x", "x", "z"]).columns(["z"])


@pytest.mark.parametrize(
    "index", [1, slice(0, 2), [2, 0], np.array([True, False, True]), (..., [1, 2]), ([0, 2], slice(1, 3)), (0, 2)]
)
def test_indexing_is_that_of_rows_and_columns(counts: Counts, index):
    rows, columns = index if isinstance(index, tuple) else (index, ...)
    wanted = DENSE if rows is ... else np.atleast_2d(DENSE[rows])
    wanted = wanted if columns is ... else wanted[:, np.atleast_1d(np.arange(3)[columns])]
    assert counts[index].tocsr().toarray().tolist() == wanted.tolist()
    assert counts[index].row_names is not None


def test_indexing_wants_at_most_rows_and_columns(counts: Counts):
    with pytest.raises(IndexError, match="got 3 indices"):
        counts[0, 1, 2]
    with pytest.raises(IndexError, match="out of bounds"):
        counts[7]


def test_iterating_gives_one_row_at_a_time(counts: Counts):
    assert [row.total for row in counts] == [3, 0, 8]


def test_counts_never_turn_dense_by_themselves(counts: Counts):
    with pytest.raises(TypeError, match=r"use counts\.tocsr\(\)"):
        np.asarray(counts)


def test_entries_wants_one_truth_value_an_entry(counts: Counts):
    assert counts.entries(np.array([True, False, False, True])).total == 5
    with pytest.raises(DataError, match="mask must be 4 truth values, got shape"):
        counts.entries(np.array([True]))


def test_equality(counts: Counts):
    assert counts == as_counts(DENSE, row_names=list("abc"), column_names=list("xyz"))
    assert counts != as_counts(DENSE)
    assert counts != counts.named(row_names=["a", "b", "d"])
    assert counts != counts.rows([0, 1])
    assert counts != as_counts(2 * DENSE, row_names=list("abc"), column_names=list("xyz"))
    assert counts != "counts"
    with pytest.raises(TypeError, match="unhashable"):
        hash(counts)


def test_repr_tells_the_essentials(counts: Counts):
    assert repr(counts) == (
        "Counts(3 rows x 3 columns, 4 nonzeros, total 11, whole numbers; "
        "rows named 'a', 'b', 'c'; columns named 'x', 'y', 'z')"
    )
    assert "real numbers)" in repr(as_counts([[0.5]]))
    assert "'long long long long l...', ..." in repr(as_counts([[1] * 4], column_names=[*"ab", "long " * 9, "d"]))


def test_names_are_plain_strings_and_counted(counts: Counts):
    assert type(counts.row_names[0]) is str
    with pytest.raises(DataError, match="row_names must have one name for each of the 3 rows, got 2"):
        counts.named(row_names=["a", "b"])
    with pytest.raises(DataError, match="column_names must be a sequence of 3 strings, got one string"):
        as_counts(DENSE, column_names="xyz")


@pytest.mark.parametrize(
    ("indptr", "indices", "data", "message"),
    [
        ([0, 1], [0], [1], r"n_rows \+ 1 = 3 entries"),
        ([0, 1, 2], [0, 1], [1], "vectors of one length"),
        ([0, 2, 1], [0], [1], "must rise from 0"),
        ([1, 1, 1], [0], [1], "must rise from 0"),
        ([0, 1, 2], [0, 2], [1, 1], r"must lie in 0\.\.1, but row 1 has index 2"),
        ([0, 1, 2], [0, -1], [1, 1], "row 1 has index -1"),
        ([0, 1, 2], [0.0, 1.0], [1, 1], "indices must be integers"),
        ([0, 1, 2], [0, 1], [1, -1], "at row 1, column 1 is -1"),
    ],
)
def test_broken_arrays_are_refused(indptr, indices, data, message):
    with pytest.raises(DataError, match=message):
        Counts(indptr, indices, data, (2, 2))


def test_empty_matrices_are_allowed():
    for shape in [(0, 0), (0, 3), (3, 0), (2, 2)]:
        counts = as_counts(np.zeros(shape))
        assert counts.shape == shape
        assert counts.total == 0
        assert counts.is_integer
        assert len(counts.row_totals()) == shape[0]
        assert len(counts.column_totals()) == shape[1]


@settings(deadline=None)
@given(integers())
def test_dense_round_trip(dense):
    counts = as_counts(dense)
    assert np.array_equal(counts.tocsr().toarray(), dense)
    assert counts.total == dense.sum()


@settings(deadline=None)
@given(integers(), st.randoms())
def test_the_order_of_storage_does_not_matter(dense, random):
    coo = sparse.coo_matrix(dense)
    order = list(range(coo.nnz))
    random.shuffle(order)
    shuffled = sparse.coo_matrix((coo.data[order], (coo.row[order], coo.col[order])), shape=coo.shape)
    csc = shuffled.tocsc()
    assert as_counts(shuffled) == as_counts(csc) == as_counts(dense)


@settings(deadline=None)
@given(integers(), st.data())
def test_rows_and_columns_agree_with_numpy(dense, data):
    rows = data.draw(st.lists(st.integers(0, dense.shape[0] - 1), max_size=10))
    columns = data.draw(st.lists(st.integers(0, dense.shape[1] - 1), max_size=10))
    counts = as_counts(dense)
    assert counts.rows(rows) == as_counts(dense[np.array(rows, dtype=int)])
    assert counts.columns(columns) == as_counts(dense[:, np.array(columns, dtype=int)])
