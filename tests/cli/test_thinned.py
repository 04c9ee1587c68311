"""Components that come and go with covariates, from simulated counts to the page."""

import json

import numpy as np
import pandas as pd
import pytest

import cormorant as library
from cormorant.cli import run
from cormorant.data import hold_out, read
from cormorant.datasets import simulate_thinned

SIZES = ["--rows", "200", "--columns", "30", "--components", "3", "--n-covariates", "2"]
SHORT = ["--components", "5", "--sweeps", "12", "--samples", "4", "--jobs", "1"]


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    folder = tmp_path_factory.mktemp("simulated") / "thinned"
    assert run(["simulate", "--model", "thinned", *SIZES, "--seed", "2", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def known(drawn):
    return ["--covariates", str(drawn / "covariates.csv")]


@pytest.fixture(scope="module")
def fitted(drawn, known, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fits") / "thinned"
    command = ["fit", str(drawn / "counts.npz"), "--model", "thinned", "--formula", "~ covariate0 + covariate1"]
    assert run([*command, *known, "--holdout", "40", "--seed", "3", "--out", str(folder), "--quiet", *SHORT]) == 0
    return folder


def test_the_draws_are_those_of_the_library(drawn, cormorant, workplace):
    ran = cormorant("simulate", "--model", "thinned", *SIZES, "--out", "again")
    assert "Written to again: counts.npz, covariates.csv, and the truth" in ran.err
    expected = simulate_thinned(200, 30, 3, 2, seed=2)
    assert read(drawn / "counts.npz") == expected.counts
    np.testing.assert_allclose(pd.read_csv(drawn / "covariates.csv"), expected.covariates)
    with np.load(drawn / "truth.npz") as truth:
        for name in ("atoms", "weights", "effects", "intercepts", "z", "correlation"):
            np.testing.assert_array_equal(truth[name], getattr(expected, name))


def test_rows_held_out_are_scored_as_compare_scores_them(cormorant, fitted, drawn, known):
    ran = cormorant("evaluate", fitted, drawn / "counts.npz", *known, "--observed", "0.2,0.5", "--json")
    assert (ran.json["rows"], ran.json["held_out"], ran.json["model"]) == (40, True, "thinned")
    assert {"perplexity", "recall@20", "ndcg@20"} <= set(ran.json)
    table = pd.read_csv(drawn / "covariates.csv")
    counts, rng = read(drawn / "counts.npz"), np.random.default_rng(3)
    held = hold_out(counts, 40, rng)
    model = library.load(fitted)
    np.testing.assert_array_equal(model.held_out_rows_, held.held_out_index)
    compared = cormorant(
        "compare", drawn / "counts.npz", "--models", "thinned", *known, "--formula", "~ covariate0 + covariate1",
        "--holdout", "40", "--observed", "0.2,0.5", "--seed", "3", "--quiet", "--json", *SHORT,
    )  # fmt: skip
    assert compared.json["models"][0]["perplexity"] == pytest.approx(ran.json["perplexity"])
    assert len(table) == counts.n_rows


def test_what_it_says_while_it_fits(cormorant, drawn, known, workplace):
    ran = cormorant("fit", drawn / "counts.npz", "--model", "thinned", *known, "--out", "fit", *SHORT)
    assert ran.code == 0
    assert "This takes about" in ran.err
    assert "made all 12 sweeps of 2 chains" in ran.err
    assert "of 5 components in use" in ran.err


def test_components_correlations_and_effects(cormorant, fitted):
    assert "of 5 components in use" in cormorant("components", fitted).out
    model = library.load(fitted)
    pairs = cormorant("correlations", fitted, "--json").json["pairs"]
    assert pairs
    assert all(p["correlation"] == pytest.approx(model.correlation_[p["component"], p["other"]]) for p in pairs)
    found = cormorant("effects", fitted, "--json").json["effects"]
    assert {line["covariate"] for line in found} == {"covariate0", "covariate1"}
    assert found[0]["effect"] == pytest.approx(model.covariate_effects_[found[0]["component"], 0])
    assert "90% interval" in cormorant("effects", fitted).out


def test_rows(cormorant, fitted, drawn, known):
    ran = cormorant("rows", fitted, drawn / "counts.npz", *known, "--row", "7", "--json")
    (one,) = ran.json["rows"]
    table = pd.read_csv(drawn / "covariates.csv")
    x = library.load(fitted).transform(read(drawn / "counts.npz").rows([7]), covariates=table.iloc[[7]])
    assert one["components"][0]["weight"] == pytest.approx(x.max())
    assert {"next", "similar"} <= set(one)
    refused = cormorant("rows", fitted, drawn / "counts.npz")
    assert refused.code == 2
    assert refused.err.startswith("error: --covariates must be given")


def test_exports_and_page(cormorant, fitted, drawn, known, workplace):
    assert cormorant("export", fitted, "--out", "own").code == 0
    assert len(pd.read_csv("own/rows.csv")) == 160
    assert cormorant("export", fitted, "--counts", drawn / "counts.npz", *known, "--out", "all").code == 0
    assert len(pd.read_csv("all/rows.csv")) == 200
    assert cormorant("export", fitted, "--format", "graphml", "--least", "0").code == 0
    assert cormorant("explore", fitted, "--out", "page.html").code == 0
    page = (workplace / "page.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert (data["model"], data["nRows"], data["independent"]) == ("thinned", 160, None)


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (
            ["fit", "COUNTS", "--model", "thinned", "--out", "fit"],
            "--covariates must be given: thinned has them decide",
        ),
        (["compare", "COUNTS", "--models", "hgp,thinned"], "--covariates must be given: thinned has them decide"),
        (["fit", "COUNTS", "--model", "hgp", "KNOWN", "--out", "fit"], "--covariates do nothing here: hgp takes none"),
        (["fit", "COUNTS", "--model", "ibp", "KNOWN", "--out", "fit"], "--covariates do nothing here: ibp takes none"),
        (["fit", "COUNTS", "--model", "thinned", "KNOWN", "--dims", "3", "--out", "fit"], "--dims does nothing here"),
        (
            ["fit", "COUNTS", "--model", "thinned", "KNOWN", "--alpha", "-1", "--out", "fit"],
            "--alpha must be a positive",
        ),
        (["fit", "COUNTS", "--alpha", "2", "--out", "fit"], "--alpha does nothing here: cnpf has none"),
        (["simulate", "--model", "thinned", "--n-covariates", "0", "--out", "fit"], "--n-covariates must be a whole"),
        (["simulate", "--model", "thinned", "--dims", "3", "--out", "fit"], "--dims does nothing with --model thinned"),
    ],
)
def test_refusals(cormorant, drawn, workplace, command, said):
    words = {"COUNTS": [drawn / "counts.npz"], "KNOWN": ["--covariates", drawn / "covariates.csv"]}
    ran = cormorant(*(word for part in command for word in words.get(part, [part])))
    assert ran.code == 2
    assert ran.err.startswith(f"error: {said}")
    assert len(ran.err.splitlines()) == 1
    assert list(workplace.iterdir()) == []
