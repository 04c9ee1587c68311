"""A model that was fitted with covariates is explored as one without: who is given rows is given their covariates."""

import numpy as np
import pandas as pd
import pytest

from cormorant.estimators import CNPF, IBP
from cormorant.estimators.chains import counterparts, pooled, with_interval
from cormorant.explore import export, tables
from cormorant.explore.checks import predictive_check
from cormorant.explore.given_rows import GivenRows
from cormorant.explore.page.lookup import RowLookup
from cormorant.explore.serve import make_server

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")

ROWS = [7, 3, 90]


@pytest.fixture(scope="module")
def weights(with_covariates, counts, theta):
    """E x of some rows, as the model itself says it."""
    return with_covariates.transform(counts.rows(ROWS), covariates=theta[ROWS])


@pytest.mark.parametrize("kind", ["numbers", "frame"])
def test_rows_are_taken_with_their_covariates(counts, theta, kind):
    known = pd.DataFrame(theta, columns=["share", "noise"]) if kind == "frame" else theta
    model = CNPF(4, 2, inference="structured", max_epochs=40, random_state=0).fit(counts, covariates=known)
    taken = GivenRows.of(model, counts, known).take(ROWS)
    some = known.iloc[ROWS] if isinstance(known, pd.DataFrame) else known[ROWS]
    expected, std = model.transform(counts.rows(ROWS), covariates=some, return_std=True)
    np.testing.assert_array_equal(taken.weights(), expected)
    np.testing.assert_array_equal(taken.moments(), [expected, std])
    pd.testing.assert_frame_equal(taken.top_columns(3), model.top_columns(counts.rows(ROWS), 3, covariates=some))
    # They matter: with those of other rows the weights are others.
    assert not np.allclose(model.transform(counts.rows(ROWS), covariates=some[::-1]), expected, rtol=0.01)


def test_tables(with_covariates, counts, theta, weights):
    some, known = counts.rows(ROWS), theta[ROWS]
    stands = tables.representative_rows(with_covariates, some, n=3, covariates=known).set_index(["component", "row"])
    assert stands.loc[(0, "row 3"), "weight"] == weights[1, 0]
    assert tables.prevalence(with_covariates, some, covariates=known)["mean_share"].sum() == pytest.approx(1.0)
    profile = tables.row_profile(with_covariates, "row 3", counts, n=4, covariates=theta)
    np.testing.assert_allclose(profile["weight"], weights[1][profile["component"]])


def test_exports(with_covariates, counts, theta, weights, tmp_path):
    pytest.importorskip("anndata")
    some, known = counts.rows(ROWS), theta[ROWS]
    folder = export.write_csv(with_covariates, tmp_path / "tables", some, covariates=known)
    np.testing.assert_allclose(pd.read_csv(folder / "rows.csv", index_col="row"), weights)
    adata = export.to_anndata(with_covariates, some, covariates=known)
    np.testing.assert_array_equal(adata.obsm["X_cormorant"], weights)
    assert export.write_h5ad(with_covariates, tmp_path / "rows.h5ad", some, covariates=known).is_file()


@pytest.mark.filterwarnings("ignore::FutureWarning")  # ArviZ announces its own next version
def test_arviz(with_covariates, counts, theta, weights, tmp_path):
    arviz = pytest.importorskip("arviz")
    data = export.to_arviz(with_covariates, counts.rows(ROWS), covariates=theta[ROWS], n_draws=200)
    std = with_covariates.transform(counts.rows(ROWS), covariates=theta[ROWS], return_std=True)[1]
    x = data.posterior["x"].to_numpy()[0]
    assert (np.abs(x.mean(axis=0) - weights) < 5 * std / np.sqrt(200)).all()
    effect = data.constant_data["effect"]
    np.testing.assert_array_equal(effect, with_covariates.covariate_effects_)
    assert effect["covariate"].to_numpy().tolist() == ["covariate 0", "covariate 1"]
    path = export.write_arviz(with_covariates, tmp_path / "x.nc", counts.rows(ROWS), covariates=theta[ROWS])
    assert arviz.from_netcdf(path).posterior["x"].sizes["row"] == 3


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_arviz_has_the_effects_of_samples(counts, theta):
    pytest.importorskip("arviz")
    chains = {"n_chains": 2, "n_sweeps": 12, "n_samples": 6}
    model = CNPF(6, 2, inference="gibbs", random_state=0, **chains).fit(counts, covariates=10 * theta)
    effect = export.to_arviz(model).posterior["effect"]
    assert effect.dims == ("chain", "draw", "component", "covariate")
    assert effect.shape[:2] == (2, 6)
    used = effect.shape[2]  # components that took no part have no draws, and zeros among the estimates
    draws = pooled(list(effect.to_numpy()), [known[:, None] for known in counterparts(model.samples_)])
    mean, *ends = with_interval(draws, 0.9)
    np.testing.assert_allclose(mean, model.covariate_effects_[:used])
    np.testing.assert_allclose(ends, model.covariate_effects_interval_[:, :used])


def test_checks(with_covariates, counts, theta):
    check = predictive_check(with_covariates, counts, n_replicates=3, covariates=theta)
    np.testing.assert_array_equal(check.columns["observed"], counts.column_totals())
    assert check.statistics.set_index("statistic").loc["row total, mean", "replicated"] == pytest.approx(
        counts.total / 150, rel=0.1
    )


def test_lookup(with_covariates, counts, theta, weights):
    lookup = RowLookup(with_covariates, counts, theta)
    assert lookup.places is not None
    profile = lookup.profile(3)
    assert profile["components"][0]["weight"] == pytest.approx(weights[1].max(), rel=1e-3)
    following = with_covariates.top_columns(counts.rows([3]), 12, covariates=theta[[3]])
    assert [entry["name"] for entry in profile["next"]] == following["column"].tolist()
    assert RowLookup(with_covariates, counts, theta[::-1]).places is None
    with make_server(with_covariates, counts=counts, covariates=theta) as server:
        assert server.lookup.n_rows == 150


def test_rows_of_the_fit_need_none(with_covariates, tmp_path):
    assert len(tables.representative_rows(with_covariates, n=1)) == 4
    assert RowLookup(with_covariates).profile(3)["components"]
    assert (export.write_csv(with_covariates, tmp_path / "tables") / "rows.csv").is_file()


CALLS = {
    "rows": lambda model, X, known: tables.row_profile(model, 0, X, covariates=known),
    "next": lambda model, X, known: tables.next_columns(model, 0, X, covariates=known),
    "representative": lambda model, X, known: tables.representative_rows(model, X, covariates=known),
    "prevalence": lambda model, X, known: tables.prevalence(model, X, covariates=known),
    "csv": lambda model, X, known: export.write_csv(model, "never", X, covariates=known),
    "lookup": lambda model, X, known: RowLookup(model, X, known),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_refusals(with_covariates, fitted, counts, theta, call):
    with pytest.raises(ValueError, match="covariates must be given: the model was fitted with covariate 0"):
        call(with_covariates, counts.rows([0, 1]), None)  # also where they are not as many as those of the fit
    with pytest.raises(ValueError, match="a row for each of the 150 rows of X; got 149"):
        call(with_covariates, counts, theta[1:])
    with pytest.raises(ValueError, match="covariates must be left out: the model was fitted without any"):
        call(fitted, counts, theta)
    with pytest.raises(ValueError, match="covariates must be left out where X is"):
        call(with_covariates, None, theta)


def test_models_that_do_not_know_the_word(counts, theta):
    model = IBP(3, likelihood="poisson", n_sweeps=4, random_state=0).fit(counts)
    assert GivenRows.of(model, counts).weights().shape == (150, 3)
    with pytest.raises(ValueError, match="covariates must be left out: IBP takes none"):
        GivenRows.of(model, counts, theta)
