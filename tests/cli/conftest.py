"""A small file of counts, a fit of it, and a way to run commands as the shell would."""

import errno
import json
import os
from dataclasses import dataclass

import pytest

from cormorant.cli import run
from cormorant.data import write
from cormorant.datasets import simulate

SHORT = ["--inference", "structured", "--components", "6", "--max-epochs", "6", "--jobs", "1"]
SMALL = [*SHORT, "--dims", "2"]


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


@pytest.fixture
def workplace(tmp_path, monkeypatch):
    """An empty folder to run in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def full_disk(monkeypatch):
    """Make a function of some module fail as on a full disk."""

    def fill(name):
        def full(*_, **__):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

        monkeypatch.setattr(name, full)

    return fill


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
