"""Held-out rows and held-out entries, drawn from an explicit random generator.

A model is scored on rows it never saw: a few nonzero entries of such a row are shown to it (the paper: 10%)
and the others predicted. `hold_out` takes the rows away, `split_entries` divides their entries:

    rng = np.random.default_rng(1)
    split = hold_out(counts, 1000, rng)
    observed, test = split_entries(split.held_out, 0.1, rng)
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cormorant.data.convert import as_counts
from cormorant.data.counts import Counts
from cormorant.data.errors import DataError

#: A seed, or a generator whose state moves on.
Seed = int | np.random.Generator


@dataclass(frozen=True)
class HeldOut:
    """Rows to fit, rows kept aside, and where each was in the matrix they came from."""

    train: Counts
    held_out: Counts
    train_index: NDArray[np.int64]
    held_out_index: NDArray[np.int64]


def hold_out_rows(n_rows: int, n_held_out: int, rng: Seed) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions of (training, held-out) rows: `p = rng.permutation(n_rows)`, cut after `n_held_out`.

    Both come in the order drawn; held out are `p[:n_held_out]`.
    """
    is_number = isinstance(n_held_out, int | np.integer) and not isinstance(n_held_out, bool)
    if not (is_number and 0 < n_held_out < n_rows):
        raise DataError(
            "n_held_out must be a number of rows, at least 1, that leaves a row to fit: "
            f"below {n_rows} here, got {n_held_out!r}."
        )
    order = _generator(rng).permutation(n_rows)
    return order[n_held_out:], order[:n_held_out]


def hold_out(counts: Any, n_held_out: int, rng: Seed) -> HeldOut:
    """Hold out rows of counts (`hold_out_rows`). Validation rows: hold out again from `train`."""
    counts = as_counts(counts)
    train_index, held_out_index = hold_out_rows(counts.n_rows, n_held_out, rng)
    return HeldOut(counts.rows(train_index), counts.rows(held_out_index), train_index, held_out_index)


def split_entries(counts: Any, observed: float, rng: Seed) -> tuple[Counts, Counts]:
    """Divide the nonzero entries into (observed, test), each observed with probability `observed`.

    The i-th entry in row-major order is observed if `rng.random(nnz)[i] < observed`: an entry goes whole to
    one side. Both sides keep the shape, so drop columns (unseen in training, say) after this, not before. A
    row may end with nothing observed; it is then predicted from the prior.
    """
    if not isinstance(observed, Real) or not 0 < observed < 1:
        raise DataError(f"observed must be a fraction between 0 and 1, both excluded, got {observed!r}.")
    counts = as_counts(counts)
    mask = _generator(rng).random(counts.nnz) < observed
    return counts.entries(mask), counts.entries(~mask)


def _generator(rng: Seed) -> np.random.Generator:
    try:
        return np.random.default_rng(rng)
    except (TypeError, ValueError):
        raise DataError(f"rng must be a seed (a whole number) or a NumPy generator, got {rng!r}.") from None
