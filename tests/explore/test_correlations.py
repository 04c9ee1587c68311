"""Correlated pairs, and the correlation of weights against closed form and simulation."""

from types import SimpleNamespace

import numpy as np
import pytest

from cormorant.explore import tables
from cormorant.explore.correlations import weight_correlation

from .handmade import handmade


def test_pairs_of_heavily_used_components(model):
    """Component 3 holds next to nothing, so its correlation of one with component 2 is not shown."""
    table = tables.correlated_pairs(model, n_columns=1)
    assert "low" not in table.columns
    assert table["sign"].tolist() == ["positive", "negative", "negative"]
    assert table[["component", "other"]].to_numpy().tolist() == [[1, 0], [0, 2], [1, 2]]
    length = np.hypot(1, 0.1)
    np.testing.assert_allclose(table["correlation"], [0.6, -1 / length, (-3 + 0.4) / (5 * length)])
    assert table["top_columns"][0] == ["bird"]
    assert table["other_columns"][0] == ["apple"]


def test_pairs_among_so_many(model):
    assert len(tables.correlated_pairs(model, among=2)) == 1
    everything = tables.correlated_pairs(model, among=4)
    assert len(everything) == 6
    assert everything["correlation"][0] == pytest.approx(1.0)


def test_the_strongest_of_each_sign(model):
    table = tables.correlated_pairs(model, n=1)
    assert table[["component", "other"]].to_numpy().tolist() == [[1, 0], [0, 2]]


def test_intervals_where_the_inference_gives_them(model):
    model.correlation_interval_ = np.stack([model.correlation_ - 0.1, model.correlation_ + 0.2])
    for table in (tables.correlated_pairs(model), tables.correlations(model)):
        np.testing.assert_allclose(table["low"], table["correlation"] - 0.1)
        np.testing.assert_allclose(table["high"], table["correlation"] + 0.2)


def test_correlations_of_all_pairs(model):
    table = tables.correlations(model, among=4)
    assert len(table) == 6
    assert table["correlation"].is_monotonic_decreasing
    implied = weight_correlation(model)
    for line in table.to_dict("records"):
        k, m = line["component"], line["other"]
        assert line["correlation"] == model.correlation_[k, m]
        assert line["weight_correlation"] == implied[k, m]


def test_weights_of_the_exp_link(model):
    """(exp(l_k . l_m) - 1) / (s_k s_m) with s_k^2 = (1 + 1 / w_k) exp(|l_k|^2) - 1."""
    K, w = model.locations_ @ model.locations_.T, model.weights_
    s = np.sqrt((1 + 1 / w) * np.exp(np.diag(K)) - 1)
    expected = np.expm1(K) / np.outer(s, s)
    np.fill_diagonal(expected, 1)
    np.testing.assert_allclose(weight_correlation(model), expected, rtol=1e-10)


def test_weights_of_the_softplus_link():
    """Against draws of x; the standard error of a correlation of 400,000 draws is at most .0016, five of them .008."""
    locations, w = np.array([[1.0, 0.2], [0.8, -0.5], [-0.9, 0.1]]), np.array([2.0, 1.0, 3.0])
    link = SimpleNamespace(name="softplus-cnpf", link="softplus")
    found = weight_correlation(handmade(locations, [0.5, 0.3, 0.2], weights_=w, model=link))
    rng = np.random.default_rng(3)
    F = rng.standard_normal((400_000, 2)) @ locations.T
    drawn = np.corrcoef(rng.gamma(w, np.logaddexp(0, F)), rowvar=False)
    np.testing.assert_allclose(found, drawn, atol=0.008)


def test_weights_of_a_fit(fitted):
    found = weight_correlation(fitted)
    assert found.shape == (4, 4)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_array_equal(np.sign(found[off]), np.sign(fitted.correlation_[off]))


@pytest.mark.parametrize("table", [tables.correlated_pairs, tables.correlations, weight_correlation])
def test_uncorrelated_models_have_none(uncorrelated, table):
    with pytest.raises(ValueError, match="no correlations"):
        table(uncorrelated)
