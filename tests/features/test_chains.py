"""Several chains of features: matched to the first, and what they say of correlations together."""

import warnings

import numpy as np
import pytest

from cormorant.datasets.features import simulate_features
from cormorant.estimators import IBP, BetaBernoulliFeatures, TruncationWarning
from cormorant.estimators.feature_chains import matched, mean_atoms
from cormorant.explore import tables
from cormorant.measures import component_correlation

SIDE = np.array([1.0, 1.0, -1.0, -1.0])[:, None]  # features 0, 1 go together, 2, 3 too; the two pairs avoid each other


def fit(model, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return model.fit(y)


@pytest.fixture(scope="module")
def y():
    return simulate_features(n_rows=300, n_columns=16, n_components=4, locations=2.0 * SIDE, noise=0.1, seed=3).y


@pytest.fixture(scope="module")
def model(y):
    return fit(BetaBernoulliFeatures(6, 2, n_chains=2, n_sweeps=60, n_starts=2, random_state=0), y)


def cosines(model, number):
    """Of each feature of the first chain with its counterpart in another."""
    first, other = (mean_atoms(model.samples_[c]) for c in (0, number))
    return (first * other).sum(axis=0) / (np.linalg.norm(first, axis=0) * np.linalg.norm(other, axis=0))


def test_features_of_chains_are_matched(model):
    """The four that were planted are found by both chains, in one place."""
    assert (cosines(model, 1)[:4] > 0.9).all()


def test_a_chain_in_another_order_is_put_back(model):
    order = np.array([3, 1, 5, 0, 2, 4])
    mixed = [model.samples_[0], [g.reorder(order) for g in model.samples_[1]]]
    for found, known in zip(matched(mixed)[1], model.samples_[1], strict=True):
        np.testing.assert_array_equal(found.atoms, known.atoms)
        np.testing.assert_array_equal(found.locations, known.locations)


def test_intervals_hold_their_means_and_tell_planted_signs(model):
    low, high = model.correlation_interval_
    assert (low <= model.correlation_).all()
    assert (model.correlation_ <= high).all()
    np.testing.assert_allclose(model.correlation_, model.correlation_.T)
    sure = np.sign(low[:4, :4]) == np.sign(high[:4, :4])
    assert sure.all()
    signs = np.sign(model.correlation_[:4, :4])
    assert np.linalg.eigvalsh(signs).round(6).tolist() == [0.0, 0.0, 0.0, 4.0]  # two sides, whatever their order
    assert signs.sum() == 0


def test_both_chains_have_their_say(model):
    """The mean over the samples of both where both have found the features."""
    every = np.array([component_correlation(g.locations)[:4, :4] for chain in model.samples_ for g in chain])
    np.testing.assert_allclose(model.correlation_[:4, :4], every.mean(axis=0))


def test_tables_have_the_interval(model):
    pairs = tables.correlated_pairs(model, among=4)
    assert ((pairs["low"] <= pairs["correlation"]) & (pairs["correlation"] <= pairs["high"])).all()


def test_where_there_is_none(y):
    """Independent features have nothing to correlate; structured inference has points. A second fit forgets it."""
    assert not hasattr(fit(IBP(6, n_sweeps=4, n_starts=1, random_state=0), y), "correlation_interval_")
    twice = fit(BetaBernoulliFeatures(6, 2, n_sweeps=4, n_starts=1, random_state=0), y)
    assert twice.correlation_interval_.shape == (2, 6, 6)
    usual = BetaBernoulliFeatures().n_sweeps
    fit(twice.set_params(inference="structured", max_epochs=3, n_sweeps=usual), y)
    assert not hasattr(twice, "correlation_interval_")
