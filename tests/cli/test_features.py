"""Features that rows show or not, from simulated counts to the page."""

import json

import numpy as np
import pandas as pd
import pytest

import cormorant as library
from cormorant.cli import run
from cormorant.cli.sources import load_rows
from cormorant.data import hold_out, hold_out_rows, read
from cormorant.estimators import BetaBernoulliFeatures

SHORT = ["--components", "6", "--dims", "2", "--sweeps", "10", "--samples", "4", "--starts", "1", "--jobs", "1"]


@pytest.fixture(scope="module")
def simulated(tmp_path_factory):
    """Two hundred rows of counts that show features."""
    folder = tmp_path_factory.mktemp("simulated") / "features"
    drawn = ["--model", "beta-features", "--likelihood", "poisson", "--rows", "200", "--columns", "20"]
    assert run(["simulate", *drawn, "--seed", "2", "--out", str(folder)]) == 0
    return folder


@pytest.fixture(scope="module")
def fitted(simulated, tmp_path_factory):
    folder = tmp_path_factory.mktemp("fits") / "features"
    command = ["fit", str(simulated / "counts.npz"), "--model", "beta-features", "--likelihood", "poisson"]
    assert run([*command, "--holdout", "40", "--seed", "3", "--out", str(folder), "--quiet", *SHORT]) == 0
    return folder


def test_the_truth_lies_beside_the_counts(simulated):
    truth = np.load(simulated / "truth.npz")
    assert truth["z"].shape == (200, 6)
    assert truth["mean"].shape == read(simulated / "counts.npz").shape == (200, 20)
    assert truth["correlation"].shape == (6, 6)


def test_rows_held_out_are_scored_by_their_hidden_entries(cormorant, fitted, simulated):
    ran = cormorant("evaluate", fitted, simulated / "counts.npz", "--observed", "0.5", "--json")
    counts, rng = read(simulated / "counts.npz"), np.random.default_rng(3)
    rows = hold_out(counts, 40, rng).held_out
    expected = library.load(fitted).log_likelihood(rows, rng.random(rows.shape) >= 0.5)
    assert ran.json["log_density"]["0.5"] == pytest.approx(expected)
    assert (ran.json["rows"], ran.json["held_out"]) == (40, True)
    table = cormorant("evaluate", fitted, simulated / "counts.npz").out
    assert "beta-features on 40 held-out rows" in table
    assert "log density" in table


def test_features_are_compared_by_what_evaluate_says(cormorant, fitted, simulated):
    """The same rows, entries and seeds; the limit without correlations beside it."""
    command = ["compare", simulated / "counts.npz", "--models", "beta-features,ibp", "--likelihood", "poisson"]
    told = ["--holdout", "40", "--seed", "3", "--quiet"]
    ran = cormorant(*command, *told, "--json", *SHORT)
    first, second = ran.json["models"]
    evaluated = cormorant("evaluate", fitted, simulated / "counts.npz", "--json")
    assert first["log_density"] == pytest.approx(evaluated.json["log_density"])
    assert second["log_density"].keys() == first["log_density"].keys()
    assert "perplexity" not in first
    table = cormorant(*command, *told, *SHORT).out
    assert "Mean log density of the hidden entries of 40 held-out rows (higher is better)" in table


ZEROS_AND_ONES = np.arange(40).reshape(10, 4) % 3 % 2


@pytest.mark.parametrize(
    ("entries", "options", "told"),
    [
        (ZEROS_AND_ONES, [], "zeros and ones alone, which are fitted as real numbers; --likelihood bernoulli takes"),
        (2 * ZEROS_AND_ONES, [], "counts alone, which are fitted as real numbers; --likelihood poisson takes"),
        (np.where(ZEROS_AND_ONES == 0, np.nan, 1.0), [], "--likelihood bernoulli"),
        (0.5 * ZEROS_AND_ONES, [], None),
        (-ZEROS_AND_ONES, [], None),
        (ZEROS_AND_ONES, ["--likelihood", "gaussian"], None),
        (ZEROS_AND_ONES, ["--likelihood", "bernoulli"], None),
    ],
)
def test_zeros_and_ones_are_not_taken_for_real_numbers_without_a_word(cormorant, workplace, entries, options, told):
    np.save("y.npy", entries.astype(float))
    short = ["--model", "ibp", *[x for x in SHORT if x not in ("--dims", "2")], "--sweeps", "2", "--quiet"]
    ran = cormorant("fit", "y.npy", *short, *options, "--out", "fit")
    assert ran.code == 0
    said = [line for line in ran.err.splitlines() if "real numbers" in line]
    assert said == [] if told is None else said[0].startswith("note: y.npy has ") and told in said[0]


def test_components_are_features(cormorant, fitted):
    shown = cormorant("components", fitted, "--by", "frex")
    assert "of 6 features in use" in shown.out
    assert " rows " in shown.out
    usage = [line["share"] for line in cormorant("components", fitted, "--json").json["components"]]
    assert usage == sorted(usage, reverse=True)


def test_correlations(cormorant, fitted):
    pairs = cormorant("correlations", fitted, "--among", 6, "--json").json["pairs"]
    rho = library.load(fitted).correlation_
    assert pairs
    assert all(pair["correlation"] == pytest.approx(rho[pair["component"], pair["other"]]) for pair in pairs)


def test_exports(cormorant, fitted, simulated, workplace):
    assert cormorant("export", fitted, "--out", "of the fit").code == 0
    assert len((workplace / "of the fit" / "rows.csv").read_text().splitlines()) == 161
    assert cormorant("export", fitted, "--counts", simulated / "counts.npz", "--out", "tables").code == 0
    assert {file.name for file in (workplace / "tables").iterdir()} == {
        "components.csv", "columns.csv", "rows.csv", "correlations.csv", "run.json",
    }  # fmt: skip
    assert cormorant("export", fitted, "--format", "graphml").code == 0
    pytest.importorskip("arviz", reason="an optional package: pip install 'cormorant[arviz]'")
    assert cormorant("export", fitted, "--format", "arviz", "--counts", simulated / "counts.npz").code == 0


def test_the_page_speaks_of_rows(cormorant, fitted, workplace):
    assert cormorant("explore", fitted, "--out", "page.html").code == 0
    page = (workplace / "page.html").read_text()
    data = json.loads(page.split('id="data">')[1].split("</script>")[0])
    assert data["shareOf"] == "rows"


def test_rows_are_looked_up_on_the_served_page(cormorant, fitted, simulated, monkeypatch):
    looked_up = {}

    def interrupt(server):
        looked_up.update(server.lookup.profile(4))
        raise KeyboardInterrupt

    monkeypatch.setattr("cormorant.explore.serve.PageServer.serve_forever", interrupt)
    counts = simulated / "counts.npz"
    assert cormorant("explore", fitted, "--serve", "--counts", counts).code == 0
    assert looked_up["shows"][0]["count"] == read(counts).rows([4]).data.max()
    refused = cormorant("explore", fitted, "--serve", "--counts", counts, "--covariates", counts)
    assert (refused.code, "beta-features takes none" in refused.err) == (2, True)


def test_rows_by_their_features(cormorant, fitted, simulated):
    counts, model = simulated / "counts.npz", library.load(fitted)
    shown = cormorant("rows", fitted, counts, "--limit", 3)
    assert "The first 3 of 200 rows" in shown.out
    assert "features" in shown.out
    own = str(model.row_names_[0])
    (found,) = cormorant("rows", fitted, counts, "--row", own, "--top", 2, "--json").json["rows"]
    probability = model.transform(read(counts).rows([int(own)]))[0]
    assert found["components"][0]["share"] == pytest.approx(probability.max())
    assert own not in [line["row"] for line in found["similar"]]
    assert len(found["next"]) == len(found["similar"]) == 2
    one = cormorant("rows", fitted, counts, "--row", own).out
    for part in ("its features", "probability", "would show next", "expected", "similar rows"):
        assert part in one
    refused = cormorant("rows", fitted, counts, "--covariates", counts)
    assert (refused.code, "beta-features takes none" in refused.err) == (2, True)


def test_lists_are_of_counts_alone(cormorant, fitted, simulated):
    ran = cormorant("evaluate", fitted, simulated / "counts.npz", "--top", 5)
    assert (ran.code, ran.err.startswith("error: --top does nothing here")) == (2, True)


def test_independent_features_have_no_correlations(cormorant, simulated, workplace):
    settings = ["--components", "6", "--sweeps", "6", "--samples", "2", "--starts", "1"]
    command = ["fit", simulated / "counts.npz", "--model", "ibp", "--likelihood", "poisson", "--out", "ibp"]
    ran = cormorant(*command, *settings)
    assert ran.code == 0
    assert "This takes about 10 seconds at most" in ran.err
    refused = cormorant("correlations", "ibp")
    assert refused.code == 2
    assert "IBP has no correlations: its components are independent. Fit beta-features" in refused.err
    assert cormorant("explore", "ibp").code == 0  # the page says so, too


def test_entries_that_the_likelihood_cannot_have_drawn(cormorant, simulated, workplace):
    settings = ["--model", "ibp", "--likelihood", "bernoulli", "--out", "ibp", "--quiet"]
    ran = cormorant("fit", simulated / "counts.npz", *settings)
    assert ran.code == 2
    assert "the counts must have zeros and ones (--likelihood bernoulli)" in ran.err
    assert "for counts use --likelihood poisson" in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "ibp", "--likelihood", "binomial"], "--likelihood must be one of gaussian, poisson, bernoulli"),
        (
            ["--model", "ibp", "--likelihood", "poisson", "--noise", "1"],
            "--noise does nothing with --likelihood poisson",
        ),
        (
            ["--model", "ibp", "--likelihood", "poisson", "--row-total", "9"],
            "--row-total does nothing with",
        ),
        (["--probability", "0.2"], "--probability does nothing with --model cnpf"),
    ],
)
def test_simulations_that_cannot_be(cormorant, workplace, options, said):
    ran = cormorant("simulate", "--out", "drawn", *options)
    assert ran.code == 2
    assert ran.err.startswith(f"error: {said}")
    assert list(workplace.iterdir()) == []


# Real numbers


@pytest.fixture(scope="module")
def real(tmp_path_factory):
    """A hundred rows of real numbers, and a fit of them."""
    folder = tmp_path_factory.mktemp("real")
    drawn = ["--model", "beta-features", "--rows", "100", "--columns", "12", "--noise", "0.1", "--seed", "2"]
    assert run(["simulate", *drawn, "--likelihood", "gaussian", "--out", str(folder / "drawn")]) == 0
    fit = ["fit", str(folder / "drawn" / "matrix.npy"), "--model", "beta-features", "--holdout", "20", "--seed", "3"]
    assert run([*fit, "--out", str(folder / "fit"), *SHORT]) == 0
    return folder


@pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")
def test_real_numbers_are_drawn_and_fitted(real):
    y, truth = np.load(real / "drawn" / "matrix.npy"), np.load(real / "drawn" / "truth.npz")
    assert y.shape == truth["mean"].shape == (100, 12)
    assert (y < 0).any()
    record = json.loads((real / "fit" / "run.json").read_text())
    assert (record["held_out"], record["parameters"]["likelihood"]) == (20, "gaussian")
    short = {"n_sweeps": 10, "n_samples": 4, "n_starts": 1, "n_jobs": 1, "random_state": 3}
    expected = BetaBernoulliFeatures(6, 2, **short).fit(y[hold_out_rows(100, 20, 3)[0]])
    np.testing.assert_array_equal(library.load(real / "fit").components_, expected.components_)


def test_real_numbers_are_scored_and_looked_at(real, cormorant, workplace):
    matrix = real / "drawn" / "matrix.npy"
    found = cormorant("evaluate", real / "fit", matrix, "--json").json
    assert (found["rows"], found["held_out"]) == (20, True)
    command = [
        "compare",
        matrix,
        "--models",
        "beta-features,ibp",
        "--holdout",
        "20",
        "--seed",
        "3",
        "--quiet",
        "--json",
    ]
    assert cormorant(*command, *SHORT).json["models"][0]["log_density"] == pytest.approx(found["log_density"])
    (row,) = cormorant("rows", real / "fit", matrix, "--row", "7", "--json").json["rows"]
    assert row["next"] == []
    assert "would show next" not in cormorant("rows", real / "fit", matrix, "--row", "7").out
    assert "would show next" not in cormorant("rows", real / "fit", matrix).out
    assert cormorant("export", real / "fit", "--counts", matrix, "--out", "tables").code == 0


def test_a_table_of_real_numbers(real, cormorant, workplace):
    """The same numbers as a table with names give the same fit; an empty cell is missing."""
    y = np.load(real / "drawn" / "matrix.npy")
    table = pd.DataFrame(y, index=[f"r{u}" for u in range(100)], columns=[f"c{i}" for i in range(12)])
    table.to_csv("table.csv", float_format="%.17g")
    fit = ["--model", "ibp", "--likelihood", "gaussian", "--components", "6", "--sweeps", "6", "--samples", "2"]
    assert cormorant("fit", "table.csv", *fit, "--out", "named").code == 0
    assert cormorant("fit", real / "drawn" / "matrix.npy", *fit, "--out", "plain", "--quiet").code == 0
    named, plain = library.load("named"), library.load("plain")
    np.testing.assert_allclose(named.components_, plain.components_)
    assert list(named.column_names_) == list(table.columns)
    assert list(named.row_names_) == list(table.index)
    table.iloc[0, 0] = np.nan
    table.to_csv("missing.csv")
    ran = cormorant("fit", "missing.csv", *fit, "--out", "with-missing")
    assert "100 rows x 12 columns, 1 missing; 0 rows held out" in ran.err


def test_triples_of_real_numbers_and_of_counts(tmp_path):
    """Where there is no triple a real number is missing, and a count is zero; a first line of numbers is a triple."""
    lines = [(u, i, (u * i) % 2) for u in range(30) for i in range(8) if (u + i) % 3]
    for header in (["row", "column", "value"], False):
        pd.DataFrame(lines).to_csv(tmp_path / "long.csv", index=False, header=header)
        real, counts = (load_rows(str(tmp_path / "long.csv"), name) for name in ("gaussian", "bernoulli"))
        assert (real.shape, real.n_missing) == ((30, 8), 80)
        assert (counts.shape, counts.nnz) == ((30, 8), sum(n for *_, n in lines))
        assert list(counts.column_names) == list(real.column_names) == list("01234567")


def test_a_matrix_of_zeros_and_ones_may_have_entries_missing(cormorant, workplace):
    y = np.random.default_rng(0).integers(0, 2, (30, 8)).astype(float)
    y[3, 4] = np.nan
    pd.DataFrame(y, columns=list("abcdefgh")).to_csv("y.csv", index=False)
    fit = ["--model", "ibp", "--likelihood", "bernoulli", "--components", "3", "--sweeps", "4", "--samples", "1"]
    assert cormorant("fit", "y.csv", *fit, "--starts", "1", "--quiet", "--out", "binary").code == 0
    assert list(library.load("binary").column_names_) == list("abcdefgh")
    assert cormorant("evaluate", "binary", "y.csv", "--json").json["rows"] == 30
    (row,) = cormorant("rows", "binary", "y.csv", "--row", "3", "--top", "8", "--json").json["rows"]
    assert {line["column"] for line in row["next"]} == {
        name for name, e in zip("abcdefgh", y[3], strict=True) if e != 1
    }
    np.save("y.npy", y)
    np.testing.assert_array_equal(load_rows("y.npy", "bernoulli").values, y)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b\n1,x\n2,y\n", "must have numbers in all columns but the first, which may name the rows; 'b' has others"),
        ("a,b\n1,inf\n", "must hold finite numbers; that of row 0, column 1 is infinite"),
        ("a,b\n", "must hold a matrix with rows and columns"),
    ],
)
def test_tables_that_are_no_matrix(cormorant, workplace, text, said):
    (workplace / "table.csv").write_text(text)
    ran = cormorant("fit", "table.csv", "--model", "ibp", "--out", "ibp", "--quiet")
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
