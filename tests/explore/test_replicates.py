"""Replicates have the moments that the model says; both ways of drawing agree."""

import numpy as np
import pytest
from scipy import sparse

from cormorant.explore import replicates
from cormorant.explore.replicates import Replicator, gamma_draws, poisson_counts

ATOMS = np.array([[0.5, 0.0, 0.1, 1.0], [0.0, 2.0, 0.1, 0.0]])
X = np.array([[1.0, 0.5], [0.0, 2.0], [3.0, 0.0]])
DRAWS = 4000


@pytest.mark.parametrize("draw", ["_by_count", "_by_entry"])
def test_counts_are_poisson(draw):
    """Mean and variance are the rate, within five standard errors (of a variance: sqrt((r + 2 r^2) / n))."""
    rng = np.random.default_rng(0)
    tall = np.repeat(X, DRAWS, axis=0)
    y = getattr(replicates, draw)(tall, ATOMS, rng).toarray().reshape(3, DRAWS, 4)
    rate = X @ ATOMS
    assert (np.abs(y.mean(axis=1) - rate) <= 5 * np.sqrt(rate / DRAWS)).all()
    assert (np.abs(y.var(axis=1) - rate) <= 5 * np.sqrt((rate + 2 * rate**2) / DRAWS)).all()
    assert (y[:, :, 1][0] == 0).mean() == pytest.approx(np.exp(-1.0), abs=5 * 0.5 / np.sqrt(DRAWS))


def test_the_shorter_way_is_taken(monkeypatch):
    taken = []
    for name in ("_by_count", "_by_entry"):
        monkeypatch.setattr(replicates, name, lambda x, a, rng, name=name: taken.append(name))
    rng = np.random.default_rng(0)
    poisson_counts(X, ATOMS, rng)
    poisson_counts(100 * X, ATOMS, rng)  # more counts than entries
    monkeypatch.setattr(replicates, "HELD", 3)
    poisson_counts(X, ATOMS, rng)  # more counts than may be held
    assert taken == ["_by_count", "_by_entry", "_by_entry"]


def test_drawing_by_entry_in_small_pieces(monkeypatch):
    monkeypatch.setattr(replicates, "HELD", 4)
    y = replicates._by_entry(X, ATOMS, np.random.default_rng(0))
    assert sparse.issparse(y)
    assert y.shape == (3, 4)


def test_nothing_to_draw():
    y = poisson_counts(np.zeros((2, 2)), ATOMS, np.random.default_rng(0))
    assert y.shape == (2, 4)
    assert y.nnz == 0


def test_gamma_draws_have_the_moments_asked_for():
    n = 200_000
    mean, variance = np.full(n, 2.0), np.full(n, 0.5)
    drawn = gamma_draws(mean, variance, np.random.default_rng(0))
    assert drawn.mean() == pytest.approx(2.0, abs=5 * np.sqrt(0.5 / n))
    # Var of the sample variance is about (kurtosis - 1) var^2 / n, with kurtosis 3 + 6 / shape = 3.75.
    assert drawn.var() == pytest.approx(0.5, abs=5 * 0.5 * np.sqrt(2.75 / n))
    np.testing.assert_allclose(gamma_draws(mean[:3], np.zeros(3), np.random.default_rng(0)), 2.0, rtol=1e-4)


def test_expected_counts_of_a_fit(fitted, counts, monkeypatch):
    """Column totals of 400 replicates average to sum_u E x_u . E a, within five of their standard errors."""
    monkeypatch.setattr(replicates, "BLOCK", 64)  # three blocks
    source, rng = Replicator.of(fitted, counts), np.random.default_rng(0)
    totals = np.array([sum(block.sum(axis=0) for block in source.blocks(rng)).A1 for _ in range(400)])
    expected = fitted.transform(counts).sum(axis=0) @ fitted.components_
    assert (np.abs(totals.mean(axis=0) - expected) < 5 * totals.std(axis=0) / 20).all()


def test_exposure_scales_counts(fitted, counts):
    """With exposures E x is per unit, and the counts follow the exposure again."""
    exposure = np.where(np.arange(150) < 75, 1.0, 10.0)
    source = Replicator.of(fitted, counts, exposure)
    block = next(source.blocks(np.random.default_rng(0)))
    # Five standard deviations: the counts are Poisson, and so, about, is what the posteriors know of the rates.
    assert abs(block.sum() - counts.total) < 5 * np.sqrt(2 * counts.total)
    late = np.arange(150) >= 75
    assert abs(block[late].sum() - counts.row_totals()[late].sum()) < 5 * np.sqrt(2 * counts.total)
