"""Covariates on the command line: matched to rows by name or by order, used in evaluation, their effects listed."""

import numpy as np
import pandas as pd
import pytest

import cormorant as library
from cormorant.data import hold_out, read, write
from cormorant.datasets import simulate
from cormorant.explore import tables

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
    assert {line["component"] for line in cormorant("effects", fit, "--among", 1, "--json").json["effects"]} == {0}
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
    for known, said in (("short.csv", "a line for each of 300 rows; it has 10"), ("none.csv", "is not a file")):
        ran = cormorant("fit", counts_file, "--out", tmp_path / "f", "--covariates", tmp_path / known, *SMALL)
        assert ran.code == 2
        assert said in ran.err
    said = (
        "fitted without covariates, so there are no effects: cormorant fit --covariates TABLE --model cnpf, softplus-"
    )
    assert said in cormorant("effects", fit_folder).err


def test_a_formula_is_taken_into_the_forecast(cormorant, counts_file, table_file, tmp_path):
    """The trials have no data frame: they failed, and the fit with them."""
    known = ["--covariates", table_file, "--formula", "~ bs(age, df=3) + C(sex)"]
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", *known, *SMALL)
    assert ran.code == 0
    assert "This takes about" in ran.err


@pytest.mark.parametrize("command", [("fit", "--out", "fit"), ("compare", "--models", "hgp,cnpf")])
def test_a_formula_without_covariates(cormorant, command, workplace):
    """Told before the counts are looked for."""
    ran = cormorant(command[0], "none.npz", *command[1:], "--formula", "~ age")
    assert ran.code == 2
    assert "--formula '~ age' names columns of --covariates, so it does nothing without; give both" in ran.err


def effects_table(**columns):
    shared = {"component": [0, 1, 2], "label": ["a", "b", "c"], "low": 0.0, "high": 0.0}
    return pd.DataFrame({**shared, "covariate": "age", **columns})


@pytest.mark.parametrize("signs", [1, -1])
def test_each_sign_has_its_list(cormorant, fit_folder, monkeypatch, signs):
    """Of effects of one sign only so many are listed; both ends of the list would be twice as many."""
    table = effects_table(effect=signs * np.array([0.1, 0.2, 0.3])).sort_values("effect", ascending=False)
    monkeypatch.setattr(tables, "covariate_effects", lambda *_, **__: table)
    ran = cormorant("effects", fit_folder, "--top", 1)
    assert f"{signs * 0.3:+.2f}" in ran.out
    assert f"{signs * 0.1:+.2f}" not in ran.out


def test_intervals_of_chains_that_have_not_mixed(cormorant, fit_folder, monkeypatch):
    monkeypatch.setattr(tables, "covariate_effects", lambda *_, **__: effects_table(effect=0.1))
    assert "too narrow" not in cormorant("effects", fit_folder).err
    monkeypatch.setattr("cormorant.estimators.chains.largest_rhat", lambda _: 1.53)
    assert "chains have not mixed (split R-hat 1.53)" in cormorant("effects", fit_folder).err


@pytest.mark.parametrize("rows_have_names", [True, False])
def test_a_row_without_covariates_is_named(cormorant, counts, table, tmp_path, rows_have_names):
    """Also where rows are held out, so that it is not at its place in the file."""
    names = [f"stay {u}" for u in range(300)]
    write(counts.named(row_names=names) if rows_have_names else counts, tmp_path / "rows.npz")
    fitted, held_out = library.data.hold_out_rows(300, 60, 1)
    gap = int(held_out[0])
    fit, whole = tmp_path / "fit", tmp_path / "whole.csv"
    table.to_csv(whole, index=False)
    command = ["fit", tmp_path / "rows.npz", "--holdout", 60, "--out", fit, *SMALL]
    assert cormorant(*command, "--covariates", whole, "--quiet").code == 0
    name = f"stay {gap}" if rows_have_names else str(gap)
    table.assign(age=table["age"].where(table.index != gap)).to_csv(tmp_path / "gap.csv", index=False)
    ran = cormorant("evaluate", fit, tmp_path / "rows.npz", "--covariates", tmp_path / "gap.csv")
    assert ran.code == 2
    assert f"age is missing in 1 row, first in row {name}. Drop" in ran.err
    table.assign(age=table["age"].where(table.index == gap)).to_csv(tmp_path / "gap.csv", index=False)
    ran = cormorant(*command, "--force", "--covariates", tmp_path / "gap.csv")
    name = f"stay {fitted[0]}" if rows_have_names else str(fitted[0])
    assert f"age is missing in 240 rows, first in row {name}." in ran.err


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_a_comparison_says_who_takes_covariates(cormorant, counts_file, table_file):
    known = ["--covariates", table_file, "--formula", "~ age"]
    options = ["--holdout", 60, "--quiet", "--json", *known, *SMALL]
    ran = cormorant("compare", counts_file, "--models", "hgp,cnpf", *options)
    assert ran.code == 0
    assert "note: --covariates are for models with correlations: compared without are hgp." in ran.err
    assert (ran.json["covariates"], ran.json["without_covariates"]) == (str(table_file), ["hgp"])
    assert ran.json["parameters"]["formula"] == "~ age"
    ran = cormorant("compare", counts_file, "--models", "hgp,hdp", *SMALL[:2], "--covariates", table_file)
    assert ran.code == 2
    assert (
        "--covariates do nothing here: hgp, hdp take none; leave them out, or fit one of cnpf, softplus-cnpf" in ran.err
    )


@pytest.mark.parametrize("model", ["hgp", "ibp"])
def test_models_that_take_no_covariates(cormorant, counts_file, table_file, tmp_path, model):
    ran = cormorant("fit", counts_file, "--model", model, "--covariates", table_file, "--out", tmp_path / "f")
    assert ran.code == 2
    assert ran.err.startswith(
        f"error: --covariates do nothing here: {model} takes none; leave them out, or fit one of cnpf"
    )


def test_simulated_covariates_are_a_table(cormorant, tmp_path):
    sizes = ["--rows", 50, "--columns", 20, "--components", 3, "--dims", 2]
    assert cormorant("simulate", *sizes, "--n-covariates", 2, "--out", tmp_path / "s").code == 0
    expected = simulate("cnpf", 50, 20, 3, 2, n_covariates=2)
    np.testing.assert_allclose(pd.read_csv(tmp_path / "s" / "covariates.csv"), expected.covariates)
    with np.load(tmp_path / "s" / "truth.npz") as truth:
        np.testing.assert_array_equal(truth["effects"], expected.effects)
    assert read(tmp_path / "s" / "counts.npz") == expected.counts
