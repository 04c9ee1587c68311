"""`evaluate` and `compare`: the library's numbers, on the right rows."""

import numpy as np
import pytest

import cormorant as library
from cormorant.cli.evaluate import held_out_rows
from cormorant.data import Counts, split_entries, write
from cormorant.evaluation import perplexity, ranking_metrics

from .conftest import SHORT, SMALL


def test_evaluate_scores_the_rows_held_out(cormorant, fit_folder, counts, counts_file):
    ran = cormorant("evaluate", fit_folder, counts_file, "--observed", "0.1,0.5", "--top", 5, "--json")
    assert ran.code == 0
    model = library.load(fit_folder)
    rng = np.random.default_rng(1)
    rows = counts.rows(rng.permutation(300)[:60])
    shown, test = split_entries(rows, 0.1, rng)
    assert ran.json["perplexity"]["0.1"] == pytest.approx(perplexity(model, shown, test))
    assert ran.json["recall@5"]["0.1"] == pytest.approx(ranking_metrics(model, shown, test, 5)["recall@5"])
    assert set(ran.json["ndcg@5"]) == {"0.1", "0.5"}
    assert (ran.json["rows"], ran.json["held_out"], ran.json["model"]) == (60, True, "cnpf")


def test_evaluate_agrees_with_compare(cormorant, fit_folder, counts_file):
    compared = cormorant("compare", counts_file, "--models", "cnpf", "--holdout", 60, "--json", "--quiet", *SMALL)
    evaluated = cormorant("evaluate", fit_folder, counts_file, "--json")
    assert evaluated.json["perplexity"] == pytest.approx(compared.json["models"][0]["perplexity"])


def test_evaluate_scores_all_rows_of_another_file(cormorant, fit_folder, counts, tmp_path):
    write(counts.rows(slice(0, 100)), tmp_path / "other.npz")
    ran = cormorant("evaluate", fit_folder, tmp_path / "other.npz", "--json")
    assert (ran.json["rows"], ran.json["held_out"]) == (100, False)
    assert ran.err == ""


def test_evaluate_says_when_it_scores_what_was_fitted(cormorant, counts_file, tmp_path):
    cormorant("fit", counts_file, "--model", "hgp", "--out", tmp_path / "fit", *SHORT)
    ran = cormorant("evaluate", tmp_path / "fit", counts_file)
    assert ran.code == 0
    assert "note: the fit held no rows out" in ran.err
    assert "hgp on 300 rows" in ran.out


def test_held_out_rows_of_a_model_saved_from_python(fit_folder, counts):
    """Without a record of the counts, the number of rows decides."""
    model = library.load(fit_folder)
    assert held_out_rows(model, {}, counts) == counts.numbered().rows(model.held_out_rows_)
    assert held_out_rows(model, {}, counts.rows(slice(0, 299))) is None


def test_evaluate_wants_the_columns_of_the_fit(cormorant, fit_folder, counts, tmp_path):
    write(counts.columns(slice(0, 20)), tmp_path / "narrow.npz")
    narrow = cormorant("evaluate", fit_folder, tmp_path / "narrow.npz")
    assert narrow.code == 2
    assert "the counts must have the 30 columns of the fit, in their order; they have only 20 of them" in narrow.err
    assert "cormorant prepare --vocabulary FILE" in narrow.err
    write(counts.columns(np.arange(30)[::-1]), tmp_path / "turned.npz")
    turned = cormorant("evaluate", fit_folder, tmp_path / "turned.npz")
    assert turned.code == 2
    assert "another order" in turned.err
    nameless = Counts(counts.indptr, counts.indices, counts.data, counts.shape).columns(slice(0, 20))
    write(nameless, tmp_path / "nameless.npz")
    ran = cormorant("rows", fit_folder, tmp_path / "nameless.npz")
    assert ran.err == "error: the counts must have the 30 columns of the fit; they have 20.\n"


def test_evaluate_shows_a_table(cormorant, fit_folder, counts_file):
    ran = cormorant("evaluate", fit_folder, counts_file, "--observed", "0.25")
    assert "cnpf on 60 held-out rows" in ran.out
    assert "25%" in ran.out
    assert "perplexity" in ran.out


def test_compare_prints_one_object(cormorant, counts_file):
    models = "hgp,scaled-hgp,cnpf,softplus-cnpf"
    ran = cormorant("compare", counts_file, "--models", models, "--holdout", 50, "--observed", "0.1,0.5",
                    "--seed", 1, "--json", *SMALL)  # fmt: skip
    assert ran.code == 0
    found = ran.json["models"]
    assert [record["model"] for record in found] == models.split(",")
    for record in found:
        assert set(record["perplexity"]) == {"0.1", "0.5"}
        assert 1 < record["perplexity"]["0.5"] < 30
        assert record["seconds"] > 0
        assert 1 <= record["components_used"] <= 6


def test_compare_shows_a_table(cormorant, counts_file):
    ran = cormorant("compare", counts_file, "--models", "hgp", "--holdout", 50, "--quiet", *SHORT)
    assert "Perplexity of 50 held-out rows" in ran.out
    assert "10% observed" in ran.out


def test_an_interrupted_comparison_shows_what_is_finished(cormorant, counts_file, monkeypatch):
    import cormorant.evaluation as evaluation

    whole = evaluation.compare

    def cut_short(counts, models, **options):
        return whole(counts, {"hgp": models["hgp"]}, **options)

    monkeypatch.setattr(evaluation, "compare", cut_short)
    ran = cormorant("compare", counts_file, "--models", "hgp,cnpf", "--holdout", 50, "--quiet", "--json", *SMALL)
    assert ran.code == 1
    assert [record["model"] for record in ran.json["models"]] == ["hgp"]
    assert "only 1 of 2 models were compared" in ran.err


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--models", "hgp,scaled-hgp"], "--dims does nothing here: hgp, scaled-hgp have none"),
        (
            ["--models", "hgp,lda"],
            "--models must be some of cnpf, softplus-cnpf, scaled-hgp, hgp, diln, hdp, thinned, beta-features, "
            "gamma-features, ibp; got 'lda'",
        ),
        (["--models", "hgp,hgp"], "--models must name each model once; got 'hgp,hgp'"),
        (
            ["--models", "cnpf,ibp"],
            "--models must be all of counts, which are compared by perplexity, or all of features",
        ),
        (["--models", ","], "at least one model"),
        (["--observed", "1.5"], "--observed must be different shares between 0 and 1"),
        (["--observed", "half"], "--observed must be different shares between 0 and 1"),
        (["--observed", "0.1,0.10"], "--observed must be different shares between 0 and 1"),
        (["--holdout", "300"], "--holdout"),
    ],
)
def test_compare_refuses(cormorant, counts_file, options, said):
    ran = cormorant("compare", counts_file, "--quiet", *SMALL, *options)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
