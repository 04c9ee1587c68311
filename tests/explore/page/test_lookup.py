"""Rows by name or number, and what they are made of."""

from copy import copy

import numpy as np
import pytest

from cormorant import Counts
from cormorant.explore.page.lookup import MOST_FOUND, RowLookup

from .models import large, small


def test_find_by_number_and_name():
    lookup = RowLookup(small())
    assert lookup.find("1") == {"rows": [{"row": 1, "name": "second"}], "total": 1}
    assert [hit["row"] for hit in lookup.find(" SECond ")["rows"]] == [1]
    assert [hit["row"] for hit in lookup.find("i")["rows"]] == [0, 2]  # f-i-rst, <i-mg
    assert lookup.find("") == {"rows": [], "total": 0}
    assert lookup.find("3")["rows"] == []
    assert lookup.find("9" * 5000)["rows"] == []


def test_a_number_comes_before_names_that_hold_it():
    lookup = RowLookup(small(row_names_=np.array(["1", "2", "1 and 2"])))
    assert [hit["row"] for hit in lookup.find("1")["rows"]] == [1, 0, 2]


def test_find_says_how_many_there_are():
    found = RowLookup(large(n_components=3)).find("row")
    assert len(found["rows"]) == MOST_FOUND
    assert found["total"] == 1000


def test_profile_from_kept_weights():
    profile = RowLookup(small()).profile(2)
    assert profile["name"].startswith("<img")
    assert [(c["component"], c["share"]) for c in profile["components"]] == [(2, 0.9), (1, 0.1)]
    assert "next" not in profile


def test_profile_from_counts(fitted, counts):
    lookup = RowLookup(fitted, counts)
    profile = lookup.profile(3)
    assert profile["name"] == "row-3"
    row = counts.rows([3])
    weights = fitted.transform(row)[0]
    assert profile["components"][0]["weight"] == pytest.approx(weights.max(), rel=1e-3)
    assert sum(c["share"] for c in profile["components"]) == pytest.approx(1, abs=1e-3)
    assert profile["shows"][0]["count"] == row.data.max()
    shown = {entry["name"] for entry in profile["shows"]}
    following = fitted.top_columns(row, 12)
    assert [entry["name"] for entry in profile["next"]] == following["column"].tolist()
    assert not shown & {entry["name"] for entry in profile["next"]}


def test_rows_of_the_fit_are_recognised(fitted, counts):
    np.testing.assert_array_equal(RowLookup(fitted).places, np.arange(30))
    np.testing.assert_array_equal(RowLookup(fitted, counts).places, np.arange(30))
    assert RowLookup(fitted, counts.rows(slice(0, 10))).places is None


def test_rows_of_the_fit_are_found_by_name(fitted, counts):
    backwards = counts.rows(np.arange(30)[::-1])
    np.testing.assert_array_equal(RowLookup(fitted, backwards).places, np.arange(30)[::-1])
    others = counts.rows((np.arange(30) + 15) % 30).named(row_names=counts.row_names)
    assert RowLookup(fitted, others).places is None  # the names, but not the counts
    twice = backwards.named(row_names=["row-0", *backwards.row_names[1:]])
    assert RowLookup(fitted, twice).places is None


def test_rows_of_the_fit_among_those_held_out(fitted, counts):
    """All rows are given; the fit saw some of them, without names in their order or called by their numbers."""
    new = np.array([4, 20])  # where rows stand that the fit did not see
    everything = Counts.from_csr(counts.rows(np.insert(np.arange(30), new - np.arange(2), 0)).tocsr())
    rest = np.setdiff1d(np.arange(32), new)
    nameless, numbered = copy(fitted), copy(fitted)
    nameless.row_names_, nameless.held_out_rows_ = None, new
    np.testing.assert_array_equal(RowLookup(nameless, everything).places, rest)
    order = np.random.default_rng(0).permutation(30)
    numbered._row_weights, numbered.row_names_ = fitted._row_weights[order], rest[order].astype(str)
    np.testing.assert_array_equal(RowLookup(numbered, everything).places, rest[order])


def test_counts_must_have_the_columns_of_the_fit(fitted, counts):
    with pytest.raises(ValueError, match="must have the 10 columns of the fit, in their order; it has only 3 of them"):
        RowLookup(fitted, counts.columns([0, 1, 2]))


def test_a_model_without_rows():
    lookup = RowLookup(small(_row_weights=None, row_names_=None))
    assert lookup.n_rows == 0
    assert lookup.find("0") == {"rows": [], "total": 0}
