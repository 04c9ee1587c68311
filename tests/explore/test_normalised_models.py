"""Exploring a model whose weights are proportions: totals are given, atoms sum to one."""

import numpy as np
import pytest

from cormorant.datasets import simulate
from cormorant.estimators import DILN, HDP
from cormorant.explore import tables
from cormorant.explore.correlations import weight_correlation
from cormorant.explore.export import to_arviz
from cormorant.explore.replicates import Replicator, multinomial_counts

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


@pytest.fixture(scope="module")
def counts():
    return simulate("diln", 120, 25, 3, 2, row_total=40.0, seed=2).counts


@pytest.fixture(scope="module")
def diln(counts):
    return DILN(4, 2, n_sweeps=12, n_samples=3, random_state=0, validation=0).fit(counts)


def test_replicates_have_the_totals_of_the_rows(diln, counts):
    blocks = list(Replicator.of(diln, counts).blocks(np.random.default_rng(0)))
    assert np.array_equal(np.concatenate([np.asarray(b.sum(axis=1)).ravel() for b in blocks]), counts.row_totals())


def test_replicated_columns_follow_their_probabilities():
    """Within five standard errors of a multinomial's means."""
    atoms = np.array([[0.5, 0.2, 0.3], [0.0, 0.9, 0.1]])
    pi, n = np.array([0.3, 0.7]), 4000
    y = multinomial_counts(np.tile(pi, (n, 1)), atoms, np.full(n, 6), np.random.default_rng(1)).toarray()
    p = pi @ atoms
    assert np.all(np.abs(y.mean(axis=0) - 6 * p) < 5 * np.sqrt(6 * p * (1 - p) / n))


def test_correlation_of_weights_sees_beta(diln):
    """Corr(x_k, x_m) = (exp(l_k . l_m) - 1) / (s_k s_m), s_k^2 = (1 + 1 / (beta w_k)) exp(|l_k|^2) - 1."""
    gram, shape = diln.locations_ @ diln.locations_.T, diln.beta_ * diln.weights_
    spread = np.sqrt((1 + 1 / shape) * np.exp(np.diag(gram)) - 1)
    expected = np.expm1(gram) / np.outer(spread, spread)
    off = ~np.eye(4, dtype=bool)
    np.testing.assert_allclose(weight_correlation(diln)[off], expected[off], rtol=1e-8, atol=1e-12)


def test_tables_are_made(diln, counts):
    assert len(tables.components(diln, n=3)) == 4
    assert len(tables.correlated_pairs(diln, n=1)) >= 1
    hdp = HDP(4, inference="structured", random_state=0).fit(counts)
    with pytest.raises(ValueError, match="Fit cnpf, softplus-cnpf or diln"):
        tables.correlated_pairs(hdp)


@pytest.mark.parametrize("inference", ["structured", "gibbs"])
def test_posterior_draws_are_on_the_simplex(counts, inference):
    pytest.importorskip("arviz")
    model = DILN(4, 2, inference=inference, n_sweeps=9, n_samples=3, random_state=0, validation=0).fit(counts)
    posterior = to_arviz(model, counts.rows(slice(0, 10)), n_columns=25)["posterior"]
    np.testing.assert_allclose(np.asarray(posterior["a"]).sum(axis=-1), 1.0)  # all 25 columns are asked for
    np.testing.assert_allclose(np.asarray(posterior["x"]).sum(axis=-1), 1.0)
    if inference == "gibbs":
        np.testing.assert_allclose(np.asarray(posterior["w"]).sum(axis=-1), 1.0)
        assert np.all(np.asarray(posterior["beta"]) > 0)
