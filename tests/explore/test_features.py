"""Features beside components: shares of rows, atoms that may be negative, no weights of rows."""

import numpy as np
import pytest

from cormorant.explore import export, tables
from cormorant.explore.fitted import has_features, heavily_used
from cormorant.explore.page.document import document
from cormorant.explore.scores import column_scores, probabilities
from cormorant.models.features import FEATURE_MODELS

from .handmade import handmade


@pytest.fixture
def features():
    """Three features of four columns: 0 and 1 go together, 2 avoids them; atoms of binary data have both signs."""
    atoms = np.array([[3.0, 1.0, -2.0, 0.0], [-1.0, 2.0, 2.0, -4.0], [0.5, -3.0, 0.0, 1.5]])
    found = handmade([[1, 0], [3, 4], [-1, 0.1]], [0.9, 0.6, 0.4], components_=atoms)
    found.model = FEATURE_MODELS["beta-features"]
    return found


def test_they_are_told_from_components(features, model):
    assert has_features(features)
    assert not has_features(model)


def test_what_an_atom_takes_away_does_not_count(features):
    expected = [[0.75, 0.25, 0, 0], [0, 0.5, 0.5, 0], [0.25, 0, 0, 0.75]]
    np.testing.assert_allclose(probabilities(features), expected)
    for by in ("lift", "frex", "divergence"):
        assert np.isfinite(column_scores(features, by)).all()


def test_an_atom_that_only_takes_away():
    gloomy = handmade(np.zeros((1, 0)), [0.5], components_=np.array([[-1.0, -2.0]]))
    np.testing.assert_array_equal(probabilities(gloomy), [[0.0, 0.0]])


def test_shares_of_rows_need_not_sum_to_one(features):
    """Nine tenths of 1.9 are 1.71: two features hold 1.5 of it, so all three are looked at."""
    np.testing.assert_array_equal(heavily_used(features), [0, 1, 2])
    pairs = tables.correlated_pairs(features)
    assert list(pairs["sign"]) == ["positive", "negative", "negative"]


def test_the_page_tells_what_shares_are_of(features, model):
    assert document(features)["shareOf"] == "rows"
    assert document(model)["shareOf"] == "counts"
    held = [entry[2] for component in document(features)["components"] for entry in component["columns"]]
    assert all(0 < share <= 1 for share in held)


def test_their_tables(features):
    assert "weight_correlation" not in tables.correlations(features)
    assert list(tables.components(features)["share"]) == [0.9, 0.6, 0.4]
    columns = tables.component_columns(features, 2)
    assert columns["mean"].iloc[0] == 3.0


def test_weights_of_rows_are_not_kept(features, tmp_path):
    with pytest.raises(ValueError, match="X must be given"):
        export.write_csv(features, tmp_path / "tables")
    pytest.importorskip("arviz", reason="an optional package: pip install 'cormorant[arviz]'")
    with pytest.raises(ValueError, match="has features"):
        export.to_arviz(features)


def test_independent_features(features):
    features.locations_ = np.zeros((3, 0))
    with pytest.raises(ValueError, match="Fit beta-features or gamma-features"):
        tables.correlated_pairs(features)
