"""What a model is called with: data, what was seen of them, or the number of rows to draw."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.measures import _check
from cormorant.measures._jax import jax, jnp

if TYPE_CHECKING:
    from jax import Array


@dataclass(frozen=True)
class Data:
    """Rows of data, zero where the mask hides them; or the number of rows alone."""

    rows: int
    counts: Array | None
    mask: Array | None


def read_data(
    counts: Any, mask: Any, rows: int | None, *, groups: int | None, columns: int | None, likelihood: Any
) -> Data:
    """Check the shapes against each other and the measure, and the values against the likelihood."""
    if (counts is None) == (rows is None) and not (counts is None and groups is not None):
        raise ValueError("counts, rows: expected exactly one of them: data, or the number of rows to draw")
    if counts is None:
        number = groups if rows is None else _check.count("rows", rows)
        data = Data(number or 0, None, None if mask is None else jnp.asarray(mask, bool))
    else:
        data = _observed(counts, mask, columns, likelihood)
    if groups not in (None, data.rows):
        raise ValueError(f"counts: expected {groups} rows, one for each mean or covariate, got {data.rows}")
    return data


def _observed(counts: Any, mask: Any, columns: int | None, likelihood: Any) -> Data:
    counts = counts.toarray() if hasattr(counts, "toarray") else counts
    if np.ndim(counts) != 2:
        raise ValueError(f"counts: expected rows x columns, got shape {np.shape(counts)}")
    counts = counts if hasattr(counts, "shape") else np.asarray(counts)
    if columns not in (None, counts.shape[1]):
        raise ValueError(f"counts: expected {columns} columns, one for each entry of an atom, got {counts.shape[1]}")
    if mask is not None and np.shape(mask) != counts.shape:
        raise ValueError(f"mask: expected the shape of counts, {counts.shape}, got {np.shape(mask)}")
    with suppress(jax.errors.TracerArrayConversionError):  # within NumPyro's calls there are no values to look at
        _check_values(np.asarray(counts), None if mask is None else np.asarray(mask, bool), likelihood)
    if mask is None:
        return Data(len(counts), jnp.asarray(counts), None)
    # Zero is a value of every likelihood: NaN would spoil the gradient even where it is masked.
    return Data(len(counts), jnp.where(mask, counts, 0), jnp.asarray(mask, bool))


def _check_values(counts: np.ndarray, mask: np.ndarray | None, likelihood: Any) -> None:
    """Refuse what was seen and cannot have been drawn: its log density would be -inf whatever the parameters."""
    if np.isnan(counts if mask is None else counts[mask]).any():
        raise ValueError("counts: expected numbers where mask is true, got NaN; give mask=~np.isnan(counts)")
    support = getattr(likelihood, "support", None)
    if support is None:  # a user's own
        return
    wrong = ~support.holds(counts) if mask is None else mask & ~support.holds(counts)
    if wrong.any():
        row, column = np.argwhere(wrong)[0]
        raise ValueError(
            f"counts: expected {support.expected} under {likelihood!r}, got {counts[row, column]:g} at row {row}, "
            f"column {column}; {support.advice}"
        )
