"""Every verb that writes: whole or not at all, and one line where it cannot."""

import os
import resource
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from .conftest import SMALL

# What each verb writes to, its arguments, and the function that writes the bulk of it.
VERBS = {
    "prepare": ("counts.npz", ["nyt"], "numpy.savez_compressed"),
    "export": ("graph.gexf", ["FIT", "--format", "gexf"], "networkx.write_gexf"),
    "export csv": ("tables", ["FIT"], "pandas.DataFrame.to_csv"),
    "explore": ("page.html", ["FIT"], "pathlib.Path.write_text"),
    "simulate": ("simulated", ["--rows", "20"], "numpy.savez_compressed"),
}


@pytest.mark.parametrize("verb", VERBS)
def test_full_disks(cormorant, fit_folder, tmp_path, full_disk, verb):
    name, arguments, writer = VERBS[verb]
    command = [verb.split()[0], *(fit_folder if a == "FIT" else a for a in arguments), "--out", tmp_path / name]
    full_disk(writer)
    ran = cormorant(*command)
    assert ran.code == 1
    assert ran.err == (
        f"error: {tmp_path / name} could not be written: No space left on device. "
        "Nothing is left of it; free the disk, or choose another --out.\n"
    )
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("format", ["h5ad", "arviz"])
@pytest.mark.parametrize("room", [0, 1 << 40])
def test_hdf5_never_meets_a_full_disk(cormorant, fit_folder, tmp_path, monkeypatch, full_disk, format, room):
    """It crashes Python: either there is room to make the file somewhere, or no writer is called."""
    pytest.importorskip({"h5ad": "anndata", "arviz": "arviz"}[format])
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=room))
    if room:
        full_disk("shutil.move")
    ran = cormorant("export", fit_folder, "--format", format, "--out", tmp_path / "file")
    assert ran.code == 1
    assert ran.err.startswith(f"error: {tmp_path / 'file'} could not be written: No space left on device. Nothing is")
    assert list(tmp_path.iterdir()) == []


def test_a_failed_write_keeps_what_was_there(cormorant, fit_folder, tmp_path, full_disk):
    page = tmp_path / "page.html"
    assert cormorant("explore", fit_folder, "--out", page).code == 0
    before = page.read_bytes()
    full_disk("pathlib.Path.write_text")
    assert cormorant("explore", fit_folder, "--out", page, "--force").code == 1
    assert page.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"page.html", "page.html.run.json"}


def test_a_limit_of_the_system(tmp_path):
    """A write that really fails: the system lets no file grow beyond a kilobyte."""
    ran = subprocess.run(
        [sys.executable, "-c", "from cormorant.cli import main; main()", "prepare", "nyt", "--out", "counts.npz"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1024, 1024)),
    )
    assert ran.returncode == 1
    assert ran.stderr.startswith("error: counts.npz could not be written: File too large.")
    assert len(ran.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("verb", VERBS)
def test_places_that_cannot_be(cormorant, fit_folder, tmp_path, verb):
    name, arguments, _ = VERBS[verb]
    (tmp_path / "file").write_text("")
    out = tmp_path / "file" / name
    ran = cormorant(verb.split()[0], *(fit_folder if a == "FIT" else a for a in arguments), "--out", out)
    assert ran.code == 1
    assert ran.err == f"error: cannot write in {tmp_path / 'file'} (Not a directory); choose another --out.\n"


def test_a_record_is_not_replaced_unasked_either(cormorant, fit_folder, tmp_path):
    record = tmp_path / "page.html.run.json"
    record.write_text("mine")
    ran = cormorant("explore", fit_folder, "--out", tmp_path / "page.html")
    assert ran.code == 2
    assert ran.err.startswith(f"error: {record} exists; choose another --out")
    assert record.read_text() == "mine"
    assert cormorant("explore", fit_folder, "--out", tmp_path / "page.html", "--force").code == 0


def test_devices_are_not_replaced(cormorant, fit_folder, tmp_path):
    pipe = tmp_path / "pipe.html"
    os.mkfifo(pipe)
    ran = cormorant("explore", fit_folder, "--out", pipe, "--force")
    assert ran.code == 2
    assert "neither a file nor a folder" in ran.err
    assert pipe.is_fifo()


def test_inputs_are_never_replaced(cormorant, workplace):
    """Whether the output would be what is read, hold it, or lie within it."""
    assert cormorant("simulate", "--rows", 40, "--n-covariates", 1, "--out", "sim").code == 0
    assert cormorant("fit", "sim/counts.npz", "--out", "fit", "--quiet", *SMALL).code == 0  # beside it is a fine place
    before = {file: file.read_bytes() for file in workplace.rglob("*") if file.is_file()}
    for command, said in (
        (["fit", "sim/counts.npz", "--out", "sim"], "sim holds sim/counts.npz"),
        (["fit", "nyt", "--covariates", "sim/covariates.csv", "--out", "sim"], "sim holds sim/covariates.csv"),
        (["export", "fit", "--out", "fit"], "fit is fit"),
        (["export", "fit", "--format", "gexf", "--out", "fit/run.json"], "fit/run.json lies within fit"),
        (["export", "fit", "--counts", "sim/counts.npz", "--out", "sim"], "sim holds sim/counts.npz"),
        (["explore", "fit", "--out", "fit/model.json"], "fit/model.json lies within fit"),
        (["prepare", "sim/counts.npz", "--out", "sim/../sim/counts.npz"], "counts.npz is sim/counts.npz"),
        (["prepare", "nyt", "--vocabulary", "sim/counts.npz", "--out", "sim/counts.npz"], "is sim/counts.npz"),
    ):
        ran = cormorant(*command, "--force")
        assert ran.code == 2
        assert f"{said}, which this command reads" in ran.err
    assert {file: file.read_bytes() for file in workplace.rglob("*") if file.is_file()} == before


def test_the_sample_is_no_path(cormorant, workplace):
    for force in ([], ["--force"]):
        assert cormorant("fit", "nyt", "--out", "nyt", "--quiet", *SMALL, "--max-epochs", 1, *force).code == 0


@pytest.mark.parametrize("verb", ["fit", "simulate", "export"])
def test_outputs_have_a_name(cormorant, workplace, verb):
    ran = cormorant(verb, *([] if verb == "simulate" else ["nyt"]), "--out", "", "--force")
    assert ran.code == 2
    assert ran.err.startswith("error: --out must name a path")


@pytest.mark.parametrize("verb", VERBS)
def test_files_and_folders_do_not_replace_each_other(cormorant, fit_folder, workplace, verb):
    name, arguments, _ = VERBS[verb]
    folder = not Path(name).suffix
    Path(name).touch() if folder else Path(name).mkdir()
    ran = cormorant(verb.split()[0], *(fit_folder if a == "FIT" else a for a in arguments), "--out", name, "--force")
    assert ran.code == 2
    assert f"{name} is {'a file, and a folder' if folder else 'a folder, and a file'} is to be written" in ran.err
