"""Standard output: one object for machines, one line where it cannot be written, silence where nobody reads on."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from .conftest import SMALL

COMMAND = [sys.executable, "-c", "from cormorant.cli import main; main()"]

VERBS = {
    "prepare": ["COUNTS", "--out", "OUT.npz"],
    "fit": ["COUNTS", "--out", "OUT", *SMALL],
    "evaluate": ["FIT", "COUNTS"],
    "compare": ["COUNTS", "--models", "hgp,cnpf", "--holdout", "50", *SMALL],
    "components": ["FIT"],
    "correlations": ["FIT"],
    "rows": ["FIT", "COUNTS", "--row", "3"],
    "explore": ["FIT", "--out", "OUT.html"],
    "export": ["FIT", "--out", "OUT"],
    "simulate": ["--rows", "20", "--out", "OUT"],
    "info": [],
}


@pytest.mark.parametrize("verb", VERBS)
def test_one_object_and_nothing_else(cormorant, fit_folder, counts_file, workplace, verb):
    places = {"FIT": fit_folder, "COUNTS": counts_file}
    ran = cormorant(verb, *(places.get(argument, argument) for argument in VERBS[verb]), "--json")
    assert ran.code == 0
    assert isinstance(json.loads(ran.out), dict)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a disk that is always full")
@pytest.mark.parametrize("arguments", [["info"], ["info", "--json"], ["--version"], ["fit", "--help"]])
def test_a_full_disk_behind_standard_output(arguments):
    with open("/dev/full", "w") as full:
        ran = subprocess.run([*COMMAND, *arguments], stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert ran.returncode == 1
    assert ran.stderr == (
        "error: standard output could not be written: No space left on device. "
        "Free the disk, or send the results elsewhere.\n"
    )


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_reader_that_leaves(fit_folder, counts_file, options):
    """As `cormorant rows ... | head -1`: more than a pipe holds is written, and nobody complains."""
    command = [*COMMAND, "rows", str(fit_folder), str(counts_file), "--limit", "300", *options]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as running:
        assert running.stdout
        assert running.stderr
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == ""
