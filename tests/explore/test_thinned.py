"""A thinned model explored: what its tables, figures, exports and the page say."""

from dataclasses import replace

import matplotlib as mpl

mpl.use("Agg")

import networkx
import numpy as np
import pandas as pd
import pytest

from cormorant.datasets import simulate_thinned
from cormorant.estimators import ThinnedPoissonFactorization
from cormorant.estimators.chains import pooled
from cormorant.estimators.thinned_chains import counterparts
from cormorant.explore import export, figures, tables
from cormorant.explore.checks import predictive_check
from cormorant.explore.correlations import weight_correlation
from cormorant.explore.page.document import document
from cormorant.explore.page.lookup import RowLookup
from cormorant.explore.replicates import replicator


@pytest.fixture(scope="module")
def drawn():
    return simulate_thinned(400, 60, 4, 2, row_total=60.0, seed=1)


@pytest.fixture(scope="module")
def rows(drawn):
    return {"X": drawn.counts, "covariates": drawn.covariates}


@pytest.fixture(scope="module")
def model(drawn):
    estimator = ThinnedPoissonFactorization(6, n_sweeps=40, n_samples=5, random_state=0)
    return estimator.fit(drawn.counts, covariates=drawn.covariates)


def test_components(model):
    table = tables.components(model)
    np.testing.assert_array_equal(table["component"], np.arange(len(table)))
    np.testing.assert_array_equal(table["weight"], model.weights_[: len(table)])
    assert table["share"].head(4).sum() > 0.99


def test_rows_of_the_fit_need_no_covariates(model, rows):
    """What the fit kept of its rows is what it says of them when they are given again."""
    kept, again = tables.prevalence(model), tables.prevalence(model, **rows)
    pd.testing.assert_frame_equal(kept, again)
    # A component is present in the rows whose log odds say so.
    inclusion = model.inclusion(rows["covariates"]).mean(axis=0)
    assert np.abs(kept["rows"][:4] - inclusion[:4]).max() < 0.1
    representative = tables.representative_rows(model, n=2, among=4)
    assert (representative["share"] > 0.4).all()


def test_one_row(model, rows):
    profile = tables.row_profile(model, 3, **rows)
    assert profile["share"].sum() == pytest.approx(1.0)
    assert (profile["std"] >= 0).all()
    following = tables.next_columns(model, 3, n=5, **rows)
    assert following["probability"].is_monotonic_decreasing
    assert not set(following["column"]) & set(map(str, rows["X"].rows([3]).indices))
    assert len(tables.similar_rows(model, 3, n=4)) == 4


def test_effects_are_log_odds(model):
    table = tables.covariate_effects(model, among=4)
    first = table.iloc[0]
    assert first["effect"] == model.covariate_effects_[first["component"], 0] == model.covariate_effects_[:4, 0].max()
    assert figures.covariate_effects(model, "covariate 1").get_xlabel() == "effect of covariate 1 on F"
    with pytest.raises(ValueError, match="relative must be False"):
        tables.covariate_effects(model, relative=True)


def test_pairs(model):
    table = tables.correlated_pairs(model, among=4)
    assert len(table) == 6
    np.testing.assert_array_equal(table["correlation"], model.correlation_[table["component"], table["other"]])
    assert (table["low"] <= table["high"]).all()
    assert "weight_correlation" not in tables.correlations(model)
    with pytest.raises(ValueError, match="there are no gamma weights to correlate"):
        weight_correlation(model)


def test_replicates_have_components_or_not(model, rows):
    """Replicates are like the data; with every row's own z, and not a gamma around its mean."""
    found = predictive_check(model, rows["X"], n_replicates=40, covariates=rows["covariates"])
    tails = found.statistics.set_index("statistic")["tail"]
    for name in ("row total, mean", "row total, standard deviation", "share of zeros", "co-occurrence, mean"):
        assert 0.01 < tails[name] < 0.99, name
    source = replicator(model, rows["X"], None, rows["covariates"])
    probability, g = source.samples[0]
    certain = probability[:, :4]  # the others bring less than a count to a row
    assert ((certain > 0.99) | (certain < 0.01)).mean() > 0.9
    longer = replace(source, samples=[(probability, g)], exposure=np.full(400, 3.0))
    (block,) = longer.blocks(np.random.default_rng(0))
    np.testing.assert_allclose(block.sum(), 3.0 * (probability @ g.weights).sum(), rtol=0.03)


def test_figures(model):
    for draw in (figures.component_panels, figures.correlation_heatmap, figures.correlation_graph):
        assert draw(model).get_figure() is not None
    assert figures.sorted_weights(model).lines or figures.sorted_weights(model).patches
    panels = figures.convergence(model).get_figure().axes
    assert [panel.get_title().split("\n")[0] for panel in panels] == [
        "total", "c", "a0", "effective components", "location variance",
    ]  # fmt: skip


def test_exports(model, rows, tmp_path):
    export.write_csv(model, tmp_path / "tables")
    np.testing.assert_allclose(pd.read_csv(tmp_path / "tables" / "rows.csv", index_col="row"), model._row_weights)
    assert len(pd.read_csv(tmp_path / "tables" / "correlations.csv")) > 0
    export.write_graphml(model, tmp_path / "graph.graphml", among=4, least=0.0)
    assert networkx.read_graphml(tmp_path / "graph.graphml").number_of_edges() == 6


def test_anndata(model, rows):
    pytest.importorskip("anndata")
    adata = export.to_anndata(model, **rows)
    np.testing.assert_allclose(adata.obsm["X_cormorant"], model._row_weights)
    np.testing.assert_array_equal(adata.uns["cormorant"]["correlation"], model.correlation_)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # ArviZ announces its own next version
def test_arviz(model, rows):
    pytest.importorskip("arviz")
    data = export.to_arviz(model, rows["X"], covariates=rows["covariates"])
    posterior = data["posterior"]
    assert dict(posterior.sizes) == {"chain": 2, "draw": 5, "component": 6, "other": 6, "covariate": 2, "row": 400} | {
        "column": posterior.sizes["column"]
    }
    effect = posterior["effect"].to_numpy()
    draws = pooled(list(effect), [known[:, None] for known in counterparts(model.samples_)])
    np.testing.assert_allclose(draws.mean(axis=0), model.covariate_effects_)
    np.testing.assert_array_equal(posterior["w"].to_numpy()[1, 2], model.samples_[1][2].weights)
    x, w = posterior["x"].to_numpy(), posterior["w"].to_numpy()[:, :, None]
    assert np.all((x == 0) | (x == w))
    np.testing.assert_allclose(x[0].mean(axis=(0, 1))[:4], model._row_weights[:, :4].mean(axis=0), rtol=0.05)


def test_the_page(model, rows):
    content = document(model)
    assert (content["model"], content["shareOf"], content["nRows"]) == ("thinned", "counts", 400)
    assert content["independent"] is None
    lookup = RowLookup(model, rows["X"], rows["covariates"])
    np.testing.assert_array_equal(lookup.places, np.arange(400))  # recognised as the rows of the fit
    shown = lookup.profile(3)
    assert shown["shows"]
    assert shown["next"]
