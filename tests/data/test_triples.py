"""`Counts.from_triples`: long tables."""

import logging

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cormorant.data import Counts, DataError

TABLE = pd.DataFrame({"user": ["v", "u", "u"], "film": ["b", "a", "b"], "n": [3, 1, 2]}, index=[7, 7, 9])


def test_labels_are_sorted_and_become_names():
    counts = Counts.from_triples(TABLE, row="user", column="film", count="n")
    assert counts.tocsr().toarray().tolist() == [[1, 2], [0, 3]]
    assert counts.row_names.tolist() == ["u", "v"]
    assert counts.column_names.tolist() == ["a", "b"]


def test_each_line_counts_one(caplog):
    table = {"user": [10, 9, 9, 9], "film": ["b", "a", "a", "b"]}
    with caplog.at_level(logging.INFO, "cormorant.data"):
        counts = Counts.from_triples(table, row="user", column="film")
    assert counts.tocsr().toarray().tolist() == [[2, 1], [0, 1]]
    assert counts.row_names.tolist() == ["9", "10"]
    assert [record.levelname for record in caplog.records] == ["INFO"]


def test_duplicates_are_summed_and_said(caplog):
    table = pd.concat([TABLE, TABLE.iloc[:2]])
    counts = Counts.from_triples(table, row="user", column="film", count="n")
    assert counts.tocsr().toarray().tolist() == [[2, 2], [0, 6]]
    assert caplog.messages == ["the table: 2 duplicated (row, column) pairs were summed into others"]
    assert caplog.records[0].levelname == "WARNING"


def test_weights_are_accepted():
    counts = Counts.from_triples({"r": [1], "c": [2], "w": [0.25]}, row="r", column="c", count="w")
    assert counts.total == 0.25


def test_given_columns_fix_the_order():
    counts = Counts.from_triples(TABLE, row="user", column="film", count="n", column_names=["b", "z", "a"])
    assert counts.tocsr().toarray().tolist() == [[2, 0, 1], [3, 0, 0]]
    assert counts.column_names.tolist() == ["b", "z", "a"]


@pytest.mark.parametrize(
    ("changes", "options", "message"),
    [
        ({}, {"row": "who"}, "no column 'who'; it has 'user', 'film', 'n'"),
        ({"n": [1, -1, 1]}, {}, "position 1 of column 'n' is -1"),
        ({"n": [1, 1, np.nan]}, {}, "position 2 of column 'n' is nan"),
        ({"n": ["1", "1", "x"]}, {}, "position 0 of column 'n' is '1'"),
        ({"user": ["u", None, "v"]}, {}, "Column 'user' has no label at position 1"),
        ({}, {"column_names": ["b"]}, "has the label 'a' at position 1, not in column_names"),
        ({}, {"column_names": ["b", "a", "b"]}, "column_names must differ, but 'b' comes twice"),
        (
            {"film": ["a", np.nan, "b"]},
            {"column_names": ["a", "b"]},
            "Column 'film' has no label at position 1",
        ),
    ],
)
def test_faults_are_named(changes, options, message):
    with pytest.raises(DataError, match=message):
        Counts.from_triples(TABLE.assign(**changes), **{"row": "user", "column": "film", "count": "n", **options})


def test_columns_must_agree_in_length():
    with pytest.raises(DataError, match="'r' and 'c' differ in length"):
        Counts.from_triples({"r": [1], "c": [1, 2]}, row="r", column="c")
    with pytest.raises(DataError, match="'n' has 1 entries, the labels 2"):
        Counts.from_triples({"r": [1, 2], "c": [1, 2], "n": [1]}, row="r", column="c", count="n")


def test_a_negative_count_cannot_hide_in_a_sum():
    with pytest.raises(DataError, match="is -1"):
        Counts.from_triples({"r": [1, 1], "c": [1, 1], "n": [2, -1]}, row="r", column="c", count="n")


triples = st.lists(st.tuples(st.integers(0, 5), st.sampled_from("abc"), st.integers(1, 9)), min_size=1)


@settings(deadline=None)
@given(triples, st.randoms())
def test_the_order_of_lines_does_not_matter(lines, random):
    shuffled = list(lines)
    random.shuffle(shuffled)
    tables = [dict(zip(("r", "c", "n"), map(list, zip(*t, strict=True)), strict=True)) for t in (lines, shuffled)]
    first, second = (Counts.from_triples(table, row="r", column="c", count="n") for table in tables)
    assert first == second
    assert first.total == sum(n for _, _, n in lines)
