"""Saving and loading: whole, versioned, and clear about what is wrong with a file."""

import json

import numpy as np
import pytest

import cormorant
from cormorant.datasets import simulate
from cormorant.estimators import ESTIMATORS, HGP, ModelFileError, load

pytestmark = pytest.mark.filterwarnings("ignore::cormorant.estimators.TruncationWarning")


@pytest.fixture(scope="module")
def counts():
    counts = simulate("cnpf", n_rows=80, n_columns=30, n_components=3, seed=1).counts
    return counts.named([f"row {u}" for u in range(80)], [f"column {i}" for i in range(30)])


@pytest.fixture
def saved(counts, tmp_path):
    model = HGP(4, max_epochs=3, random_state=0).fit(counts)
    return model.save(tmp_path / "fit")


@pytest.mark.parametrize("name", sorted(ESTIMATORS))
@pytest.mark.parametrize("inference", ["structured", "mean-field"])
def test_round_trip(name, inference, counts, tmp_path):
    model = ESTIMATORS[name](n_components=4, max_epochs=3, inference=inference, random_state=0).fit(counts)
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
    assert np.array_equal(again.row_names_, counts.row_names)
    assert np.array_equal(again.column_names_, counts.column_names)
    assert again.history_ == model.history_
    assert again.stop_reason_ == model.stop_reason_
    assert again.perplexity(counts) == model.perplexity(counts)


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


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda f: (f / "model.json").write_text("{"), "damaged"),
        (lambda f: (f / "arrays.safetensors").write_bytes(b"abc"), "damaged or cut short"),
        (
            lambda f: (f / "arrays.safetensors").write_bytes((f / "arrays.safetensors").read_bytes()[:-100]),
            "damaged or cut short",
        ),
        (lambda f: (f / "arrays.safetensors").unlink(), "incomplete"),
        (lambda f: _flip(f / "arrays.safetensors"), "damaged"),
        (lambda f: _edit(f, format=99), "Upgrade cormorant"),
        (lambda f: _edit(f, model="unheard-of"), "not a complete model"),
        (lambda f: _edit(f, globals={}), "not a complete model"),
    ],
)
def test_damaged_files(saved, damage, message):
    damage(saved)
    with pytest.raises(ModelFileError, match=message):
        load(saved)


def test_no_model_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="not a saved model"):
        load(tmp_path)


def _flip(file):
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 255
    file.write_bytes(content)


def _edit(folder, **changes):
    file = folder / "model.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **changes}))
