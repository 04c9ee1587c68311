"""The frame around the verbs: help, errors in one line, exit codes, interruption."""

import re
import subprocess
import sys

import numpy as np
import pytest

from cormorant.cli import run
from cormorant.cli.errors import StoppedEarly, explain, in_options

VERBS = [
    "demo",
    "prepare",
    "fit",
    "evaluate",
    "compare",
    "components",
    "correlations",
    "rows",
    "explore",
    "export",
    "simulate",
    "info",
]


def test_help_tells_the_verbs(cormorant):
    for arguments in ([], ["--help"]):
        ran = cormorant(*arguments)
        assert ran.code == 0
        for verb in VERBS:
            assert f" {verb} " in ran.out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_has_an_example(cormorant, verb):
    assert f"Example: cormorant {verb}" in cormorant(verb, "--help").out


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_speaks_to_machines(cormorant, verb):
    assert "--json" in cormorant(verb, "--help").out


@pytest.mark.parametrize(
    ("verb", "said"),
    [
        ("explore", "With --serve: rows to look up"),
        ("explore", "With --serve and --counts: what is known of those rows"),
        ("explore", "Default: those in use, at most 300"),
        ("effects", "Default: all that hold any counts"),
        ("effects", "F is the logarithm (softplus-cnpf: about the size) of a component's weight"),
        ("correlations", "Default: those with 90% of the counts"),
    ],
)
def test_the_help_says_what_is_so(cormorant, verb, said):
    columns = re.sub(r"[^\S\n]{2,}|[│╭╰─]", " ", cormorant(verb, "--help").out)
    assert said in " ".join(columns.split())


def test_version(cormorant):
    ran = cormorant("--version")
    assert (ran.code, ran.out.split()[0]) == (0, "cormorant")


def test_usage_errors_name_the_help(cormorant):
    ran = cormorant("fit")
    assert ran.code == 2
    assert ran.err == "error: Missing argument 'COUNTS'. See: cormorant fit --help\n"
    assert cormorant("fitt").code == 2


def test_a_question_has_one_mark(cormorant):
    assert (
        cormorant("comparee").err
        == "error: No such command 'comparee'. Did you mean 'compare'? See: cormorant --help\n"
    )


@pytest.mark.parametrize("place", ["before", "after"])
def test_debug_shows_the_traceback(place):
    arguments = ["--debug", "components", "no"] if place == "before" else ["components", "no", "--debug"]
    with pytest.raises(FileNotFoundError):
        run(arguments)


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (KeyboardInterrupt(), 1, "interrupted; nothing was written"),
        (StoppedEarly("interrupted after 3 epochs"), 1, "interrupted after 3 epochs"),
        (PermissionError(13, "Permission denied", "x"), 1, "x: Permission denied."),
        (IsADirectoryError("x is a folder"), 2, "x is a folder"),
        (ImportError("pip install 'cormorant[anndata]'"), 1, "pip install"),
        (MemoryError(), 1, "--batch-size"),
        (ZeroDivisionError("division by zero"), 1, "ZeroDivisionError: division by zero (a bug?"),
        (ValueError("n_components must\nbe 1"), 2, "--components must be 1"),
    ],
)
def test_explanations(error, code, said):
    message, found = explain(error)
    assert found == code
    assert said in message
    assert "\n" not in message


def test_values_refused_by_other_libraries_are_bugs():
    try:
        np.zeros(2) + np.zeros(3)
    except ValueError as error:
        # Raised here, the test stands for a library that is not ours.
        message, code = explain(error)
    assert code == 1
    assert "a bug?" in message


def test_an_interrupted_command(cormorant, monkeypatch, counts_file):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cormorant.cli.compare.load_rows", stop)
    ran = cormorant("compare", counts_file)
    assert ran.code == 1
    assert ran.err == "error: interrupted; nothing was written. Run the command again.\n"


@pytest.mark.parametrize(
    ("said", "meant"),
    [
        ("raise n_components (for example to 12)", "raise --components (for example to 12)"),
        ("a0 must be positive", "--a0 must be positive"),
        ("the prior of a0 must be proper", "the prior of a0 must be proper"),
        ("row must be a number from 0 to 3", "--row must be a number from 0 to 3"),
        ("the first row must be named", "the first row must be named"),
        ("x exists; pass overwrite=True to replace it", "x exists; add --force to replace it"),
        ("inference='gibbs' needs whole numbers", "--inference gibbs needs whole numbers"),
        ("others need inference='structured' or 'gibbs'.", "others need --inference structured or gibbs."),
        ("stopping must be 'auto' or a user's; got 'x'", "--stopping must be auto or a user's; got 'x'"),
        ("got atom_variance=-1.5", "got --atom-variance -1.5"),
        ("the filters are min_df=2, max_df=0.5", "the filters are --min-df 2, --max-df 0.5"),
        ("Choose both row= and column= (count= is optional)", "Choose both --row and --column (--count is optional)"),
        ("by must be one of mean, lift; got 'x'", "--by must be one of mean, lift; got 'x'"),
        ("model must be one of hgp; got 'x'", "--model must be one of hgp; got 'x'"),
        (
            "X has 3 features, but CNPF is expecting 5 features as input.",
            "the counts must have the 5 columns of the fit; they have 3.",
        ),
        (
            "x is not a saved model: it does not exist.",
            "x is not a saved model: it does not exist. Give the folder that cormorant fit wrote.",
        ),
        (
            "x is not a saved model: it is a file; give the folder that save wrote.",
            "x is not a saved model: it is a file. Give the folder that cormorant fit wrote.",
        ),
    ],
)
def test_parameters_go_by_the_names_of_their_options(said, meant):
    assert in_options(said) == meant


def test_what_the_library_logs_is_a_note(cormorant, tmp_path):
    (tmp_path / "twice.csv").write_text("row,column,count\na,b,1\na,b,2\na,c,1\n")
    ran = cormorant("prepare", tmp_path / "twice.csv", "--out", tmp_path / "counts.npz", "--json")
    assert ran.err.startswith("note: ")
    assert "1 duplicated (row, column) pairs were summed" in ran.err
    assert ran.json["nonzeros"] == 2


def test_the_installed_command():
    found = subprocess.run(
        [sys.executable, "-c", "from cormorant.cli import main; main()", "fit", "nothing.npz", "--out", "x"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert found.returncode == 2
    assert found.stdout == ""
    assert found.stderr.startswith("error: nothing.npz does not exist")


def test_python_runs_it_as_a_module():
    ran = subprocess.run([sys.executable, "-m", "cormorant", "--version"], capture_output=True, text=True, check=True)
    assert ran.stdout.startswith("cormorant ")
    wrong = subprocess.run([sys.executable, "-m", "cormorant", "fly"], capture_output=True, text=True, check=False)
    assert wrong.returncode == 2
    assert wrong.stderr.endswith("See: cormorant --help\n")
