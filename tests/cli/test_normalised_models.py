"""The verbs on diln and hdp: every command that takes a model or a fit takes these."""

import pytest

from .conftest import SHORT, SMALL


@pytest.mark.parametrize(("model", "options"), [("diln", [*SMALL, "--top", "gamma"]), ("hdp", SHORT)])
def test_from_fit_to_page(cormorant, counts_file, tmp_path, model, options):
    out = tmp_path / model
    ran = cormorant("fit", counts_file, "--model", model, "--holdout", "60", "--out", out, "--json", *options)
    assert ran.code == 0, ran.err
    assert ran.json["model"] == model
    if model == "diln":
        assert ran.json["parameters"]["top"] == "gamma"
        assert cormorant("correlations", out).code == 0
    assert cormorant("evaluate", out, counts_file, "--observed", "0.5").code == 0
    assert cormorant("components", out).code == 0
    assert cormorant("explore", out, "--out", tmp_path / "page.html").code == 0


def test_options_of_the_top_are_for_diln(cormorant, counts_file, tmp_path):
    ran = cormorant("fit", counts_file, "--model", "hdp", "--top", "beta", "--out", tmp_path / "fit", *SHORT)
    assert ran.code == 2
    assert "--top does nothing here" in ran.err
    ran = cormorant("fit", counts_file, "--model", "diln", "--top", "levy", "--out", tmp_path / "fit", *SMALL)
    assert ran.code == 2
    assert "top must be one of dirichlet, gamma, beta" in ran.err


def test_compare_and_simulate(cormorant, counts_file, tmp_path):
    ran = cormorant("compare", counts_file, "--models", "hdp,diln", "--holdout", "60", "--json", *SMALL)
    assert ran.code == 0, ran.err
    assert {record["model"] for record in ran.json["models"]} == {"hdp", "diln"}
    for more in ([], ["--prior"]):
        sizes = ["--rows", "30", "--columns", "12", "--components", "3", "--force"]
        assert cormorant("simulate", "--model", "diln", *more, *sizes, "--out", tmp_path / "drawn").code == 0
