"""Held-out rows and entries."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from cormorant.data import DataError, as_counts, hold_out, hold_out_rows, split_entries
from cormorant.datasets import load_nyt


def test_the_split_that_figures_are_compared_on():
    """One generator: a permutation for the rows, then one uniform an entry of the held-out rows."""
    counts = load_nyt()
    rng = np.random.default_rng(1)
    split = hold_out(counts, 1000, rng)
    observed, test = split_entries(split.held_out, 0.1, rng)

    rng = np.random.default_rng(1)
    order = rng.permutation(8447)
    held_out = counts.tocsr()[order[:1000]]
    mask = rng.random(held_out.nnz) < 0.1
    expected = held_out.copy()
    expected.data = np.where(mask, held_out.data, 0)
    assert (observed.tocsr() != expected).nnz == 0
    assert (test.tocsr() != held_out - expected).nnz == 0
    assert (split.train.tocsr() != counts.tocsr()[order[1000:]]).nnz == 0
    assert (observed.nnz, observed.total) == (11174, 14151)


def test_hold_out_keeps_every_row_once():
    counts = as_counts(np.arange(1, 21).reshape(10, 2), row_names=[f"r{i}" for i in range(10)])
    split = hold_out(counts, 3, 0)
    assert sorted([*split.train_index, *split.held_out_index]) == list(range(10))
    assert len(split.held_out) == 3
    assert split.held_out == counts.rows(split.held_out_index)
    assert split.train == counts.rows(split.train_index)


def test_seeds_and_generators():
    first, second = hold_out_rows(50, 5, 3), hold_out_rows(50, 5, np.random.default_rng(3))
    assert np.array_equal(first[0], second[0])
    assert np.array_equal(first[1], second[1])
    rng = np.random.default_rng(3)
    assert not np.array_equal(hold_out_rows(50, 5, rng)[1], hold_out_rows(50, 5, rng)[1])


@pytest.mark.parametrize("n", [0, -1, 10, 11, 2.5, 0.1, "x", True])
def test_hold_out_bounds(n):
    with pytest.raises(DataError, match=f"at least 1, that leaves a row to fit: below 10 here, got {n!r}"):
        hold_out_rows(10, n, 0)


def test_seeds_that_are_none():
    for call in (lambda rng: hold_out_rows(10, 2, rng), lambda rng: split_entries([[1]], 0.5, rng)):
        with pytest.raises(DataError, match="rng must be a seed"):
            call("x")


def test_whatever_holds_counts_can_be_split():
    dense = np.random.default_rng(0).poisson(1.0, (10, 5))
    assert hold_out(sparse.csc_matrix(dense), 3, 1).train == hold_out(as_counts(dense), 3, 1).train
    assert split_entries(dense, 0.5, 1) == split_entries(as_counts(dense), 0.5, 1)


@pytest.mark.parametrize("observed", [0, 1, -0.1, 1.5, float("nan"), "x", None])
def test_observed_is_a_fraction(observed):
    with pytest.raises(DataError, match="between 0 and 1, both excluded"):
        split_entries(as_counts([[1]]), observed, 0)


@settings(deadline=None)
@given(st.integers(0, 2**32), st.floats(0.01, 0.99))
def test_entries_go_whole_to_one_side(seed, fraction):
    dense = np.random.default_rng(seed).poisson(0.7, (6, 5))
    counts = as_counts(dense, row_names=list("abcdef"), column_names=list("vwxyz"))
    observed, test = split_entries(counts, fraction, seed)
    assert observed.shape == test.shape == counts.shape
    assert observed.row_names is test.row_names is counts.row_names
    a, b = observed.tocsr().toarray(), test.tocsr().toarray()
    assert np.array_equal(a + b, dense)
    assert not (a * b).any()


def test_the_split_of_an_entry_does_not_depend_on_storage():
    rng = np.random.default_rng(0)
    coo = sparse.coo_matrix(rng.poisson(0.5, (30, 20)))
    order = rng.permutation(coo.nnz)
    shuffled = sparse.coo_matrix((coo.data[order], (coo.row[order], coo.col[order])), shape=coo.shape)
    stored = sparse.csr_matrix(coo)
    stored.indices[: stored.indptr[1]] = stored.indices[: stored.indptr[1]][::-1]
    stored.data[: stored.indptr[1]] = stored.data[: stored.indptr[1]][::-1]
    stored.has_sorted_indices = False
    splits = [split_entries(as_counts(matrix), 0.3, 7) for matrix in (coo, shuffled, stored)]
    assert splits[0] == splits[1] == splits[2]
