"""`cormorant demo --quick`: the whole story, its figures and its tables."""

import json

import pandas as pd
import pytest

import cormorant as library
from cormorant.cli.demo import Scale


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The folder and what was printed, made once."""
    import contextlib
    import io

    from cormorant.cli import run

    folder = tmp_path_factory.mktemp("demo") / "out"
    printed, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(said):
        assert run(["demo", "--quick", "--out", str(folder)]) == 0
    return folder, printed.getvalue(), said.getvalue()


def test_it_tells_the_story(told):
    _, printed, _ = told
    for part in (
        "most used components",
        "go together",
        "avoid each other",
        "Perplexity of 1,000 held-out rows",
    ):
        assert part in printed
    for share in ("10% observed", "50% observed"):
        assert share in printed


def test_it_says_where_the_figures_are(told):
    folder, _, said = told
    for name in ("correlations", "graph", "components", "weights", "convergence", "comparison"):
        name = f"{name}.png"
        assert str(folder / name) in said
        assert (folder / name).read_bytes().startswith(b"\x89PNG")
        assert (folder / name).stat().st_size > 10_000


def test_its_tables_and_models_can_be_read(told):
    folder, _, said = told
    assert str(folder / "page.html") in said
    assert b"New York Times articles" in (folder / "page.html").read_bytes()
    components = pd.read_csv(folder / "components.csv")
    assert len(components["top_columns"][0].split("; ")) == 10
    assert len(pd.read_csv(folder / "correlations.csv")) > 1
    record = json.loads((folder / "run.json").read_text())
    assert [model["model"] for model in record["models"]] == ["hgp", "cnpf"]
    assert len(library.load(folder / "cnpf").held_out_rows_) == 1000


def test_correlation_helps(told):
    record = json.loads((told[0] / "run.json").read_text())
    hgp, cnpf = (model["perplexity"]["0.1"] for model in record["models"])
    assert cnpf < hgp < 3002


def test_it_speaks_to_machines(cormorant, workplace, monkeypatch):
    monkeypatch.setattr("cormorant.cli.demo.QUICK", Scale(n_components=4, n_dims=2, max_epochs=2, n_sweeps=3))
    ran = cormorant("demo", "--quick", "--json")
    assert ran.code == 0
    assert [model["model"] for model in ran.json["models"]] == ["hgp", "cnpf"]
    assert ran.json["out"] == "demo-output"
    assert list(pd.read_csv("demo-output/comparison.csv")["model"]) == ["hgp", "cnpf"]


def test_it_replaces_nothing(cormorant, told):
    ran = cormorant("demo", "--quick", "--out", told[0])
    assert ran.code == 2
    assert "--force" in ran.err
