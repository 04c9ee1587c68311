"""A fit with covariates, looked at where counts are given: `export --counts`, `explore --serve --counts`."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import cormorant as library
from cormorant.cli import run
from cormorant.cli.known_rows import load_covariates
from cormorant.explore.spreadsheets import write_table

from .conftest import SMALL


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.normal(50, 10, 300).round(1), "sex": rng.choice(["f", "m"], 300)})


@pytest.fixture(scope="module")
def made(counts_file, table, tmp_path_factory):
    """A folder with rows.csv and the fit to them, and some tables that are wrong."""
    folder = tmp_path_factory.mktemp("covariates")
    table.to_csv(folder / "rows.csv", index=False)
    known = ["--covariates", str(folder / "rows.csv")]
    assert (
        run(["fit", str(counts_file), "--out", str(folder / "fit"), "--holdout", "60", "--quiet", *known, *SMALL]) == 0
    )
    table.iloc[:10].to_csv(folder / "short.csv", index=False)
    table[["age"]].to_csv(folder / "ages.csv", index=False)
    table.assign(sex="x").to_csv(folder / "others.csv", index=False)
    (folder / "empty.csv").write_text("")
    (folder / "ragged.csv").write_text("age,sex\n50,f\n50,f,3\n")
    (folder / "binary.csv").write_bytes(b"\x93\xa3\xff\n")
    return folder


@pytest.fixture(scope="module")
def weights(made, counts, table):
    return library.load(made / "fit").transform(counts, covariates=table)


def test_the_fit_records_them(made):
    assert json.loads((made / "fit" / "run.json").read_text())["covariates"] == str(made / "rows.csv")


def test_csv(cormorant, made, counts_file, weights, workplace):
    rows = ["--counts", counts_file, "--covariates", made / "rows.csv"]
    assert cormorant("export", made / "fit", *rows, "--out", "tables").code == 0
    np.testing.assert_allclose(pd.read_csv("tables/rows.csv", index_col="row"), weights)
    assert json.loads(Path("tables/run.json").read_text())["covariates"] == str(made / "rows.csv")
    assert cormorant("export", made / "fit", "--out", "own").code == 0  # the rows of the fit need none
    assert len(pd.read_csv("own/rows.csv")) == 240


def test_rows_are_found_by_names_as_we_write_them(counts, tmp_path):
    """A name that spreadsheet programs would compute has a quote in front in our own tables."""
    names = ["=1+1", "-x", "plain"]
    some = counts.rows([0, 1, 2]).named(row_names=names)
    write_table(pd.DataFrame({"row": names[::-1], "age": [3.0, 2.0, 1.0]}), tmp_path / "rows.csv")
    assert "'=1+1" in (tmp_path / "rows.csv").read_text()
    assert load_covariates(tmp_path / "rows.csv", some)["age"].tolist() == [1.0, 2.0, 3.0]


def test_h5ad(cormorant, made, counts_file, weights, workplace):
    anndata = pytest.importorskip("anndata")
    rows = ["--counts", counts_file, "--covariates", made / "rows.csv"]
    assert cormorant("export", made / "fit", "--format", "h5ad", *rows, "--out", "x.h5ad").code == 0
    np.testing.assert_allclose(anndata.read_h5ad("x.h5ad").obsm["X_cormorant"], weights)


@pytest.mark.filterwarnings("ignore::FutureWarning")  # ArviZ announces its own next version
def test_arviz(cormorant, made, counts_file, workplace):
    arviz = pytest.importorskip("arviz")
    rows = ["--counts", counts_file, "--covariates", made / "rows.csv"]
    assert cormorant("export", made / "fit", "--format", "arviz", *rows, "--out", "x.nc").code == 0
    data = arviz.from_netcdf("x.nc")
    assert data.posterior["x"].sizes["row"] == 300
    assert data.constant_data["effect"]["covariate"].to_numpy().tolist() == ["age", "sex[T.m]"]


def test_serve(cormorant, made, counts_file, counts, table, monkeypatch):
    served = {}
    monkeypatch.setattr("cormorant.explore.serve.serve", lambda model, port, **options: served.update(options))
    rows = ["--counts", counts_file, "--covariates", made / "rows.csv"]
    assert cormorant("explore", made / "fit", "--serve", *rows).code == 0
    assert served["counts"] == counts
    pd.testing.assert_frame_equal(served["covariates"], table)


@pytest.mark.parametrize("verb", [["export"], ["explore", "--serve"]], ids=["export", "serve"])
@pytest.mark.parametrize(
    ("covariates", "said"),
    [
        (None, "--covariates must be given: the model was fitted with age, sex[T.m]"),
        ("short.csv", "must have a line for each of 300 rows; it has 10"),
        ("ages.csv", "--covariates must have the columns age, sex; sex is not among age"),
        ("others.csv", "--covariates must have levels that the fit saw (sex: f, m)"),
        ("none.csv", "is not a file; give a table (csv, tsv) with a header"),
        ("empty.csv", "must be a table (csv, tsv) with a header and a line a row; it could not be read"),
        ("ragged.csv", "it could not be read: Expected 2 fields in line 3, saw 3"),
        ("binary.csv", "it could not be read"),
    ],
)
def test_wrong_tables(cormorant, made, counts_file, workplace, verb, covariates, said):
    known = [] if covariates is None else ["--covariates", made / covariates]
    ran = cormorant(*verb, made / "fit", "--counts", counts_file, *known)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(workplace.iterdir()) == []


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (["export"], "--covariates tells of the rows of --counts"),
        (["export", "--format", "gexf"], "--covariates does nothing for --format gexf"),
        (["explore"], "--covariates is for --serve"),
        (["explore", "--serve"], "--covariates tells of the rows of --counts"),
    ],
)
def test_covariates_of_no_rows(cormorant, made, workplace, command, said):
    ran = cormorant(*command, made / "fit", "--covariates", made / "rows.csv")
    assert ran.code == 2
    assert said in ran.err
    assert list(workplace.iterdir()) == []


def test_a_fit_without_covariates(cormorant, fit_folder, made, counts_file, workplace):
    ran = cormorant("export", fit_folder, "--counts", counts_file, "--covariates", made / "rows.csv")
    assert ran.code == 2
    assert "--covariates must be left out: the model was fitted without any" in ran.err


def test_counts_that_are_not_there(cormorant, made, workplace):
    """What is wrong is the input, not the output."""
    ran = cormorant("export", made / "fit", "--counts", "none.npz", "--covariates", made / "rows.csv")
    assert ran.code == 2
    assert "none.npz does not exist" in ran.err
