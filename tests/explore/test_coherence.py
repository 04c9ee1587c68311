"""Coherence and diversity against brute force and limits."""

import numpy as np
import pytest

from cormorant.explore.coherence import coherence, diversity

from .handmade import handmade


def one_component(n_columns=4):
    atoms = np.arange(n_columns, 0, -1.0)[np.newaxis]
    return handmade([[1.0]], [1.0], components_=atoms, column_names_=None)


def npmi(y, i, j):
    """By the definition, one pair at a time."""
    p_i, p_j, p_ij = (y[:, i] > 0).mean(), (y[:, j] > 0).mean(), ((y[:, i] > 0) & (y[:, j] > 0)).mean()
    return np.log(p_ij / (p_i * p_j)) / -np.log(p_ij)


def test_npmi_is_the_mean_over_pairs():
    y = np.random.default_rng(0).poisson(0.8, (40, 4))
    expected = np.mean([npmi(y, i, j) for i, j in ((0, 1), (0, 2), (1, 2))])
    np.testing.assert_allclose(coherence(one_component(), y, n=3)["npmi"], [expected])


@pytest.mark.parametrize(
    ("y", "expected"),
    [
        ([[1, 0], [0, 1]], -1.0),  # never together
        ([[1, 1], [0, 0]], 1.0),  # only ever together
        ([[1, 1], [2, 3]], 1.0),  # in every row
        ([[1, 1], [1, 0], [0, 1], [0, 0]], 0.0),  # independent
        ([[1, 0], [0, 0]], -1.0),  # one of them never
    ],
)
def test_limits(y, expected):
    assert coherence(one_component(2), y)["npmi"][0] == pytest.approx(expected)


def test_exclusive_columns_and_diversity():
    """Top twos: {0, 1}, {1, 2}, {2, 3}."""
    atoms = np.array([[9, 8, 0.1, 0.1], [0.1, 9, 8, 0.1], [0.1, 0.1, 9, 8]])
    model = handmade(np.eye(3), [0.5, 0.3, 0.2], components_=atoms)
    y = np.random.default_rng(1).poisson(2.0, (20, 4))
    table = coherence(model, y, n=2)
    assert table["exclusive"].tolist() == [0.5, 0.0, 0.5]
    assert coherence(model, y, n=2, among=2)["component"].tolist() == [0, 1]
    assert diversity(model, n=2) == 4 / 6
    assert diversity(model, n=2, among=1) == 1.0


def test_more_coherent_when_fitted(fitted, counts):
    """Components of a fit hang together better than the same data with every column shuffled."""
    rng = np.random.default_rng(0)
    shuffled = np.column_stack([rng.permutation(column) for column in counts.tocsr().toarray().T])
    real, broken = (coherence(fitted, y, n=3, among=3)["npmi"] for y in (counts, shuffled))
    assert (real > broken + 0.1).all()


def test_arguments(model):
    with pytest.raises(ValueError, match="n must be at least 2 columns, since pairs are looked at; got 1"):
        coherence(model, np.ones((2, 4)), n=1)
    with pytest.raises(ValueError, match="X must have the fit's 4 columns, got 3"):
        coherence(model, np.ones((2, 3)))
