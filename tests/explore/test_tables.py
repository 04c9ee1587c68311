"""Tables of models whose every number is known."""

import numpy as np
import pytest

from cormorant.explore import tables
from cormorant.explore.fitted import heavily_used


def test_components_come_by_use(model):
    table = tables.components(model, n=2)
    assert list(table.columns) == ["component", "share", "weight", "top_columns"]
    assert table["component"].tolist() == [1, 0, 2, 3]
    assert table["share"].tolist() == [0.5, 0.3, 0.19995, 0.00005]
    np.testing.assert_allclose(table["weight"], model.weights_[[1, 0, 2, 3]])
    assert table["top_columns"].tolist() == [
        ["bird", "apple"],
        ["apple", "bird"],
        ["cat", "apple"],
        ["$dog$", "apple"],
    ]


def test_columns_without_names_are_numbered(model):
    model.column_names_ = None
    assert tables.components(model, n=2)["top_columns"][0] == ["1", "0"]


def test_more_columns_than_there_are(model):
    assert len(tables.components(model, n=99)["top_columns"][0]) == 4


def test_pairs_of_heavily_used_components(model):
    """Component 3 holds next to nothing, so its correlation of one with component 2 is not shown."""
    table = tables.correlated_pairs(model, n_columns=1)
    assert table["sign"].tolist() == ["positive", "negative", "negative"]
    assert table[["component", "other"]].to_numpy().tolist() == [[1, 0], [0, 2], [1, 2]]
    length = np.hypot(1, 0.1)
    np.testing.assert_allclose(table["correlation"], [0.6, -1 / length, (-3 + 0.4) / (5 * length)])
    assert table["top_columns"][0] == ["bird"]
    assert table["other_columns"][0] == ["apple"]


def test_pairs_among_so_many(model):
    assert len(tables.correlated_pairs(model, among=2)) == 1
    everything = tables.correlated_pairs(model, among=4)
    assert len(everything) == 6
    assert everything["correlation"][0] == pytest.approx(1.0)


def test_the_strongest_of_each_sign(model):
    table = tables.correlated_pairs(model, n=1)
    assert table[["component", "other"]].to_numpy().tolist() == [[1, 0], [0, 2]]


def test_heavily_used(model):
    assert heavily_used(model).tolist() == [1, 0, 2]
    assert heavily_used(model, 99).tolist() == [1, 0, 2, 3]
    with pytest.raises(ValueError, match="at least 2"):
        heavily_used(model, 1)


def test_uncorrelated_models_have_no_pairs(uncorrelated):
    with pytest.raises(ValueError, match="no correlations"):
        tables.correlated_pairs(uncorrelated)
