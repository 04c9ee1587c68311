"""`cormorant export`: files that other programs read, with their records."""

import json

import networkx
import numpy as np
import pandas as pd
import pytest

import cormorant as library

from .conftest import SHORT


def test_csv(cormorant, fit_folder, workplace):
    ran = cormorant("export", fit_folder)
    assert (ran.code, ran.err) == (0, "Written to cnpf-csv\n")
    weights = pd.read_csv("cnpf-csv/rows.csv", index_col="row")
    np.testing.assert_allclose(weights, library.load(fit_folder)._row_weights)
    record = json.loads((workplace / "cnpf-csv" / "run.json").read_text())
    assert record["format"] == "csv"
    assert set(record["files"]) == {"components.csv", "columns.csv", "rows.csv", "correlations.csv", "run.json"}


@pytest.mark.parametrize(("format", "read"), [("graphml", networkx.read_graphml), ("gexf", networkx.read_gexf)])
def test_graphs(cormorant, fit_folder, workplace, format, read):
    ran = cormorant("export", fit_folder, "--format", format, "--among", 6, "--least", 0, "--json")
    assert ran.json["out"] == f"cnpf.{format}"
    graph = read(f"cnpf.{format}")
    assert (len(graph), graph.number_of_edges()) == (6, 15)
    assert json.loads((workplace / f"cnpf.{format}.run.json").read_text())["among"] == 6


def test_h5ad(cormorant, fit_folder, counts, counts_file, workplace):
    anndata = pytest.importorskip("anndata")
    assert cormorant("export", fit_folder, "--format", "h5ad", "--counts", counts_file, "--out", "x.h5ad").code == 0
    adata = anndata.read_h5ad("x.h5ad")
    assert adata.shape == counts.shape
    assert adata.obsm["X_cormorant"].shape == (300, 6)


def test_arviz(cormorant, fit_folder, workplace):
    arviz = pytest.importorskip("arviz")
    assert cormorant("export", fit_folder, "--format", "arviz").code == 0
    assert arviz.from_netcdf("cnpf.nc").posterior["a"].dims == ("chain", "draw", "component", "column")


def test_nothing_is_replaced_without_force(cormorant, fit_folder, workplace):
    for format in ("csv", "graphml"):
        export = ("export", fit_folder, "--format", format)
        assert cormorant(*export).code == 0
        refused = cormorant(*export)
        assert refused.code == 2
        assert "add --force to replace it" in refused.err
        assert cormorant(*export, "--force").code == 0
    assert len(list(workplace.iterdir())) == 3  # the folder, the file and its record


def test_force_spares_what_is_not_ours(cormorant, fit_folder, workplace):
    cormorant("export", fit_folder)
    (workplace / "cnpf-csv" / "notes.txt").write_text("the only copy")
    ran = cormorant("export", fit_folder, "--force")
    assert ran.code == 2
    assert "not written by cormorant (notes.txt)" in ran.err
    assert (workplace / "cnpf-csv" / "notes.txt").read_text() == "the only copy"


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--format", "xls"], "--format must be one of csv, graphml, gexf, h5ad, arviz; got 'xls'"),
        (["--format", "csv", "--among", "3"], "--among does nothing for --format csv"),
        (["--format", "gexf", "--counts", "nyt"], "--counts does nothing for --format gexf"),
        (["--format", "gexf", "--least", "2"], "Invalid value for '--least'"),
        (["--format", "h5ad", "--counts", "nyt"], "columns of the fit"),
    ],
)
def test_refusals(cormorant, fit_folder, workplace, options, said):
    ran = cormorant("export", fit_folder, *options)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(workplace.iterdir()) == []


def test_a_missing_package_is_named(cormorant, fit_folder, workplace, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "arviz", None)
    ran = cormorant("export", fit_folder, "--format", "arviz")
    assert ran.code == 1
    assert "pip install 'cormorant[arviz]'" in ran.err


def test_models_without_correlations(cormorant, counts_file, workplace):
    cormorant("fit", counts_file, "--model", "hgp", "--out", "hgp", "--quiet", *SHORT)
    assert cormorant("export", "hgp").code == 0
    assert not (workplace / "hgp-csv" / "correlations.csv").exists()
    ran = cormorant("export", "hgp", "--format", "graphml")
    assert ran.code == 2
    assert "HGP has no correlations" in ran.err
