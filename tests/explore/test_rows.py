"""Rows: profiles, what comes next, neighbours."""

import numpy as np
import pytest

from cormorant.explore import tables


@pytest.fixture
def with_rows(model):
    model._row_weights = np.array(
        [[8.0, 1.0, 1.0, 0.0], [4.0, 0.5, 0.5, 0.0], [0.0, 1.0, 1.0, 0.0], [0.0, 0.0, 0.0, 1.0]]
    )
    model.row_names_ = np.array(["u", "v", "w", "z"], dtype=object)
    return model


def test_profile_of_a_training_row(with_rows):
    table = tables.row_profile(with_rows, "u", n=2, n_columns=1)
    assert "std" not in table.columns
    assert table["component"].tolist() == [0, 1]
    np.testing.assert_allclose(table["share"], [0.8, 0.1])
    np.testing.assert_allclose(table["weight"], [8, 1])
    assert table["top_columns"].tolist() == [["apple"], ["bird"]]


def test_profiles_are_of_components_that_hold_something(with_rows):
    """Asking for more components than are in use was an IndexError."""
    with_rows.usage_ = np.array([0.5, 0.0, 0.5, 0.0])
    table = tables.row_profile(with_rows, "u", n=4)
    assert table["component"].tolist() == [0, 2]
    np.testing.assert_allclose(table["share"], [0.8, 0.1])


def test_profile_of_a_given_row(fitted, counts):
    table = tables.row_profile(fitted, "row 7", counts, n=4)
    mean, std = fitted.transform(counts.rows([7]), return_std=True)
    np.testing.assert_allclose(table["weight"], mean[0][table["component"]])
    np.testing.assert_allclose(table["std"], std[0][table["component"]])
    assert table["share"].sum() == pytest.approx(1.0)
    assert table["share"].is_monotonic_decreasing


def test_next_columns_of_a_training_row(with_rows):
    """p = (8 a_0 + a_1 + a_2) / 20."""
    rates = np.array([8.0, 1, 1, 0]) @ with_rows.components_
    table = tables.next_columns(with_rows, 0, n=2)
    assert table["column"].tolist() == ["apple", "bird"]
    np.testing.assert_allclose(table["probability"], rates[:2] / 20)


def test_next_columns_leave_out_what_a_given_row_shows(fitted, counts):
    row = 11
    shown = {f"c{i}" for i in counts.rows([row]).indices}
    table = tables.next_columns(fitted, row, counts, n=12)
    assert set(table["column"]) == {f"c{i}" for i in range(12)} - shown
    assert table["rank"].tolist() == list(range(1, len(table) + 1))


def test_similar_rows(with_rows):
    """v has the shares of u; w shares two components with it, z none."""
    table = tables.similar_rows(with_rows, "u")
    assert table["row"].tolist() == ["v", "w", "z"]
    np.testing.assert_allclose(table["similarity"], [1.0, 2 * np.sqrt(0.1 * 0.5), 0.0])
    assert len(tables.similar_rows(with_rows, 0, n=1)) == 1


def test_rows_like_a_new_one(fitted, counts):
    table = tables.similar_rows(fitted, 5, counts, n=3)
    assert table["row"][0] == "row 5"
    assert table["similarity"][0] == pytest.approx(1.0, abs=1e-4)  # fit and transform stop at slightly other points


@pytest.mark.parametrize(
    ("row", "message"),
    [
        (4, "row must be a number from 0 to 3 or a row's name, got 4"),
        (-1, "got -1"),
        (True, "got True"),
        (1.5, "got 1.5"),
        ("q", "row must be the name of one of the 4 rows; none is 'q'"),
    ],
)
def test_wrong_rows(with_rows, row, message):
    with pytest.raises(ValueError, match=message):
        tables.row_profile(with_rows, row)


def test_misspelt_names_and_rows_without(with_rows):
    with_rows.row_names_ = np.array(["first", "second", "third", "fourth"], dtype=object)
    with pytest.raises(ValueError, match=r"Did you mean 'second'\?"):
        tables.next_columns(with_rows, "secnd")
    with_rows.row_names_ = None
    with pytest.raises(ValueError, match="since the rows have no names; got 'u'"):
        tables.similar_rows(with_rows, "u")


def test_numbers_of_things(with_rows):
    for table in (tables.row_profile, tables.next_columns, tables.similar_rows):
        with pytest.raises(ValueError, match="n must be a whole number of at least 1, got 0"):
            table(with_rows, 0, n=0)
