"""Saving and loading: whole, versioned, and clear about what is wrong with a file."""

import hashlib
import json
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save

import cormorant
from cormorant.datasets import simulate
from cormorant.estimators import CNPF, HGP, ModelFileError, load
from cormorant.inference.predictive import Validation

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


@pytest.fixture(scope="module")
def counts():
    counts = simulate("cnpf", n_rows=80, n_columns=30, n_components=3, seed=1).counts
    return counts.named([f"row {u}" for u in range(80)], [f"column {i}" for i in range(30)])


@pytest.fixture
def saved(counts, tmp_path):
    model = HGP(4, max_epochs=3, random_state=0).fit(counts)
    return model.save(tmp_path / "fit")


def test_round_trip(counts, tmp_path):
    """With names, and rows kept aside; the contract of all models saves every one of them."""
    model = CNPF(4, 3, max_epochs=3, inference="structured", validation=10, random_state=0).fit(counts)
    model.held_out_rows_ = np.array([3, 5])
    model.save(tmp_path / "deep" / "fit")
    again = cormorant.load(tmp_path / "deep" / "fit")
    assert type(again) is type(model)
    assert again.get_params() == model.get_params()
    for attribute in ("components_", "weights_", "locations_", "sticks_", "usage_", "correlation_"):
        assert np.array_equal(getattr(again, attribute), getattr(model, attribute)), attribute
    assert np.array_equal(again.transform(counts), model.transform(counts))
    assert np.array_equal(again._row_weights, model._row_weights)
    assert np.array_equal(again.held_out_rows_, [3, 5])
    assert np.array_equal(again.validation_rows_, model.validation_rows_)
    assert not again.interrupted_
    assert np.array_equal(again.row_names_, counts.row_names)
    assert np.array_equal(again.column_names_, counts.column_names)
    assert again.history_ == model.history_
    assert again.stop_reason_ == model.stop_reason_
    assert again.perplexity(counts) == model.perplexity(counts)


def prefers(allocation):
    """A perplexity of rows kept aside that is lowest by this allocation."""

    def perplexity(self, posterior):
        return 1.0 + (getattr(posterior, "fits", [posterior])[0].solver.allocation != allocation)

    return perplexity


@pytest.mark.parametrize("better", ["zero-order", "digamma"])
def test_a_loaded_model_shares_out_the_counts_of_new_rows_alike(counts, tmp_path, better, monkeypatch):
    with monkeypatch.context() as rigged:
        rigged.setattr(Validation, "perplexity", prefers(better))
        model = CNPF(4, 3, max_epochs=3, inference="structured", validation=10, random_state=0).fit(counts)
    assert model.row_allocation_ == better
    again = load(model.save(tmp_path / "fit"))
    assert again.row_allocation_ == better
    assert np.array_equal(again.transform(counts), model.transform(counts))
    document = json.loads((tmp_path / "fit" / "model.json").read_text())
    del document["fitted"]["row_allocation_"]
    _forge(tmp_path / "fit", fitted=document["fitted"], format=4)  # as it was before there was a choice
    before = load(tmp_path / "fit")
    assert before.row_allocation_ == "zero-order"
    assert np.array_equal(before.transform(counts), model.transform(counts)) == (better == "zero-order")
    assert again.partial_fit(counts).row_allocation_ == "zero-order"  # no rows are kept aside to choose by


def test_only_json_and_safetensors(saved):
    assert sorted(p.name for p in saved.iterdir()) == ["arrays.safetensors", "model.json"]


def test_nothing_is_overwritten_unasked(saved):
    model = load(saved)
    with pytest.raises(FileExistsError, match="overwrite=True"):
        model.save(saved)
    model.save(saved, overwrite=True)
    assert np.array_equal(load(saved).components_, model.components_)


def test_a_failed_write_leaves_the_old_model(saved, monkeypatch):
    before = load(saved)
    monkeypatch.setattr(json, "dumps", lambda *a, **k: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        before.save(saved, overwrite=True)
    monkeypatch.undo()
    assert np.array_equal(load(saved).components_, before.components_)
    assert [p.name for p in saved.parent.iterdir()] == ["fit"]


def test_a_folder_that_is_no_model_is_never_replaced(saved, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter").write_text("years of work")
    with pytest.raises(FileExistsError, match="not a saved model"):
        load(saved).save(tmp_path / "thesis", overwrite=True)
    assert (tmp_path / "thesis" / "chapter").read_text() == "years of work"


def test_wrong_class(saved):
    with pytest.raises(ModelFileError, match="holds a HGP, not a CNPF"):
        cormorant.CNPF.load(saved)
    assert isinstance(HGP.load(saved), HGP)


@pytest.mark.parametrize("overwrite", [False, True])
def test_nothing_else_is_ever_replaced(saved, tmp_path, overwrite):
    """Neither a file, nor a model beside which somebody keeps notes."""
    (tmp_path / "file").write_text("text")
    with pytest.raises(FileExistsError, match="is a file, and a model is saved as a folder"):
        load(saved).save(tmp_path / "file", overwrite=overwrite)
    (saved / "notes.txt").write_text("my notes")
    with pytest.raises(FileExistsError, match=r"holds other files too \(notes.txt\)"):
        load(saved).save(saved, overwrite=overwrite)
    assert (saved / "notes.txt").read_text() == "my notes"


def test_the_record_of_the_command_line_is_replaced_with_its_model(saved):
    (saved / "run.json").write_text("{}")
    load(saved).save(saved, overwrite=True)
    assert not (saved / "run.json").exists()


def test_a_link_goes_on_pointing_to_the_folder(saved, tmp_path):
    model = load(saved)
    (tmp_path / "latest").symlink_to(saved)
    model.save(tmp_path / "latest", overwrite=True)
    assert (tmp_path / "latest").is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["fit", "latest"]
    assert np.array_equal(load(saved).components_, model.components_)


def test_a_folder_where_nothing_can_be_written(saved, tmp_path):
    (tmp_path / "file").write_text("text")
    with pytest.raises(OSError, match="the model could not be saved"):
        load(saved).save(tmp_path / "file" / "fit")


def test_saved_models_can_be_read_by_others(saved, tmp_path):
    (tmp_path / "plain").mkdir()
    assert saved.stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.parametrize("failing", [1, 2])
def test_a_swap_that_fails_half_way_leaves_the_old_model(saved, monkeypatch, failing):
    """An interrupt at the first or the second of the two renames."""
    model = load(saved)
    rename, calls = Path.rename, []

    def fail_once(self, target):
        calls.append(target)
        if len(calls) == failing:
            raise KeyboardInterrupt
        return rename(self, target)

    monkeypatch.setattr(Path, "rename", fail_once)
    with pytest.raises(KeyboardInterrupt):
        model.save(saved, overwrite=True)
    monkeypatch.undo()
    assert np.array_equal(load(saved).components_, model.components_)
    assert [p.name for p in saved.parent.iterdir()] == ["fit"]


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.json").write_text("{"), "damaged"),
        (lambda f: (f / "model.json").write_text("[1]"), "damaged"),
        (lambda f: (f / "model.json").write_bytes(b"\xff\xfe"), "damaged"),
        (lambda f: (f / "model.json").write_text('{"format": true}'), "damaged"),
        (lambda f: (f / "arrays.safetensors").write_bytes(b"abc"), "damaged or cut short"),
        (
            lambda f: (f / "arrays.safetensors").write_bytes((f / "arrays.safetensors").read_bytes()[:-100]),
            "damaged or cut short",
        ),
        (lambda f: (f / "arrays.safetensors").unlink(), "incomplete"),
        (lambda f: _flip(f / "arrays.safetensors"), "damaged"),
        (lambda f: _edit(f, format=99), "Upgrade cormorant"),
        (lambda f: _edit(f, globals={"alpha": 2.0}), "damaged or was changed"),
        (lambda f: _edit(f, sha256=None), "damaged or was changed"),
        (lambda f: _forge(f, model="unheard-of"), "not a complete model"),
        (lambda f: _forge(f, globals={}), "not a complete model"),
        (lambda f: _forge(f, parameters={"n_topics": 3}), "not a complete model"),
        (lambda f: _forge(f, column_names=["one"]), r"the length of column_names \(1, not 30\)"),
        (lambda f: _forge(f, row_names=["one"]), r"the length of row_names \(1, not 80\)"),
    ],
)
def test_damaged_files(saved, damage, message):
    damage(saved)
    with pytest.raises(ModelFileError, match=message):
        load(saved)


def test_no_model_there(saved, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"not a saved model: it has no model\.json"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="it does not exist"):
        load(tmp_path / "nowhere")
    with pytest.raises(FileNotFoundError, match="it is a file; give the folder"):
        load(saved / "model.json")


def test_files_from_before_the_checksum_are_read(saved, tmp_path):
    document = json.loads((saved / "model.json").read_text())
    del document["fitted"]["interrupted_"], document["fitted"]["traces_"]
    _forge(saved, fitted=document["fitted"])
    model = load(saved)
    assert not model.interrupted_
    assert model.traces_ == []
    model.save(tmp_path / "again")


def test_files_from_before_several_fits_were_averaged_and_bases_learned_are_read(tmp_path, counts):
    saved = HGP(4, max_epochs=3, a0=0.1, random_state=0).fit(counts).save(tmp_path / "fit")
    before = load(saved).components_
    document = json.loads((saved / "model.json").read_text())
    del document["others"], document["sha256"]
    file = saved / "arrays.safetensors"
    file.write_bytes(save({name: array for name, array in load_file(file).items() if not name.endswith("base")}))
    document["arrays_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
    (saved / "model.json").write_text(json.dumps(document | {"format": 2}))
    assert np.array_equal(load(saved).components_, before)


def _flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)


def _edit(folder, **changes):
    file = folder / "model.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))


def _forge(folder, **changes):
    """A change that the checksum does not show."""
    _edit(folder, **changes)
    document = json.loads((folder / "model.json").read_text())
    del document["sha256"]
    (folder / "model.json").write_text(json.dumps(document))
