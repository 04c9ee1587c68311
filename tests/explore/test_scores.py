"""Scores of columns, against numbers worked out by hand."""

from types import SimpleNamespace

import numpy as np
import pytest

from cormorant.explore.scores import column_scores


@pytest.fixture
def two():
    """p(i | 0) = (.5, .5, 0), p(i | 1) = (.5, .25, .25); with shares .5 and .5, p(i) = (.5, .375, .125)."""
    return SimpleNamespace(
        components_=np.array([[2.0, 2.0, 0.0], [4.0, 2.0, 2.0]]),
        usage_=np.array([0.5, 0.5]),
    )


def test_mean(two):
    np.testing.assert_array_equal(column_scores(two), two.components_)


def test_lift(two):
    np.testing.assert_allclose(column_scores(two, "lift"), [[1, 4 / 3, 0], [1, 2 / 3, 2]])


def test_lift_counts_what_components_hold(two):
    two.usage_ = np.array([1.0, 0.0])
    np.testing.assert_allclose(column_scores(two, "lift")[0], [1, 1, 0])


def test_divergence_sums_to_kullback_leibler(two):
    found = column_scores(two, "divergence")
    np.testing.assert_allclose(found, [[0, 0.5 * np.log(4 / 3), 0], [0, 0.25 * np.log(2 / 3), 0.25 * np.log(2)]])
    assert (found.sum(axis=1) > 0).all()


def test_frex(two):
    """Component 1: frequency ranks (1, 2/3, 2/3), exclusivity (1/2, 1/3, 1) with ranks (2/3, 1/3, 1)."""
    expected = [1 / (0.5 / 1 + 0.5 / (2 / 3)), 1 / (0.5 / (2 / 3) + 0.5 / (1 / 3)), 1 / (0.5 / (2 / 3) + 0.5 / 1)]
    np.testing.assert_allclose(column_scores(two, "frex")[1], expected)


@pytest.mark.parametrize("by", ["lift", "frex", "divergence"])
def test_a_column_that_no_component_shows(two, by):
    two.components_ = np.array([[2.0, 2.0, 0.0], [4.0, 2.0, 0.0]])
    scores = column_scores(two, by)
    assert np.isfinite(scores).all()
    assert (scores[:, 2] == (1 / 3 if by == "frex" else 0.0)).all()  # the last of three columns by either rank


def test_unknown_scores_are_refused(two):
    with pytest.raises(ValueError, match="by must be one of mean, lift, frex, divergence; got 'tfidf'"):
        column_scores(two, "tfidf")
