"""A small file of counts, a fit of it, and a way to run commands as the shell would."""

import json
from dataclasses import dataclass

import pytest

from cormorant.cli import run
from cormorant.data import write
from cormorant.datasets import simulate

SMALL = ["--components", "6", "--dims", "2", "--max-epochs", "6", "--jobs", "1"]


@dataclass(frozen=True)
class Ran:
    """Exit code, standard output, standard error."""

    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def cormorant(capfd):
    """Run a command line in this process."""

    def call(*arguments):
        code = run([str(argument) for argument in arguments])
        return Ran(code, *capfd.readouterr())

    return call


@pytest.fixture(scope="session")
def counts():
    """300 rows of counts; two columns have names that a terminal could take for commands."""
    drawn = simulate(n_rows=300, n_columns=30, n_components=4, n_dims=2, seed=3).counts
    return drawn.named(column_names=[*(f"word{i}" for i in range(28)), "[bold]tag[/bold]", "\x1b[31mred"])


@pytest.fixture(scope="session")
def counts_file(counts, tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "counts.npz"
    write(counts, path)
    return path


@pytest.fixture(scope="session")
def fit_folder(counts_file, tmp_path_factory):
    """A CNPF fit with 60 rows held out; tests do not change it."""
    folder = tmp_path_factory.mktemp("fits") / "cnpf"
    assert run(["fit", str(counts_file), "--out", str(folder), "--holdout", "60", "--quiet", *SMALL]) == 0
    return folder
