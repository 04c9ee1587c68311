"""`components`, `correlations`, `info`, and fits that cannot be read."""

import shutil

import pytest

import cormorant as library
from cormorant.estimators.registry import ALL

from .conftest import SHORT


def test_components(cormorant, fit_folder):
    ran = cormorant("components", fit_folder, "--top", 30, "--limit", 2)
    assert ran.code == 0
    assert "of 6 components in use" in ran.out
    assert "word1" in ran.out


def test_names_stay_text(cormorant, fit_folder):
    """Neither rich's tags nor the terminal's escape codes in a column's name have any effect."""
    ran = cormorant("components", fit_folder, "--top", 30)
    joined = "".join(letter for letter in ran.out if letter not in " \n│")
    assert "[bold]tag[/bold]" in joined
    assert "\x1b[31m" not in ran.out
    assert "\N{REPLACEMENT CHARACTER}[31mred" in joined


def test_components_json(cormorant, fit_folder):
    found = cormorant("components", fit_folder, "--top", 3, "--json").json["components"]
    model = library.load(fit_folder)
    assert len(found) == model.n_components_used_
    assert found[0]["component"] == 0
    assert found[0]["share"] == pytest.approx(model.usage_[0])
    assert len(found[0]["top_columns"]) == 3


def test_correlations(cormorant, fit_folder):
    ran = cormorant("correlations", fit_folder, "--pairs", 2)
    assert ran.code == 0
    assert "Components that go together" in ran.out
    assert "Components that avoid each other" in ran.out


def test_intervals_of_chains_that_have_not_mixed_come_with_a_note(cormorant, counts_file, tmp_path):
    sampler = ["--inference", "gibbs", "--components", 6, "--dims", 2, "--chains", 2, "--sweeps", 6, "--samples", 3]
    assert cormorant("fit", counts_file, "--out", tmp_path / "fit", "--quiet", *sampler).code == 0
    ran = cormorant("correlations", tmp_path / "fit")
    assert " to " in ran.out
    assert "the intervals are too narrow: chains have not mixed" in ran.err


def test_correlations_json(cormorant, fit_folder):
    pairs = cormorant("correlations", fit_folder, "--among", 6, "--pairs", 20, "--json").json["pairs"]
    assert len(pairs) == 15  # all pairs of six components
    assert pairs == sorted(pairs, key=lambda p: (p["sign"] == "negative", -abs(p["correlation"])))


def test_a_model_without_correlations_says_so(cormorant, counts_file, tmp_path):
    cormorant("fit", counts_file, "--model", "hgp", "--out", tmp_path / "fit", *SHORT)
    ran = cormorant("correlations", tmp_path / "fit")
    assert ran.code == 2
    assert "HGP has no correlations" in ran.err


def test_info(cormorant):
    ran = cormorant("info", "--json")
    assert ran.json["versions"]["cormorant"] == library.__version__
    assert set(ran.json["models"]) == set(ALL)
    assert "Models" in cormorant("info").out


@pytest.mark.parametrize("verb", ["components", "correlations", "evaluate", "rows", "export", "explore"])
@pytest.mark.parametrize("fault", ["missing", "no arrays", "cut arrays", "damaged json", "newer"])
def test_fits_that_cannot_be_read(cormorant, fit_folder, counts_file, tmp_path, monkeypatch, verb, fault):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "fit"
    if fault != "missing":
        shutil.copytree(fit_folder, folder)
    arrays, document = folder / "arrays.safetensors", folder / "model.json"
    if fault == "no arrays":
        arrays.unlink()
    elif fault == "cut arrays":
        arrays.write_bytes(arrays.read_bytes()[:-100])
    elif fault == "damaged json":
        document.write_text("{")
    elif fault == "newer":
        document.write_text('{"format": 999}')
    ran = cormorant(verb, folder, *([counts_file] if verb in ("evaluate", "rows") else []))
    assert ran.code == 2
    assert ran.out == ""
    assert str(folder) in ran.err
    assert len(ran.err.splitlines()) == 1


def test_a_damaged_record_is_not_fatal(cormorant, fit_folder, counts_file, tmp_path):
    shutil.copytree(fit_folder, tmp_path / "fit")
    (tmp_path / "fit" / "run.json").write_text("{")
    ran = cormorant("evaluate", tmp_path / "fit", counts_file, "--json")
    assert ran.json["held_out"] is True
