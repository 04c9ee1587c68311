"""Simulated data have the moments that the model gives them."""

import numpy as np
import pytest

from cormorant.datasets import simulate
from cormorant.measures import component_correlation
from cormorant.models.cnpf import MODELS

POISSON = sorted(name for name, model in MODELS.items() if not model.normalised)
NORMALISED = sorted(set(MODELS) - set(POISSON))


@pytest.mark.parametrize("model", POISSON)
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


@pytest.mark.parametrize("model", NORMALISED)
def test_counts_follow_their_proportions(model):
    drawn = simulate(model, n_rows=2000, n_columns=30, n_components=3, row_total=40.0, seed=0)
    counts = drawn.counts.tocsr().toarray()
    assert np.allclose(drawn.atoms.sum(axis=1), 1.0)
    assert np.allclose(drawn.proportions.sum(axis=1), 1.0)
    assert (drawn.total, drawn.beta) == pytest.approx((1.0, 1.5))
    # Totals are Poisson(40), columns given the proportions too: four standard deviations.
    assert abs(counts.sum() - 40.0 * 2000) < 4 * np.sqrt(40.0 * 2000)
    expected = 40.0 * (drawn.proportions @ drawn.atoms).sum(axis=0)
    assert np.all(np.abs(counts.sum(axis=0) - expected) < 4 * np.sqrt(expected) + 4)
    ratio = drawn.x / np.exp(drawn.field)  # Gamma(beta w)
    assert np.allclose(ratio.mean(), 0.5, atol=4 * np.sqrt(0.5 / ratio.size))


def test_diln_without_locations_is_hdp():
    """The same draws, row by row."""
    none = simulate("diln", 50, 20, 3, locations=np.zeros((3, 1)), seed=5)
    assert np.all(none.field == 0)
    hdp = simulate("hdp", 50, 20, 3, locations=np.zeros((3, 0)), seed=np.random.default_rng(5))
    assert none.x.shape == hdp.x.shape
    # pi ~ Dirichlet(beta w): mean 1/3, variance (1/3) (2/3) / (beta + 1).
    many = simulate("diln", 20_000, 2, 3, locations=np.zeros((3, 1)), seed=6).proportions
    assert np.allclose(many.mean(axis=0), 1 / 3, atol=4 * np.sqrt(2 / 9 / 2.5 / 20_000))
    assert np.allclose(many.var(axis=0), 2 / 9 / 2.5, rtol=0.05)


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


def test_the_truth_of_given_weights_has_its_sticks():
    drawn = simulate("hgp", 10, 10, 4, weight=0.3)
    assert drawn.total == pytest.approx(1.2)
    assert drawn.sticks == pytest.approx([1 / 4, 1 / 3, 1 / 2, 1])
    assert np.array_equal(drawn.correlation, component_correlation(drawn.locations))
    assert drawn.alpha is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": 0}, "n_rows must be a whole number of at least 1, got 0"),
        ({"n_columns": 2.5}, "n_columns must be a whole number"),
        ({"sigma_l2": -1.0}, "sigma_l2 must be positive"),
        ({"sigma_m2": np.nan}, "sigma_m2 must be positive"),
        ({"row_total": "x"}, "row_total must be positive"),
        ({"locations": np.full((10, 2), np.nan)}, "locations must be 10 components x D, finite"),
    ],
)
def test_wrong_numbers_name_themselves(arguments, message):
    with pytest.raises(ValueError, match=message):
        simulate(**arguments)


def test_same_seed_same_data_and_wrong_arguments():
    assert simulate(seed=3, n_rows=20).counts == simulate(seed=3, n_rows=20).counts
    with pytest.raises(ValueError, match="model must be one of"):
        simulate("lda")
    with pytest.raises(ValueError, match="row_total must be positive"):
        simulate(row_total=0)
    with pytest.raises(ValueError, match="locations must be 10 components x D"):
        simulate(locations=np.ones((2, 2)))


CORNERS = 0.6 * np.array([[1.0, 1.0, 1.0], [1.0, -1.0, -1.0], [-1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]])


@pytest.mark.parametrize("seed", [3, 10])
def test_heavy_tails_whose_exponentials_are_too_large_for_numbers(seed):
    """A row may have F of thousands. Its shares are what they are; a Poisson model has it hold the counts of all."""
    options = {"row_total": 60.0, "weight": 2.0, "locations": CORNERS, "df": 1.2, "seed": seed}
    diln = simulate("diln", 600, 60, 4, **options)
    assert diln.field.max() > 709.0  # exp of more is infinite
    assert np.allclose(diln.proportions.sum(axis=1), 1.0)
    far = np.ptp(diln.field, axis=1) > 1000.0
    assert np.array_equal(diln.proportions[far].argmax(axis=1), diln.field[far].argmax(axis=1))
    totals = diln.counts.row_totals()
    assert abs(totals.sum() - 36_000) < 4 * np.sqrt(36_000)
    assert totals[far].min() > 20
    cnpf = simulate("cnpf", 600, 60, 4, **options)
    assert np.isfinite(cnpf.x).all()
    assert np.isclose((cnpf.x @ cnpf.atoms).sum(), 36_000)
