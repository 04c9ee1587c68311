"""Entries of rows to hide from a model of features, zeros among them: for it a zero is an entry like any other."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np

from cormorant.data import Counts, DataError


def hidden_entries(shape: tuple[int, int], observed: float, rng: np.random.Generator) -> np.ndarray:
    """True where an entry is to be predicted; each is shown with probability ``observed``."""
    if not isinstance(observed, Real) or not 0 < observed < 1:
        raise DataError(f"observed must be a fraction between 0 and 1, both excluded, got {observed!r}.")
    return rng.random(shape) >= observed


def as_matrix(X: Any) -> Any:
    """X as something with a shape whose rows `take_rows` takes: counts, frames and masked arrays stay what they are."""
    if isinstance(X, Counts | np.ma.MaskedArray) or hasattr(X, "iloc"):
        return X
    found: Any = X.tocsr() if hasattr(X, "tocsr") else np.asarray(X)
    if found.ndim != 2:
        raise ValueError(f"X must be a matrix, rows x columns; got shape {found.shape}.")
    return found


def take_rows(X: Any, index: np.ndarray) -> Any:
    """Some of the rows of what `as_matrix` gives."""
    if isinstance(X, Counts):
        return X.rows(index)
    return X.iloc[index] if hasattr(X, "iloc") else X[index]
