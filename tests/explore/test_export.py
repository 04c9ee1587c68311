"""What other programs read back is what the fit has."""

import csv
import sys
import warnings
import xml.etree.ElementTree as ElementTree
from copy import copy
from types import SimpleNamespace

import networkx
import numpy as np
import pandas as pd
import pytest

from cormorant.estimators.chains import are_found
from cormorant.explore import export
from cormorant.explore.graph import correlation_graph
from cormorant.explore.inference_data import inference_data
from cormorant.explore.spreadsheets import as_text, from_text


def test_csv(fitted, counts, tmp_path):
    folder = export.write_csv(fitted, tmp_path / "out")
    assert {file.name for file in folder.iterdir()} == {"components.csv", "columns.csv", "correlations.csv", "rows.csv"}
    components = pd.read_csv(folder / "components.csv")
    assert components["top_columns"][0].split("; ")[0] in counts.column_names
    rows = pd.read_csv(folder / "rows.csv", index_col="row")
    assert rows.index.tolist() == list(counts.row_names)
    np.testing.assert_allclose(rows, fitted._row_weights)
    assert len(pd.read_csv(folder / "columns.csv")) == 4 * 12
    some = export.write_csv(fitted, tmp_path / "some", counts.rows([1, 2]))
    assert pd.read_csv(some / "rows.csv")["row"].tolist() == ["row 1", "row 2"]


HOSTILE = ["=1+1", "+1", "-x", "@SUM(A1)", "\t=1", "'=1", "-5", "plain", "it's", "a=b", "", "-1.5e3"]


def test_names_are_no_formulas(fitted, counts, tmp_path):
    model = copy(fitted)
    model.column_names_ = np.array(HOSTILE, dtype=object)
    model.row_names_ = np.array([*HOSTILE, *counts.row_names[12:]], dtype=object)
    folder = export.write_csv(model, tmp_path / "out")
    for file in folder.iterdir():
        with file.open(newline="", encoding="utf-8") as lines:
            cells = [cell for line in csv.reader(lines) for cell in line]
        assert [cell for cell in cells if cell[:1] in ("=", "@", "\t", "\r")] == []
        assert [cell for cell in cells if cell[:1] in ("+", "-") and not is_number(cell)] == []
    rows = pd.read_csv(folder / "rows.csv", dtype={"row": str}, keep_default_na=False)
    assert rows["row"][:3].tolist() == ["'=1+1", "+1", "'-x"]
    assert rows["row"].map(from_text).tolist() == model.row_names_.tolist()
    np.testing.assert_allclose(rows.drop(columns="row"), fitted._row_weights)
    found = pd.read_csv(folder / "correlations.csv")["correlation"]
    assert (found < 0).any()  # numbers stay numbers


def is_number(cell):
    try:
        return np.isfinite(float(cell))
    except ValueError:
        return False


@pytest.mark.parametrize("name", HOSTILE)
def test_names_come_back(name):
    assert from_text(as_text(name)) == name


def test_csv_of_uncorrelated_models_has_no_correlations(uncorrelated, tmp_path):
    uncorrelated._row_weights = np.ones((2, 3))
    assert not (export.write_csv(uncorrelated, tmp_path / "out") / "correlations.csv").exists()


@pytest.mark.parametrize(
    ("write", "read"),
    [(export.write_graphml, networkx.read_graphml), (export.write_gexf, networkx.read_gexf)],
)
def test_graphs(model, tmp_path, write, read):
    path = write(model, tmp_path / "graph.xml", least=0.1)
    found, expected = read(path), correlation_graph(model, least=0.1)
    assert set(found.nodes) == {"0", "1", "2"}
    for k, attributes in expected.nodes(data=True):
        assert {name: found.nodes[str(k)][name] for name in attributes} == attributes
    for k, m, attributes in expected.edges(data=True):
        edge = found.edges[str(k), str(m)]
        assert {name: edge[name] for name in attributes} == pytest.approx(attributes)


def test_gexf_has_gephis_labels_and_weights(model, tmp_path):
    text = export.write_gexf(model, tmp_path / "graph.gexf").read_text(encoding="utf-8")
    tree = ElementTree.fromstring(text)
    tag = tree.tag.removesuffix("gexf")
    node, edge = tree.find(f".//{tag}node"), tree.find(f".//{tag}edge")
    assert node is not None
    assert edge is not None
    assert node.get("label", "").startswith("bird")
    assert float(edge.get("weight", "nan")) == pytest.approx(0.6)


@pytest.mark.parametrize("write", [export.write_graphml, export.write_gexf])
def test_hostile_names_stay_text(model, tmp_path, write):
    model.column_names_ = np.array(['<a & "b">', "x\x00\x0by\ud800", "]]>", "dé日本"], dtype=object)
    text = write(model, tmp_path / "graph.xml", among=4).read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert "&lt;a &amp;" in text
    assert "xy" in text


def test_anndata(fitted, counts, tmp_path):
    anndata = pytest.importorskip("anndata")
    path = export.write_h5ad(fitted, tmp_path / "fit.h5ad", counts)
    adata = anndata.read_h5ad(path)
    np.testing.assert_array_equal(adata.X.toarray(), counts.tocsr().toarray())
    assert adata.obs_names.tolist() == list(counts.row_names)
    assert adata.var_names.tolist() == list(counts.column_names)
    np.testing.assert_allclose(adata.obsm["X_cormorant"], fitted.transform(counts))
    np.testing.assert_allclose(adata.varm["cormorant"], fitted.components_.T)
    found = adata.uns["cormorant"]
    assert found["model"] == "cnpf"
    np.testing.assert_allclose(found["correlation"], fitted.correlation_)
    np.testing.assert_allclose(found["weights"], fitted.weights_)
    assert len(set(found["labels"])) == 4


def test_anndata_of_the_rows_of_the_fit(fitted, tmp_path):
    pytest.importorskip("anndata")
    adata = export.to_anndata(fitted)
    assert adata.shape == (150, 12)
    assert adata.X is None
    np.testing.assert_array_equal(adata.obsm["X_cormorant"], fitted._row_weights)
    assert export.write_h5ad(fitted, tmp_path / "rows.h5ad").is_file()


def test_anndata_is_copied_with_all_it_has(fitted, counts):
    anndata = pytest.importorskip("anndata")
    obs, var = pd.DataFrame({"age": range(150)}, index=counts.row_names), pd.DataFrame(index=counts.column_names)
    before = anndata.AnnData(counts.tocsr(copy=True), obs=obs, var=var)
    after = export.to_anndata(fitted, before)
    assert after.obs["age"].tolist() == list(range(150))
    assert "X_cormorant" in after.obsm
    assert "X_cormorant" not in before.obsm


@pytest.fixture
def arviz():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # ArviZ announces its own next version when it is imported
        return pytest.importorskip("arviz")


@pytest.mark.usefixtures("arviz")
def test_arviz(fitted, counts):
    """Means of 300 draws are the posterior means, within five standard errors."""
    few = counts.rows(slice(0, 5))
    data = export.to_arviz(fitted, few, n_draws=300, n_columns=3, random_state=1)
    a = data.posterior["a"]
    assert a.dims == ("chain", "draw", "component", "column")
    columns = [int(name[1:]) for name in a["column"].to_numpy()]
    error = np.sqrt(fitted.components_shape_[:, columns]) / fitted.components_rate_[:, None] / np.sqrt(300)
    assert (np.abs(a.mean(("chain", "draw")).to_numpy() - fitted.components_[:, columns]) < 5 * error).all()
    mean, std = fitted.transform(few, return_std=True)
    x = data.posterior["x"]
    assert x["row"].to_numpy().tolist() == [f"row {u}" for u in range(5)]
    assert (np.abs(x.mean(("chain", "draw")).to_numpy() - mean) < 5 * std / np.sqrt(300)).all()
    np.testing.assert_array_equal(data.constant_data["correlation"], fitted.correlation_)
    np.testing.assert_array_equal(data.observed_data["y"], few.tocsr().toarray()[:, columns])


@pytest.mark.usefixtures("arviz")
def test_arviz_of_samples(sampled, counts):
    """What was sampled is handed on as it is; only the atoms are drawn, from their gamma given the sample."""
    data = export.to_arviz(sampled, counts.rows(slice(0, 3)), n_columns=12, random_state=1)
    globals_ = [[sample.globals for sample in chain] for chain in sampled.samples_]
    assert dict(data.posterior.sizes) == {"chain": 2, "draw": 8, "component": 4, "column": 12, "other": 4, "row": 3}
    np.testing.assert_array_equal(data.posterior["w"], [[g.weights for g in chain] for chain in globals_])
    np.testing.assert_array_equal(data.posterior["alpha"], [[g.alpha for g in chain] for chain in globals_])
    rho, found = data.posterior["correlation"].to_numpy(), are_found(sampled.samples_[1], sampled.samples_[0])
    assert found.sum() >= 3  # of four, for three that were planted
    both = np.outer(found, found)
    np.testing.assert_allclose(rho.mean(axis=(0, 1))[both], sampled.correlation_[both], atol=1e-12)
    a, mean = data.posterior["a"].to_numpy(), np.array([[g.atom_mean.T for g in chain] for chain in globals_])
    std = np.array([[(np.sqrt(g.atom_shape) / g.atom_rate).T for g in chain] for chain in globals_])
    # Over all 2 x 8 x 4 x 12 draws the scores have mean 0; their standard error is one over the root of their number.
    assert abs(((a - mean) / std).mean()) < 5 / np.sqrt(a.size)
    assert set(data.constant_data) == {"share"}


@pytest.mark.usefixtures("arviz")
def test_arviz_without_rows(fitted, counts):
    data = export.to_arviz(fitted, n_draws=2)
    assert set(data.groups()) == {"posterior", "constant_data"}
    assert "x" not in data.posterior
    with pytest.raises(ValueError, match=r"X must have fewer rows .* 600,000,000 numbers"):
        export.to_arviz(fitted, counts, n_draws=1_000_000)


def test_the_tree_of_later_arviz(fitted):
    """ArviZ 1 has no InferenceData of its own, but xarray's tree of datasets."""
    xarray = pytest.importorskip("xarray")
    tree = inference_data(SimpleNamespace(), fitted, None, 2, 3, np.random.default_rng(0))
    assert isinstance(tree, xarray.DataTree)
    assert tree["posterior"]["a"].sizes["draw"] == 2


@pytest.mark.parametrize(("package", "call"), [("anndata", export.to_anndata), ("arviz", export.to_arviz)])
def test_missing_packages(fitted, monkeypatch, package, call):
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}, .* pip install 'cormorant\[{package}\]'"):
        call(fitted)


def test_nothing_is_overwritten_unasked(model, tmp_path):
    model._row_weights = np.ones((2, 4))
    for write, name in ((export.write_csv, "folder"), (export.write_graphml, "file")):
        path = write(model, tmp_path / name)
        with pytest.raises(FileExistsError, match="pass overwrite=True"):
            write(model, path)
        write(model, path, overwrite=True)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["file", "folder"]


def test_somebody_elses_folder_is_never_replaced(model, tmp_path):
    model._row_weights = np.ones((2, 4))
    (tmp_path / "home").mkdir()
    (tmp_path / "home" / "letter.txt").write_text("dear")
    with pytest.raises(FileExistsError, match=r"holds other files \(letter.txt\)"):
        export.write_csv(model, tmp_path / "home", overwrite=True)
    with pytest.raises(FileExistsError, match="is a folder, and a file is to be written"):
        export.write_gexf(model, tmp_path / "home", overwrite=True)
    with pytest.raises(FileExistsError, match="is a file, and a folder is to be written"):
        export.write_csv(model, tmp_path / "home" / "letter.txt", overwrite=True)
    assert (tmp_path / "home" / "letter.txt").read_text() == "dear"


def test_a_failure_leaves_nothing_behind(model, tmp_path, monkeypatch):
    path = export.write_graphml(model, tmp_path / "graph.xml")
    before = path.read_bytes()

    def fail(graph, file):
        file.write_text("half")
        raise OSError("disk full")

    monkeypatch.setattr(networkx, "write_graphml", fail)
    with pytest.raises(OSError, match="disk full"):
        export.write_graphml(model, path, overwrite=True)
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["graph.xml"]
