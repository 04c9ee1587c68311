"""Tables of components of models whose every number is known."""

import numpy as np
import pytest

from cormorant.explore import tables
from cormorant.explore.fitted import heavily_used


@pytest.fixture
def with_rows(model):
    """Three rows; the totals A_k of the atoms are 2 each."""
    model._row_weights = np.array([[8.0, 1.0, 1.0, 0.0], [0.0, 3.0, 1.0, 0.0], [1.0, 1.0, 0.0, 0.0]])
    model.row_names_ = np.array(["u", "v", "w"], dtype=object)
    return model


def test_components_come_by_use(model):
    table = tables.components(model, n=2)
    assert list(table.columns) == ["component", "label", "share", "weight", "top_columns"]
    assert table["component"].tolist() == [1, 0, 2, 3]
    assert table["share"].tolist() == [0.5, 0.3, 0.19995, 0.00005]
    assert table["label"].is_unique
    np.testing.assert_allclose(table["weight"], model.weights_[[1, 0, 2, 3]])
    assert table["top_columns"].tolist() == [
        ["bird", "apple"],
        ["apple", "bird"],
        ["cat", "apple"],
        ["$dog$", "apple"],
    ]


def test_top_columns_by_lift(model):
    """Column 3 is rarest, since the component that shows it holds next to nothing."""
    assert tables.components(model, n=1, by="lift")["top_columns"].tolist() == [["bird"], ["apple"], ["cat"], ["$dog$"]]
    with pytest.raises(ValueError, match="by must be one of"):
        tables.components(model, by="weight")


def test_columns_without_names_are_numbered(model):
    model.column_names_ = None
    assert tables.components(model, n=2)["top_columns"][0] == ["1", "0"]


def test_more_columns_than_there_are(model):
    assert len(tables.components(model, n=99)["top_columns"][0]) == 4


def test_component_columns(model):
    table = tables.component_columns(model, n=2, among=2)
    assert table["component"].tolist() == [1, 1, 0, 0]
    assert table["rank"].tolist() == [1, 2, 1, 2]
    assert table["column"].tolist() == ["bird", "apple", "apple", "bird"]
    np.testing.assert_allclose(table["mean"], [1.3, 0.4, 1.4, 0.3])
    np.testing.assert_allclose(table["probability"], table["mean"] / 2.0)
    apple = 0.3 * 0.7 + 0.7 * 0.2  # its probability in the data at large
    np.testing.assert_allclose(table["lift"][[1, 2]], [0.2 / apple, 0.7 / apple])
    assert table["frex"][0] == 1.0  # the most frequent and the most exclusive column
    assert len(tables.component_columns(model, n=3)) == 12


def test_prevalence(with_rows):
    table = tables.prevalence(with_rows, present=0.5).set_index("component")
    np.testing.assert_allclose(table.loc[[0, 1, 2, 3], "mean_share"], [1.3 / 3, 1.35 / 3, 0.35 / 3, 0])
    np.testing.assert_allclose(table.loc[[0, 1, 2, 3], "rows"], [2 / 3, 2 / 3, 0, 0])
    np.testing.assert_array_equal(table["share"], with_rows.usage_[table.index])
    with pytest.raises(ValueError, match=r"present must be a share in \(0, 1\], got 0"):
        tables.prevalence(with_rows, present=0)


def test_shares_of_rows_count_how_much_an_atom_shows(with_rows):
    """A weight of a component with larger atoms makes more counts."""
    with_rows.components_[0] *= 3
    table = tables.prevalence(with_rows).set_index("component")
    np.testing.assert_allclose(table.loc[0, "mean_share"], (24 / 26 + 0 + 3 / 4) / 3)


def test_representative_rows(with_rows):
    table = tables.representative_rows(with_rows, n=2, among=2)
    assert table["component"].tolist() == [1, 1, 0, 0]
    assert table["row"].tolist() == ["v", "w", "u", "w"]
    np.testing.assert_allclose(table["share"], [0.75, 0.5, 0.8, 0.5])
    np.testing.assert_allclose(table["weight"], [3, 1, 8, 1])


def test_rows_can_be_given(fitted, counts):
    own = tables.representative_rows(fitted, n=2)
    given = tables.representative_rows(fitted, counts, n=2)
    assert own["row"].tolist() == given["row"].tolist()
    some = tables.representative_rows(fitted, counts.rows([3, 4]), n=1)
    assert set(some["row"]) <= {"row 3", "row 4"}
    assert tables.prevalence(fitted, counts)["mean_share"].sum() == pytest.approx(1.0)


def test_models_without_rows_say_so(model):
    model._row_weights = None
    with pytest.raises(ValueError, match=r"X must be given: .* partial_fit"):
        tables.prevalence(model)


def test_heavily_used(model):
    assert heavily_used(model).tolist() == [1, 0, 2]
    assert heavily_used(model, 99).tolist() == [1, 0, 2, 3]
    with pytest.raises(ValueError, match="at least 2 components, since pairs are looked at; got 1"):
        heavily_used(model, 1)
    with pytest.raises(ValueError, match="at least 1 component; got 0"):
        heavily_used(model, 0, least=1)
