"""Covariates on the command line: matched to rows by name or by order, used in evaluation, their effects listed."""

import numpy as np
import pandas as pd
import pytest

import cormorant as library
from cormorant.data import hold_out, read, write
from cormorant.datasets import simulate

from .conftest import SMALL


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    return pd.DataFrame({"age": rng.normal(50, 10, 300).round(1), "sex": rng.choice(["f", "m"], 300)})


@pytest.fixture
def table_file(table, tmp_path):
    table.to_csv(tmp_path / "rows.csv", index=False)
    return tmp_path / "rows.csv"


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_fit_evaluate_effects(cormorant, counts, counts_file, table, table_file, tmp_path):
    fit = tmp_path / "fit"
    formula = ["--covariates", table_file, "--formula", "~ age + C(sex)"]
    assert cormorant("fit", counts_file, "--out", fit, "--holdout", 60, "--quiet", *formula, *SMALL).code == 0
    split = hold_out(counts, 60, 1)
    options = {"inference": "structured", "max_epochs": 6, "random_state": 1, "formula": "~ age + C(sex)"}
    expected = library.CNPF(6, 2, **options).fit(split.train, covariates=table.iloc[split.train_index])
    np.testing.assert_allclose(library.load(fit).covariate_effects_, expected.covariate_effects_)

    ran = cormorant("evaluate", fit, counts_file, "--covariates", table_file, "--json")
    assert ran.code == 0
    rng = np.random.default_rng(1)
    rng.permutation(300)
    seen, test = library.data.split_entries(split.held_out, 0.1, rng)
    known = table.iloc[split.held_out_index]
    assert ran.json["perplexity"]["0.1"] == pytest.approx(
        library.evaluation.perplexity(expected, seen, test, known), rel=1e-6
    )
    ran = cormorant("evaluate", fit, counts_file)
    assert ran.code == 2
    assert "must be given: the model was fitted with age, C(sex)[T.m]" in ran.err

    effects = cormorant("effects", fit, "--json").json["effects"]
    assert {line["covariate"] for line in effects} == {"age", "C(sex)[T.m]"}
    assert "90% interval" in cormorant("effects", fit, "--top", 1).out
    assert cormorant("rows", fit, counts_file, "--row", 3, "--covariates", table_file).code == 0


def test_rows_are_matched_by_name(cormorant, counts, table, tmp_path):
    """Shuffled lines, with the names in front, give the fit of lines in order."""
    named = counts.named(row_names=[f"stay {u}" for u in range(300)])
    write(named, tmp_path / "named.npz")
    table.to_csv(tmp_path / "ordered.csv", index=False)
    shuffled = table.set_axis(named.row_names).sample(frac=1.0, random_state=0)
    shuffled.to_csv(tmp_path / "shuffled.csv", index_label="stay")
    found = []
    for name in ("ordered", "shuffled"):
        known = ["--covariates", tmp_path / f"{name}.csv", "--formula", "~ age + sex"]
        assert cormorant("fit", tmp_path / "named.npz", "--out", tmp_path / name, "--quiet", *known, *SMALL).code == 0
        found.append(library.load(tmp_path / name).covariate_effects_)
    np.testing.assert_array_equal(*found)


def test_refusals(cormorant, counts_file, fit_folder, table, tmp_path):
    table.iloc[:10].to_csv(tmp_path / "short.csv", index=False)
    for known, said in (("short.csv", "a line for each of the 300 rows; it has 10"), ("none.csv", "is not a file")):
        ran = cormorant("fit", counts_file, "--out", tmp_path / "f", "--covariates", tmp_path / known, *SMALL)
        assert ran.code == 2
        assert said in ran.err
    assert "fitted without covariates" in cormorant("effects", fit_folder).err


def test_simulated_covariates_are_a_table(cormorant, tmp_path):
    sizes = ["--rows", 50, "--columns", 20, "--components", 3, "--dims", 2]
    assert cormorant("simulate", *sizes, "--n-covariates", 2, "--out", tmp_path / "s").code == 0
    expected = simulate("cnpf", 50, 20, 3, 2, n_covariates=2)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "s" / "covariates.csv"), expected.covariates)
    with np.load(tmp_path / "s" / "truth.npz") as truth:
        np.testing.assert_array_equal(truth["effects"], expected.effects)
    assert read(tmp_path / "s" / "counts.npz") == expected.counts
