"""What a model is called with: data, what was seen of them, or the number of rows to draw."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.measures import _check
from cormorant.measures._jax import jnp

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class Data:
    """Rows of data, zero where the mask hides them; or the number of rows alone."""

    rows: int
    counts: Array | None
    mask: Array | None


def read_data(counts: Any, mask: Any, rows: int | None, *, groups: int | None, columns: int | None) -> Data:
    """Check the shapes against each other and the measure."""
    if (counts is None) == (rows is None) and not (counts is None and groups is not None):
        raise ValueError("counts, rows: expected exactly one of them: data, or the number of rows to draw")
    if counts is None:
        number = groups if rows is None else _check.count("rows", rows)
        data = Data(number or 0, None, None if mask is None else jnp.asarray(mask, bool))
    else:
        data = _observed(counts, mask, columns)
    if groups not in (None, data.rows):
        raise ValueError(f"counts: expected {groups} rows, one for each mean or covariate, got {data.rows}")
    return data


def _observed(counts: Any, mask: Any, columns: int | None) -> Data:
    counts = counts.toarray() if hasattr(counts, "toarray") else counts
    if np.ndim(counts) != 2:
        raise ValueError(f"counts: expected rows x columns, got shape {np.shape(counts)}")
    if columns not in (None, counts.shape[1]):
        raise ValueError(f"counts: expected {columns} columns, one for each entry of an atom, got {counts.shape[1]}")
    if mask is not None and np.shape(mask) != counts.shape:
        raise ValueError(f"mask: expected the shape of counts, {counts.shape}, got {np.shape(mask)}")
    # Inside NumPyro's own calls they are arrays of JAX, without values to look at.
    if isinstance(counts, np.ndarray) and np.isnan(counts if mask is None else counts[np.asarray(mask, bool)]).any():
        raise ValueError("counts: expected numbers where mask is true, got NaN; give mask=~np.isnan(counts)")
    if mask is None:
        return Data(len(counts), jnp.asarray(counts), None)
    # Zero is a value of every likelihood: NaN would spoil the gradient even where it is masked.
    return Data(len(counts), jnp.where(mask, counts, 0), jnp.asarray(mask, bool))
