"""`cormorant fit` writes a model that knows its data, its settings and the rows it did not see."""

import json
import re
import warnings
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import cormorant as library
from cormorant.cli.watching import watching
from cormorant.data import hold_out, write

from .conftest import SHORT, SMALL


def test_the_model_is_that_of_the_library(cormorant, counts, counts_file, tmp_path):
    out = tmp_path / "deep" / "fit"
    ran = cormorant("fit", counts_file, "--model", "scaled-hgp", "--out", out, "--holdout", 60, "--seed", 5,
                    "--json", *SHORT)  # fmt: skip
    assert ran.code == 0
    split = hold_out(counts, 60, 5)
    model = library.load(out)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", library.estimators.TruncationWarning)  # six components, for a short test
        expected = library.ScaledHGP(6, inference="structured", max_epochs=6, random_state=5).fit(split.train)
    np.testing.assert_allclose(model.components_, expected.components_)
    np.testing.assert_array_equal(model.held_out_rows_, split.held_out_index)
    assert ran.json["model"] == "scaled-hgp"
    assert ran.json["held_out"] == 60
    assert ran.json["components_used"] == model.n_components_used_
    assert ran.json["out"] == str(out)


def test_the_settings_lie_beside_the_model(fit_folder, counts_file):
    record = json.loads((fit_folder / "run.json").read_text())
    assert record["cormorant"] == library.__version__
    assert record["counts"] == str(counts_file)
    assert record["parameters"]["n_components"] == 6
    assert record["parameters"]["n_dims"] == 2
    assert record["seed"] == record["parameters"]["random_state"] == 1
    assert record["epochs"] == 6


def test_what_is_said_goes_to_standard_error(cormorant, counts_file, tmp_path):
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", *SMALL, "--components", 3)
    assert ran.code == 0
    assert ran.out == ""
    assert "300 rows x 30 columns" in ran.err
    assert re.search(r"This takes about \d+ seconds at most and \d\.\d GB of memory", ran.err)
    # The library's warning and reason, in the words of the command line.
    assert "note: all 3 components are in use" in ran.err
    assert "raise --components" in ran.err
    assert "raise --max-epochs" in ran.err


def test_quiet_leaves_only_notes(cormorant, counts_file, tmp_path):
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", "--quiet", *SMALL)
    assert ran.out == ""
    assert all(line.startswith("note:") for line in ran.err.splitlines())


@pytest.mark.parametrize("size", ["100", "all", "auto"])
def test_batch_sizes(cormorant, counts_file, tmp_path, size):
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", "--batch-size", size, "--json", *SMALL)
    expected = {"100": 100, "all": None, "auto": "auto"}[size]
    assert ran.json["parameters"]["batch_size"] == expected


def test_nothing_is_replaced_without_force(cormorant, counts_file, tmp_path):
    out = tmp_path / "fit"
    command = ("fit", counts_file, "--out", out, "--quiet", *SMALL)
    assert cormorant(*command).code == 0
    before = (out / "model.json").read_bytes()
    refused = cormorant(*command, "--seed", 2)
    assert refused.code == 2
    assert "--force" in refused.err
    assert (out / "model.json").read_bytes() == before
    assert cormorant(*command, "--seed", 2, "--force").code == 0
    assert (out / "model.json").read_bytes() != before
    assert [path.name for path in tmp_path.iterdir()] == ["fit"]  # no leftovers


def test_force_spares_what_is_not_ours(cormorant, counts_file, tmp_path):
    precious = tmp_path / "thesis" / "chapter.tex"
    precious.parent.mkdir()
    precious.write_text("the only copy")
    ran = cormorant("fit", counts_file, "--out", precious.parent, "--force", *SMALL)
    assert ran.code == 2
    assert "holds files that were not written by cormorant (chapter.tex)" in ran.err
    assert precious.read_text() == "the only copy"


def test_a_failed_write_leaves_nothing(cormorant, counts_file, tmp_path, full_disk):
    full_disk("safetensors.numpy.save")
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", "--quiet", *SMALL)
    assert ran.code == 1
    assert f"{tmp_path / 'fit'} could not be written: No space left on device" in ran.err
    assert len(ran.err.splitlines()) <= 2  # beside a note on the truncation
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--model", "lda"], "--model must be one of cnpf, softplus-cnpf, scaled-hgp, hgp, diln, hdp, "),
        (["--model", "hgp", "--dims", "3"], "--dims does nothing here: hgp has none"),
        (["--model", "hgp", "--sigma-m2", "3"], "--sigma-m2 does nothing here"),
        (["--validation", "most"], "--validation must be auto, a fraction"),
        (["--stopping", "never"], "--stopping must be"),
        (["--a0", "-1"], "--a0 must be"),
        (["--tol", "small"], "--tol"),
        (["--components", "0"], "--components"),
        (["--components", "many"], "--components"),
        (["--batch-size", "0"], "--batch-size must be a whole number"),
        (["--inference", "magic"], "got 'magic'"),
        (["--allocation", "magic"], "zero-order, digamma; got 'magic'"),
        (["--holdout", "300"], "--holdout"),
        (["--jobs", "0"], "--jobs"),
        (["--colour"], "No such option"),
    ],
)
def test_bad_options(cormorant, counts_file, tmp_path, options, said):
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", "--quiet", *options)
    assert ran.code == 2
    assert said in ran.err
    assert len(ran.err.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_rows_without_names_keep_their_numbers(fit_folder, counts):
    """In the fit they come in another order, since some were held out."""
    model = library.load(fit_folder)
    assert sorted(map(int, [*model.row_names_, *model.held_out_rows_])) == list(range(300))
    row = int(model.row_names_[7])
    np.testing.assert_allclose(model.transform(counts.rows([row]))[0], model._row_weights[7], rtol=1e-3)


def test_the_sampler_gives_intervals(cormorant, counts_file, tmp_path):
    sampler = ["--inference", "gibbs", "--chains", "1", "--sweeps", "6", "--samples", "3"]
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", "--json", *SMALL, *sampler)
    assert ran.json["parameters"]["n_sweeps"] == 6
    shown = cormorant("correlations", tmp_path / "fit", "--among", 6, "--json").json["pairs"]
    assert all(pair["low"] <= pair["high"] for pair in shown)
    assert " to " in cormorant("correlations", tmp_path / "fit", "--among", 6).out


def test_an_interrupted_fit_is_kept(cormorant, counts_file, tmp_path, monkeypatch):
    def interrupt(info, state):
        if info.epoch == 3:
            raise KeyboardInterrupt

    @contextmanager
    def interrupted(labels, quiet):
        with watching(labels, quiet) as callbacks:
            yield {label: [*callbacks[label], interrupt] for label in labels}

    monkeypatch.setattr("cormorant.cli.fit.watching", interrupted)
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", "--quiet", *SMALL)
    assert ran.code == 1
    last = ran.err.splitlines()[-1]  # after a note on the truncation
    assert last == f"error: interrupted after 3 epochs; the state so far is kept, in {tmp_path / 'fit'}."
    assert ran.err.count("the state so far is kept") == 1  # said once
    assert library.load(tmp_path / "fit").interrupted_


def test_an_interrupted_forecast_ends_it_all(cormorant, counts_file, tmp_path, monkeypatch):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("cormorant.cli.forecast.run_trial", stop)
    ran = cormorant("fit", counts_file, "--out", tmp_path / "fit", *SMALL)
    assert ran.code == 1
    assert "interrupted; nothing was written" in ran.err
    assert list(tmp_path.iterdir()) == []


def test_bad_counts(cormorant, counts, tmp_path):
    missing = cormorant("fit", tmp_path / "no.npz", "--out", tmp_path / "fit")
    assert (missing.code, len(missing.err.splitlines())) == (2, 1)
    assert "no.npz does not exist" in missing.err
    faulty = tmp_path / "faulty.csv"
    faulty.write_text("row,column,count\na,b,1\na,c,-2\n")
    negative = cormorant("fit", faulty, "--out", tmp_path / "fit")
    assert negative.code == 2
    assert "line 3" in negative.err
    write(counts, tmp_path / "counts.npz")
    (tmp_path / "counts.npz").rename(tmp_path / "counts.xyz")
    unknown = cormorant("fit", tmp_path / "counts.xyz", "--out", tmp_path / "fit")
    assert unknown.code == 2
    assert "does not tell the format" in unknown.err


def test_zeros(cormorant, tmp_path):
    """Of nothing there is nothing to learn; a few counts among empty rows are enough."""
    for name, entry in (("none", 0), ("one", 3)):
        rows = "".join(f"r{i},c{i % 3},{entry if i == 7 else 0}\n" for i in range(150))
        (tmp_path / f"{name}.csv").write_text(f"row,column,count\n{rows}")
    ran = cormorant("fit", tmp_path / "none.csv", "--out", tmp_path / "fit", *SMALL)
    assert ran.code == 2
    assert "error: the counts must have entries above zero in the rows to fit, to learn from; all are zero" in ran.err
    assert not (tmp_path / "fit").exists()
    assert cormorant("fit", tmp_path / "one.csv", "--out", tmp_path / "fit", *SMALL).code == 0


def test_a_failed_replacement_keeps_the_old_fit(cormorant, counts_file, tmp_path, monkeypatch):
    out = tmp_path / "fit"
    command = ("fit", counts_file, "--out", out, "--quiet", *SMALL)
    assert cormorant(*command).code == 0
    before = (out / "model.json").read_bytes()
    rename = Path.rename

    def fails(self, target):
        if self.name == "new" and Path(target) == out:
            raise OSError(28, "No space left on device")
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fails)
    assert cormorant(*command, "--seed", 2, "--force").code == 1
    assert (out / "model.json").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["fit"]


def test_an_unwritable_place_is_told_before_the_fit(cormorant, counts_file, tmp_path):
    (tmp_path / "file").write_text("")
    ran = cormorant("fit", counts_file, "--out", tmp_path / "file" / "fit")
    assert ran.code == 1
    assert "cannot write in" in ran.err
