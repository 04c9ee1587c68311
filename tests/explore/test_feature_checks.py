"""Predictive checks of features: summaries against brute force, masks, middling tails for good models, extreme ones."""

import warnings

import matplotlib.pyplot as plt
import numpy as np
import pytest

from cormorant.datasets.features import simulate_features
from cormorant.estimators import IBP, BetaBernoulliFeatures, TruncationWarning
from cormorant.explore import figures
from cormorant.explore.checks import STATISTICS, predictive_check
from cormorant.explore.feature_checks import replicates, summarise_table
from cormorant.models.features import LIKELIHOODS, draw_entries

PAIRS = np.array([[0, 1], [1, 3]])


def fit(y, likelihood, cls=BetaBernoulliFeatures, **parameters):
    short = {"n_components": 8, "n_starts": 1, "random_state": 0}
    if parameters.get("inference") != "structured":
        short |= {"n_sweeps": 60, "n_samples": 10}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TruncationWarning)
        return cls(likelihood=likelihood, **{**short, **parameters}).fit(y)


@pytest.fixture(scope="module")
def drawn():
    return {
        name: simulate_features("ibp", name, n_rows=150, n_columns=12, n_components=3, seed=2).y for name in LIKELIHOODS
    }


@pytest.fixture(scope="module")
def models(drawn):
    return {name: fit(y, name) for name, y in drawn.items()}


def test_summary_of_observed_entries():
    """By brute force over the entries that are there, column by column."""
    rng = np.random.default_rng(0)
    y, observed = rng.poisson(1.0, (40, 4)) * np.array([1.0, 1.0, 1.0, 0.0]), rng.random((40, 4)) < 0.8
    found = summarise_table("poisson", y, observed, PAIRS, np.arange(3))
    seen = [y[observed[:, i], i] for i in range(4)]
    np.testing.assert_allclose(found.column_totals, [part.sum() for part in seen])
    np.testing.assert_allclose(found.row_totals, [a[b].sum() for a, b in zip(y, observed, strict=True)])
    np.testing.assert_allclose(found.dispersion[:3], [part.var() / part.mean() for part in seen[:3]])
    assert found.dispersion[3] == 1.0
    both = observed[:, 0] & observed[:, 1]
    np.testing.assert_allclose(found.pairs, [((y[:, 0] > 0) & (y[:, 1] > 0))[both].mean(), 0.0])
    assert tuple(found.statistics) == STATISTICS
    assert found.statistics["share of zeros"] == pytest.approx((y[observed] == 0).mean())


def test_summary_of_real_numbers():
    rng = np.random.default_rng(1)
    y, observed = rng.normal(size=(40, 4)), rng.random((40, 4)) < 0.8
    found = summarise_table("gaussian", y, observed, PAIRS, np.arange(4))
    np.testing.assert_allclose(found.dispersion, [y[observed[:, i], i].var() for i in range(4)])
    rho = [np.corrcoef(y[observed[:, [i, j]].all(axis=1)][:, [i, j]].T)[0, 1] for i, j in PAIRS]
    np.testing.assert_allclose(found.pairs, rho)
    assert found.statistics["entry, largest"] == y[observed].max()
    assert found.statistics["correlation of a pair, mean size"] == pytest.approx(np.abs(rho).mean())


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_data_from_the_model_pass(models, drawn, likelihood):
    check = predictive_check(models[likelihood], drawn[likelihood], n_replicates=40, random_state=1)
    table = check.statistics.set_index("statistic")
    assert list(table.index) == list(check.replicates)
    assert (("share of zeros" in table.index), check.dispersion is not None) == {
        "gaussian": (False, True), "poisson": (True, True), "bernoulli": (False, False),
    }[likelihood]  # fmt: skip
    assert ((check.columns["tail"] > 0) & (check.columns["tail"] < 1)).mean() > 0.8
    assert ((table["tail"] > 0) & (table["tail"] < 1)).mean() > 0.7
    np.testing.assert_allclose(check.columns["observed"], drawn[likelihood].sum(axis=0))
    assert "row total, mean" in str(check)


def test_bursts_are_found(drawn):
    """Counts that come in fours leave more zeros than a Poisson of the same mean; no replicate comes as far."""
    y = 4.0 * np.random.default_rng(3).poisson(drawn["poisson"] / 4.0)
    tail = predictive_check(fit(y, "poisson"), y, n_replicates=20).statistics.set_index("statistic")["tail"]
    assert tail["share of zeros"] == 0.0


def test_an_outlier_is_found(models, drawn):
    """Ten standard deviations of the noise from everything that the features can say."""
    y = drawn["gaussian"].copy()
    y[3, 4] = y.max() + 10.0
    tail = predictive_check(models["gaussian"], y, n_replicates=20).statistics.set_index("statistic")["tail"]
    assert tail["entry, largest"] == 0.0
    assert 0.0 < tail["entry, smallest"] < 1.0


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_masked_entries_are_neither_looked_at_nor_compared(models, drawn, likelihood):
    y, hidden = drawn[likelihood], np.random.default_rng(4).random(drawn[likelihood].shape) < 0.3
    changed, with_nan = np.where(hidden, 1.0, y), np.where(hidden, np.nan, y)
    first, *others = (
        predictive_check(models[likelihood], X, mask=mask, n_replicates=3)
        for X, mask in ((y, hidden), (changed, hidden), (with_nan, None))
    )
    for other in others:
        assert first.statistics.equals(other.statistics)
    np.testing.assert_allclose(first.columns["observed"], np.where(hidden, 0.0, y).sum(axis=0))
    whole = predictive_check(models[likelihood], y, n_replicates=3)
    assert not first.statistics["replicated"].equals(whole.statistics["replicated"])


@pytest.mark.parametrize("likelihood", ["gaussian", "bernoulli"])
def test_structured_fits_are_replicated_from_q(drawn, likelihood):
    y = drawn[likelihood]
    model = fit(y, likelihood, IBP, inference="structured")
    check = predictive_check(model, y, n_replicates=20)
    assert ((check.columns["tail"] > 0) & (check.columns["tail"] < 1)).mean() > 0.8
    again = predictive_check(model, y, n_replicates=20)
    assert check.replicates.equals(again.replicates)


def test_replicates_are_as_many_as_wanted_and_scatter_as_the_model_says(models, drawn):
    """More and fewer than there are samples; the mean over many is that of the model."""
    model, y = models["gaussian"], drawn["gaussian"]
    table = model._table(y, None)
    assert [len(list(replicates(model, table, n, np.random.default_rng(0)))) for n in (1, 4, 25)] == [1, 4, 25]
    every = np.array(list(replicates(model, table, 200, np.random.default_rng(0))))
    np.testing.assert_allclose(every.mean(axis=0), model.predict_mean(y), atol=0.35)
    assert np.median(every.var(axis=0)) == pytest.approx(model.noise_, rel=0.3)


def test_rows_of_the_same_content_are_drawn_apart(models):
    """Two rows without an entry are at the prior, each on its own."""
    table = models["gaussian"]._table(np.full((2, 12), np.nan), None)
    every = [z for z, _ in models["gaussian"]._posterior.draws(table, 20, np.random.default_rng(0))]
    assert any((z[0] != z[1]).any() for z in every)


@pytest.mark.parametrize("likelihood", LIKELIHOODS)
def test_entries_have_their_means(likelihood):
    mean = np.full((20000, 2), [0.2, 0.7])
    y = draw_entries(likelihood, mean, 0.25, np.random.default_rng(0))
    np.testing.assert_allclose(y.mean(axis=0), [0.2, 0.7], atol=0.03)


@pytest.mark.parametrize(("likelihood", "n"), [("gaussian", 5), ("poisson", 6), ("bernoulli", 4)])
def test_figures_draw_what_there_is(models, drawn, likelihood, n):
    check = predictive_check(models[likelihood], drawn[likelihood], n_replicates=5)
    page = figures.predictive_checks(check)
    assert sum(ax.axison for ax in page.axes) == n
    titles = [ax.get_title() for ax in page.axes]
    assert ("pairs, correlation" in titles) == (likelihood == "gaussian")
    if likelihood == "bernoulli":
        with pytest.raises(ValueError, match="'dispersion' says nothing of likelihood='bernoulli'"):
            figures.predictive_check(check, "dispersion")
    plt.close("all")


def test_arguments(models, drawn, fitted, counts):
    model, y = models["poisson"], drawn["poisson"]
    with pytest.raises(ValueError, match="exposure must be left out: checks of BetaBernoulliFeatures"):
        predictive_check(model, y, exposure=np.ones(len(y)))
    with pytest.raises(ValueError, match="mask must be left out: checks of CNPF"):
        predictive_check(fitted, counts, mask=np.zeros(counts.shape))
    with pytest.raises(ValueError, match="X must show something"):
        predictive_check(model, np.zeros((3, 12)))
