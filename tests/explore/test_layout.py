"""Places of components in drawings."""

import numpy as np
import pytest

from cormorant.explore.layout import CLEAR, GAP, WIDE, cluster_order, line_around, place_circles, separate

NO_LABELS = np.zeros((0, 2)), np.zeros((0, 2))


def correlation(n, seed=0, dims=4):
    points = np.random.default_rng(seed).normal(size=(n, dims))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return points @ points.T


def two_groups(size=6):
    """Together within each of two groups that take turns, apart between them."""
    group = np.tile([0, 1], size)
    rho = np.where(group[:, None] == group, 0.9, -0.5)
    np.fill_diagonal(rho, 1.0)
    return group, rho


def distances(places):
    return np.linalg.norm(places[:, None] - places[None], axis=2)


def test_the_layout_repeats():
    rho, radii = correlation(30), np.full(30, 10.0)
    np.testing.assert_array_equal(place_circles(rho, radii), place_circles(rho.copy(), radii))


@pytest.mark.parametrize("n", [2, 3, 50, 200])
def test_circles_do_not_touch(n):
    radii = 5.0 + 20.0 * np.random.default_rng(n).random(n)
    apart = distances(place_circles(correlation(n), radii)) - radii[:, None] - radii[None]
    # Boxes around the circles do not overlap, so that their sides are two gaps apart; 1e-9 is what counts as none.
    assert apart[~np.eye(n, dtype=bool)].min() >= 2 * GAP - 1e-9


def test_one_circle():
    np.testing.assert_allclose(place_circles(np.ones((1, 1)), np.array([5.0])), [[0, 0]], atol=0.01)


def test_equal_components_do_not_coincide():
    places = place_circles(np.ones((5, 5)), np.full(5, 8.0))
    assert distances(places)[~np.eye(5, dtype=bool)].min() > 16


def test_groups_stay_together():
    group, rho = two_groups()
    between = distances(place_circles(rho, np.full(12, 8.0)))
    same = (group[:, None] == group) & ~np.eye(12, dtype=bool)
    assert between[same].mean() < 0.5 * between[group[:, None] != group].mean()


def test_wider_than_high():
    places = place_circles(correlation(40), np.full(40, 8.0))
    assert np.ptp(places[:, 0]) == pytest.approx(WIDE * np.ptp(places[:, 1]), rel=0.2)


def test_boxes_without_room():
    assert separate(np.zeros((3, 2)), np.full((3, 2), 10.0), np.array([15.0, 15.0])) is None


def test_clusters_are_neighbours():
    group, rho = two_groups()
    assert (np.diff(group[cluster_order(rho)]) != 0).sum() == 1  # one place where the group changes
    assert cluster_order(rho[:2, :2]).tolist() == [0, 1]


def test_lines_are_straight_where_nothing_is_in_the_way():
    ends = np.array([[0.0, 0.0], [100.0, 50.0]])
    line = line_around(ends, np.array([[50.0, 60.0]]), np.array([10.0]), *NO_LABELS)
    np.testing.assert_allclose(line[:, 1], line[:, 0] / 2)
    np.testing.assert_allclose(line_around(ends, np.zeros((0, 2)), np.zeros(0), *NO_LABELS)[[0, -1]], ends)


@pytest.mark.parametrize("side", [1.0, -1.0])
def test_lines_are_bent_around_circles(side):
    """To the side on which there is more room."""
    ends, circle = np.array([[0.0, 0.0], [200.0, 0.0]]), np.array([[90.0, 4.0 * side]])
    line = line_around(ends, circle, np.array([10.0]), *NO_LABELS)
    assert np.linalg.norm(line - circle, axis=1).min() >= 10.0 + CLEAR
    assert (side * line[1:-1, 1] < 0).all()
    np.testing.assert_allclose(line[[0, -1]], ends)


def test_lines_are_bent_around_labels():
    """Where that leads through no circle."""
    ends, label, size = np.array([[0.0, 0.0], [200.0, 0.0]]), np.array([[90.0, 4.0]]), np.array([[40.0, 16.0]])
    line = line_around(ends, np.zeros((0, 2)), np.zeros(0), label, size)
    assert not (np.abs(line - label) < size / 2).all(axis=1).any()
    assert (line[1:-1, 1] < 0).all()
    below = np.array([[90.0, -14.0]]), np.array([10.0])
    line = line_around(ends, *below, label, size)
    assert np.linalg.norm(line - below[0], axis=1).min() >= 10.0 + CLEAR


def test_a_line_with_no_way_out_takes_the_best():
    ends = np.array([[0.0, 0.0], [100.0, 0.0]])
    line = line_around(ends, np.array([[50.0, 0.0]]), np.array([40.0]), *NO_LABELS)
    assert np.abs(line[:, 1]).max() > 10.0
