"""What the page knows."""

import json

import numpy as np
import pytest

from cormorant.explore.labels import component_labels
from cormorant.explore.page import document
from cormorant.explore.page.columns import Vocabulary
from cormorant.explore.page.document import MOST_COMPONENTS, MOST_EDGES, node_radii

from .models import handmade, large, small


def test_components_in_use_are_shown():
    found = document(small())
    assert [c["number"] for c in found["components"]] == [0, 1, 2]
    assert [c["label"] for c in found["components"]] == component_labels(small())[:3]
    assert [c["share"] for c in found["components"]] == [0.5, 0.3, 0.195]
    assert found["title"] == "Components of cnpf"
    assert (found["nRows"], found["nColumns"]) == (3, 4)
    assert not found["served"]
    json.dumps(found, allow_nan=False)


@pytest.mark.parametrize(("among", "shown"), [(1, 1), (2, 2), (4, 4), (9, 4)])
def test_among_chooses_how_many(among, shown):
    assert len(document(small(), among=among)["components"]) == shown


def test_among_must_be_positive():
    with pytest.raises(ValueError, match="among must be at least 1"):
        document(small(), among=0)


def test_very_many_components_are_cut():
    n = MOST_COMPONENTS + 5
    model = handmade(np.zeros((n, 0)), np.full(n, 1 / n), np.ones((n, 2)))
    assert len(document(model)["components"]) == MOST_COMPONENTS


def test_components_that_are_not_in_order_of_use():
    model = small(usage_=np.array([0.1, 0.2, 0.3, 0.4]), n_components_used_=4)
    found = document(model)
    assert [c["number"] for c in found["components"]] == [3, 2, 1, 0]
    # The correlations follow: of 3 with 2, 1 and 0 first.
    expected = [model.correlation_[a, b] for a, b in ((3, 2), (3, 1), (3, 0), (2, 1), (2, 0), (1, 0))]
    np.testing.assert_allclose(np.array(found["correlations"]["thousandths"]) / 1000, expected, atol=5e-4)
    # The weights are sorted, and each says where its component stands.
    assert found["sticks"]["weights"] == sorted(found["sticks"]["weights"], reverse=True)
    assert [found["components"][at]["number"] for at in found["sticks"]["components"]] == [0, 1, 2, 3]


def test_names_do_not_turn_the_writing():
    """U+202E turns around what stands after it: the other names of a label too."""
    names = np.array(["a\u202eb", "c", "d", "e"], dtype=object)
    found = document(small(column_names_=names, row_names_=names[:3]))
    assert "ab" in found["columns"]["names"]
    assert "202e" not in json.dumps(found)


def test_sticks_have_those_that_are_not_in_use():
    sticks = document(small())["sticks"]
    assert sticks == {"weights": [1.0, 0.6, 0.39, 0.01], "components": [0, 1, 2, -1], "inUse": 3}


def test_strongest_pairs_and_threshold():
    found = document(small())["correlations"]
    # rho_01 = 0.6, rho_02 = -0.995, rho_12 = -0.517: one pair of three goes together.
    assert found["pairs"] == {"positive": [[0, 1]], "negative": [[0, 2], [1, 2]]}
    assert found["threshold"] == pytest.approx(0.5)  # the largest step that all three pairs reach
    assert sorted(found["order"]) == [0, 1, 2]
    assert abs(found["order"].index(0) - found["order"].index(1)) == 1


def test_the_graph_draws_no_more_pairs_than_it_can():
    assert document(small())["correlations"]["lowestThreshold"] == 0.05
    found = document(large())["correlations"]
    strength = np.abs(found["thousandths"]) / 1000
    # Of 19,900 pairs; a step of the slider further down would be too many. Half a thousandth is lost by rounding.
    assert (strength >= found["lowestThreshold"] + 5e-4).sum() <= MOST_EDGES
    assert (strength >= found["lowestThreshold"] - 0.011).sum() > MOST_EDGES
    assert found["lowestThreshold"] <= found["threshold"]


def test_models_without_locations_say_so():
    found = document(small(locations_=np.zeros((4, 0))))
    assert found["correlations"] is None
    assert "has no correlations" in found["independent"]
    assert len(found["components"]) == 3


def test_one_component_has_no_pairs():
    found = document(small(), among=1)
    assert found["correlations"] is None
    assert "one component" in found["independent"]


def test_two_components():
    found = document(small(), among=2)
    assert found["correlations"]["thousandths"] == [600]
    assert found["correlations"]["threshold"] == pytest.approx(0.6)
    assert found["independent"] is None


def test_frequent_and_distinctive_columns():
    # Column 0 is everywhere, column 1 only in component 0: the larger is not the more distinctive.
    model = handmade(np.zeros((2, 0)), [0.5, 0.5], [[0.5, 0.4, 0.1], [0.8, 0.0, 0.2]])
    vocabulary = Vocabulary(model, np.arange(2))
    np.testing.assert_allclose(vocabulary.overall, [0.65, 0.2, 0.15])
    frequent, distinctive = vocabulary.lists(0, 3)
    assert [entry[0] for entry in frequent] == [0, 1, 2]
    assert [entry[0] for entry in distinctive] == [1, 2, 0]
    assert frequent[1] == [1, 0.4, 1.0]  # all of column 1 is here
    assert frequent[0][2] == pytest.approx(0.5 * 0.5 / 0.65, rel=1e-3)
    # Columns that a component does not have are not listed.
    assert [entry[0] for entry in vocabulary.lists(1, 3)[0]] == [0, 2]


def test_search_knows_where_a_column_belongs():
    model = small()
    columns = document(model)["columns"]
    assert columns["ids"] == [0, 1, 2, 3]
    assert columns["names"] == list(model.column_names_)
    # p_ki is 0.6 on the diagonal; component 0 holds most of the last column, which all shown ones share.
    assert [home[0] for home in columns["homes"]] == [0, 1, 2, 0]
    assert columns["homes"][0][1] == pytest.approx(0.6)
    overall = 0.5 * 0.6 + 0.3 * 0.1 + 0.195 * 0.1 + 0.005 * 0.1
    assert columns["homes"][0][2] == pytest.approx(0.3 / overall, rel=1e-3)


def test_search_index_has_a_limit(monkeypatch):
    monkeypatch.setattr("cormorant.explore.page.columns.INDEX_BYTES", 20_000)
    model = large(n_components=5)
    columns = document(model)["columns"]
    assert len(json.dumps(columns["names"])) < 20_000
    assert len(columns["ids"]) < 500
    listed = {entry[0] for c in document(model)["components"] for entry in c["columns"] + c["distinctive"]}
    assert listed <= set(columns["ids"])  # what a list shows has its name, whatever the limit


def test_long_names_are_cut():
    model = small(column_names_=np.array(["x" * 10_000] * 4, dtype=object))
    names = document(model)["columns"]["names"]
    assert {len(name) for name in names} == {80}


def test_names_that_are_missing_are_numbers():
    found = document(small(column_names_=None, row_names_=None))
    assert found["columns"]["names"] == ["0", "1", "2", "3"]
    assert found["components"][2]["rows"][0][:2] == [2, "row 2"]


def test_representative_rows():
    found = document(small())["components"]
    # Every component holds ten counts a unit, so shares are those of the weights: 8 counts of 10 beat 2 of 2.
    assert found[0]["rows"][:2] == [[1, "second", 0.8], [0, "first", 1.0]]
    assert found[2]["rows"][0] == [2, "<img src=x onerror=alert(2)>", 0.9]


def test_without_kept_rows():
    found = document(small(_row_weights=None))
    assert found["nRows"] is None
    assert all(c["rows"] == [] for c in found["components"])


def test_areas_compare_shares():
    radii = node_radii(np.array([0.4, 0.1, 0.0]))
    assert radii[0] == 2 * radii[1]
    assert radii[2] > 0
