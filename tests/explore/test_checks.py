"""Predictive checks: summaries against brute force, middling tails for good models, extreme ones for bad data."""

import numpy as np
import pytest
from scipy import sparse

from cormorant.data import as_counts
from cormorant.estimators import HGP
from cormorant.explore.checks import STATISTICS, predictive_check, summarise, top_pairs


def test_summary_of_blocks():
    y = np.random.default_rng(0).poisson(1.0, (30, 4)) * np.array([1, 1, 1, 0])
    pairs = np.array([[0, 1], [1, 3]])
    blocks = (sparse.csr_matrix(part) for part in (y[:7], y[7:20], y[20:]))
    found = summarise(blocks, pairs)
    np.testing.assert_array_equal(found.row_totals, y.sum(axis=1))
    np.testing.assert_array_equal(found.column_totals, y.sum(axis=0))
    np.testing.assert_allclose(found.dispersion[:3], y[:, :3].var(axis=0) / y[:, :3].mean(axis=0))
    assert found.dispersion[3] == 1.0
    assert found.zeros == pytest.approx((y == 0).mean())
    np.testing.assert_allclose(found.together, [((y[:, 0] > 0) & (y[:, 1] > 0)).mean(), 0.0])
    shown = np.array([0, 1, 2])
    assert len(found.statistics(shown)) == len(STATISTICS)


def test_top_pairs_are_those_of_heavily_used_components(model):
    """Top threes: {0, 1, 2} of components 0, 1 and 2; component 3 holds next to nothing."""
    assert top_pairs(model).tolist() == [[0, 1], [0, 2], [1, 2]]
    assert top_pairs(model, 4).tolist() == [[0, 1], [0, 2], [0, 3], [1, 2], [1, 3]]


@pytest.fixture(scope="module")
def check(fitted, counts):
    return predictive_check(fitted, counts, n_replicates=40, random_state=1)


def test_data_from_the_model_pass(check):
    """The data are Poisson with three components; no statistic is far from its replicates."""
    table = check.statistics.set_index("statistic")
    assert tuple(table.index) == STATISTICS
    assert table.loc["row total, mean", "tail"] == pytest.approx(0.5, abs=0.45)
    assert ((check.columns["tail"] > 0) & (check.columns["tail"] < 1)).mean() > 0.8
    assert (table["low"] <= table["replicated"]).all()
    assert (table["replicated"] <= table["high"]).all()


def test_tables_say_what_is_observed(check, counts):
    np.testing.assert_array_equal(check.columns["observed"], counts.column_totals())
    assert check.row_totals["observed"].iloc[-1] == counts.row_totals().max()
    assert check.replicates.shape == (40, len(STATISTICS))
    line = check.statistics.set_index("statistic").loc["share of zeros"]
    assert line["observed"] == pytest.approx(1 - counts.nnz / (150 * 12))
    drawn = check.replicates["share of zeros"]
    assert line["tail"] == pytest.approx((drawn > line["observed"]).mean() + (drawn == line["observed"]).mean() / 2)
    assert "share of zeros" in str(check)
    y = counts.tocsr().toarray()
    pair = check.pairs.iloc[0]
    both = (y[:, int(pair["column"][1:])] > 0) & (y[:, int(pair["other"][1:])] > 0)
    assert pair["observed"] == pytest.approx(both.mean())


def test_bursts_are_found(fitted, counts):
    """Counts that come in fives leave zeros between them, which a Poisson of the same mean does not.

    Observed 47% of zeros against 24 +- 0.9% replicated (42 against 69 +- 1.2% of pairs that meet): more than twenty
    standard deviations, so that no replicate comes as far. The dispersion would not do here: nearly all of it (41) is
    between rows, which the rows' posteriors follow, and bursts add about four to replicates that scatter by two.
    """
    bursts = as_counts(5 * counts.tocsr(), row_names=counts.row_names, column_names=counts.column_names)
    tail = predictive_check(fitted, bursts, n_replicates=20).statistics.set_index("statistic")["tail"]
    assert tail["share of zeros"] == 0.0
    assert tail["co-occurrence, mean"] == 1.0


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_bursts_show_in_the_dispersion_where_rows_are_alike():
    """One rate for all rows leaves nothing but noise: variance / mean is 5 for counts in fives, about 1 in replicates.

    The median of thirty columns scatters by about .04 between replicates. Counts that do not come in fives have a
    dispersion just below that of the replicates, which add what is not known of the rows' weights.
    """
    rng = np.random.default_rng(0)
    rate = np.tile(rng.gamma(2.0, 1.0, 30), (150, 1))
    plain, bursts = rng.poisson(rate), 5 * rng.poisson(rate / 5)
    model = HGP(n_components=2, inference="structured", max_epochs=15, random_state=0).fit(plain)
    line = predictive_check(model, bursts, n_replicates=20).statistics.set_index("statistic").loc["dispersion, median"]
    assert line["tail"] == 0.0
    assert line["observed"] > 4
    assert line["high"] < 1.5
    tail = predictive_check(model, plain, n_replicates=20).statistics.set_index("statistic")["tail"]
    assert tail["dispersion, median"] > 0.5


def test_the_seed_decides(fitted, counts):
    first, again, other = (
        predictive_check(fitted, counts, n_replicates=2, random_state=seed).replicates for seed in (0, 0, 1)
    )
    assert first.equals(again)
    assert not first.equals(other)


def test_arguments(fitted, counts):
    with pytest.raises(ValueError, match="n_replicates must be a whole number of at least 1, got 0"):
        predictive_check(fitted, counts, n_replicates=0)
    with pytest.raises(ValueError, match="X must show something"):
        predictive_check(fitted, np.zeros((3, 12)), n_replicates=2)
