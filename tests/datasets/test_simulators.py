"""Simulated data have the moments that the model gives them."""

import numpy as np
import pytest

from cormorant.datasets import simulate
from cormorant.models.cnpf import MODELS


@pytest.mark.parametrize("model", sorted(MODELS))
def test_counts_follow_their_rates(model):
    drawn = simulate(model, n_rows=2000, n_columns=30, n_components=3, row_total=40.0, seed=0)
    rates = drawn.x @ drawn.atoms
    counts = drawn.counts.tocsr().toarray()
    # Given the rates the total is Poisson: four standard deviations.
    assert abs(counts.sum() - rates.sum()) < 4 * np.sqrt(rates.sum())
    assert np.isclose(rates.sum(axis=1).mean(), 40.0)
    # Given F, x / r(F) is Gamma(w, 1): mean w.
    scale = np.exp(drawn.field) if MODELS[model].link == "exp" else np.logaddexp(0, drawn.field)
    ratio = drawn.x / scale
    assert np.allclose(ratio.mean(), 0.5, atol=4 * np.sqrt(0.5 / ratio.size))


def test_restrictions_have_no_field():
    assert np.all(simulate("hgp", 10, 10, 2).field == 0)
    scaled = simulate("scaled-hgp", 10, 10, 2)
    assert np.all(scaled.field == scaled.field[:, :1])
    assert np.any(scaled.field != 0)
    assert np.array_equal(scaled.correlation, np.eye(2))


def test_planted_locations_are_the_truth():
    locations = np.array([[1.0, 0.0], [1.0, 0.1], [-1.0, 0.0]])
    drawn = simulate("cnpf", 3000, 20, 3, locations=locations, sigma_m2=1e-12, seed=1)
    assert drawn.correlation[0, 1] > 0.99
    assert drawn.correlation[0, 2] == pytest.approx(-1.0)
    empirical = np.corrcoef(drawn.field.T)
    assert np.allclose(empirical, drawn.correlation, atol=0.02)


def test_same_seed_same_data_and_wrong_arguments():
    assert simulate(seed=3, n_rows=20).counts == simulate(seed=3, n_rows=20).counts
    with pytest.raises(ValueError, match="model must be one of"):
        simulate("lda")
    with pytest.raises(ValueError, match="row_total must be positive"):
        simulate(row_total=0)
    with pytest.raises(ValueError, match="locations must be 10 components x D"):
        simulate(locations=np.ones((2, 2)))
