"""Entries of rows to hide from a model of features, zeros among them: for it a zero is an entry like any other."""

from __future__ import annotations

from numbers import Real

import numpy as np

from cormorant.data import DataError


def hidden_entries(shape: tuple[int, int], observed: float, rng: np.random.Generator) -> np.ndarray:
    """True where an entry is to be predicted; each is shown with probability ``observed``."""
    if not isinstance(observed, Real) or not 0 < observed < 1:
        raise DataError(f"observed must be a fraction between 0 and 1, both excluded, got {observed!r}.")
    return rng.random(shape) >= observed
