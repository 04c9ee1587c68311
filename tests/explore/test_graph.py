"""The correlation graph and where its nodes are drawn."""

import numpy as np
import pytest

from cormorant.explore.graph import correlation_graph
from cormorant.explore.layout import fit_into, overlaps, separate, stress_layout


def test_nodes_and_edges(model):
    graph = correlation_graph(model, n_columns=2)
    assert list(graph.nodes) == [1, 0, 2]
    assert graph.nodes[1]["share"] == 0.5
    assert graph.nodes[1]["weight"] == pytest.approx(0.7)
    assert graph.nodes[1]["columns"] == "bird; apple"
    assert graph.nodes[1]["label"].startswith("bird")
    assert {frozenset(edge) for edge in graph.edges} == {frozenset({0, 1}), frozenset({0, 2}), frozenset({1, 2})}
    rho = -1 / np.hypot(1, 0.1)
    assert graph.edges[0, 2] == pytest.approx({"weight": -rho, "sign": "negative", "correlation": rho})
    assert graph.edges[0, 1]["sign"] == "positive"


def test_weak_correlations_are_no_edges(model):
    assert set(correlation_graph(model, least=0.7).edges) == {(0, 2)}
    assert correlation_graph(model, least=0.9999).number_of_edges() == 0
    assert correlation_graph(model, among=4, least=0.0).number_of_edges() == 6


def test_intervals_are_on_edges(model):
    model.correlation_interval_ = np.stack([model.correlation_ - 0.1, model.correlation_ + 0.1])
    assert correlation_graph(model).edges[0, 1]["low"] == pytest.approx(0.5)


def test_arguments(model, uncorrelated):
    with pytest.raises(ValueError, match=r"least must be a correlation in \[0, 1\], got 2"):
        correlation_graph(model, least=2)
    with pytest.raises(ValueError, match="no correlations"):
        correlation_graph(uncorrelated)


def test_layout_finds_what_fits_a_plane():
    """Distances of points in the plane are met; rounding of 300 sweeps aside."""
    z = np.random.default_rng(0).standard_normal((8, 2))
    distance = np.linalg.norm(z[:, None] - z, axis=2)
    found = stress_layout(distance)
    np.testing.assert_allclose(np.linalg.norm(found[:, None] - found, axis=2), distance, atol=1e-3)
    np.testing.assert_array_equal(found, stress_layout(distance))


def test_layout_of_few():
    assert stress_layout(np.zeros((1, 1))).shape == (1, 2)
    found = stress_layout(np.array([[0.0, 2.0], [2.0, 0.0]]))
    assert np.linalg.norm(found[0] - found[1]) == 2.0


def test_layout_of_components_that_are_alike():
    assert np.isfinite(stress_layout(np.zeros((4, 4)))).all()


def test_boxes_are_separated_and_stay_inside():
    rng = np.random.default_rng(0)
    sizes, room = rng.uniform(5, 20, (30, 2)), np.array([200.0, 150.0])
    places = separate(fit_into(rng.standard_normal((30, 2)), sizes, room), sizes, room)
    assert places is not None
    assert len(overlaps(places, sizes)[0]) == 0
    assert (places - sizes / 2 >= -1e-9).all()
    assert (places + sizes / 2 <= room + 1e-9).all()


def test_boxes_at_one_place():
    sizes, room = np.full((5, 2), 10.0), np.array([100.0, 100.0])
    places = separate(np.full((5, 2), 50.0), sizes, room)
    assert places is not None
    assert len(overlaps(places, sizes)[0]) == 0


def test_boxes_without_room():
    assert separate(np.zeros((4, 2)), np.full((4, 2), 10.0), np.array([15.0, 15.0]), sweeps=50) is None


def test_overlaps():
    places, sizes = np.array([[0.0, 0.0], [1.0, 0.5], [9.0, 0.0], [0.5, 2.4]]), np.full((4, 2), 2.0)
    first, second, depth = overlaps(places, sizes)
    assert (first.tolist(), second.tolist()) == ([0, 1], [1, 3])
    np.testing.assert_allclose(depth, [[1.0, 1.5], [1.5, 0.1]])
