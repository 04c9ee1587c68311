"""Missing entries, filled in by features."""

import json

import numpy as np
import pandas as pd
import pytest

import cormorant as library
from cormorant.cli import run
from cormorant.data import read_matrix

SHORT = ["--model", "ibp", "--components", "4", "--sweeps", "6", "--samples", "2", "--starts", "1", "--quiet"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of real numbers with names, some of them missing, a matrix of zeros and ones, and fits of both."""
    folder = tmp_path_factory.mktemp("impute")
    rng = np.random.default_rng(0)
    hidden = rng.random((40, 6)) < 0.1
    real = np.where(hidden, np.nan, rng.normal(size=(40, 6)))
    names = {"index": [f"plot {u}" for u in range(40)], "columns": ["pH", "C", "N, total", "P", "K", "Ca"]}
    pd.DataFrame(real, **names).to_csv(folder / "soil.csv", float_format="%.17g")
    np.save(folder / "binary.npy", np.where(hidden, np.nan, rng.random((40, 6)) < 0.4))
    for name, likelihood in (("soil.csv", "gaussian"), ("binary.npy", "bernoulli")):
        fit = ["fit", str(folder / name), "--likelihood", likelihood, "--out", str(folder / likelihood)]
        assert run([*fit, *SHORT]) == 0
    return folder


def test_a_table_keeps_its_names_and_its_entries(cormorant, folder, workplace):
    ran = cormorant("impute", folder / "gaussian", folder / "soil.csv", "--out", "filled.csv")
    before, after = read_matrix(folder / "soil.csv"), read_matrix("filled.csv")
    assert f"40 rows x 6 columns, {before.n_missing} missing: filled in. Written to filled.csv" in ran.out + ran.err
    assert list(after.row_names) == list(before.row_names)
    assert list(after.column_names) == list(before.column_names)
    np.testing.assert_array_equal(after.values, library.load(folder / "gaussian").impute(before))
    shown = ~np.isnan(before.values)
    np.testing.assert_array_equal(after.values[shown], before.values[shown])
    record = json.loads((workplace / "filled.csv.run.json").read_text())
    assert (record["command"], record["filled"], record["rows"]) == ("impute", before.n_missing, 40)


def test_a_matrix_of_zeros_and_ones_gets_chances(cormorant, folder, workplace):
    told = cormorant(
        "impute",
        folder / "bernoulli",
        folder / "binary.npy",
        "--out",
        "y.npy",
        "--json",
    )
    before, after = np.load(folder / "binary.npy"), np.load("y.npy")
    assert told.json["filled"] == np.isnan(before).sum()
    filled = after[np.isnan(before)]
    assert ((filled > 0) & (filled < 1)).all()
    np.testing.assert_array_equal(after[~np.isnan(before)], before[~np.isnan(before)])


def test_what_cannot_be_filled_in(cormorant, folder, workplace):
    table = pd.read_csv(folder / "soil.csv", index_col=0)
    table.fillna(0.0).to_csv("whole.csv")
    table[table.columns[::-1]].to_csv("turned.csv")
    table.iloc[:, :4].to_csv("fewer.csv")
    for data, said in (
        ("whole.csv", "whole.csv has no missing entries, so that there is nothing to fill in"),
        ("turned.csv", "the 6 columns of the fit, in their order; they have the columns in another order"),
        ("fewer.csv", "they have only 4 of them"),
    ):
        ran = cormorant("impute", folder / "gaussian", data, "--out", "filled.csv")
        assert ran.code == 2
        assert said in ran.err
    assert not (workplace / "filled.csv").exists()


def test_files_of_another_kind(cormorant, folder, workplace):
    for data, out, said in (
        ("counts.npz", "y.csv", "DATA must be a matrix in which entries can be missing (.npy, .csv, .tsv)"),
        (folder / "soil.csv", "y.npy", "--out must be a file of the kind of DATA, its name ending in .csv"),
        (folder / "soil.csv", folder / "soil.csv", "which this command reads"),
    ):
        ran = cormorant("impute", folder / "gaussian", data, "--out", out)
        assert ran.code == 2
        assert said in ran.err


def test_models_of_counts_have_nothing_missing(cormorant, folder, workplace):
    np.savetxt("counts.csv", np.ones((12, 4)), fmt="%d", delimiter=",")
    library.CNPF(1, 1, inference="structured", max_epochs=2).fit(np.ones((12, 4))).save("cnpf")
    ran = cormorant("impute", "cnpf", "counts.csv", "--out", "y.csv")
    assert ran.code == 2
    assert "must be a fit of features (beta-features, gamma-features, ibp)" in ran.err
    assert "one of cnpf, to which an entry that is not there is zero" in ran.err


def test_triples_of_counts_have_nothing_missing(cormorant, folder, workplace):
    lines = [(u, i, 1) for u in range(8) for i in range(6)]
    pd.DataFrame(lines, columns=["row", "column", "count"]).to_csv("long.csv", index=False)
    ran = cormorant("impute", folder / "bernoulli", "long.csv", "--out", "y.csv")
    assert ran.code == 2
    assert "(triples of counts are zero where there is none)" in ran.err
