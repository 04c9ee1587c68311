"""Numbers and names as the page needs them: short."""

from __future__ import annotations

from typing import Any

import numpy as np

from cormorant.explore.fitted import named
from cormorant.explore.labels import short_name

NAME_LETTERS = 80  # a longer name is cut, so that no data make the file grow without bound


def rounded(values: Any) -> Any:
    """Four significant digits, as a Python float or a list of them."""
    array = np.asarray(values, dtype=float)
    return float(f"{array:.4g}") if array.ndim == 0 else [float(f"{value:.4g}") for value in array]


def column_name(names: np.ndarray | None, column: int) -> str:
    """The column's name, or its number where the data have no names."""
    return short_name(named(names, [column])[0], NAME_LETTERS)


def row_name(names: np.ndarray | None, row: int) -> str:
    """The row's name, or its number where the data have no names."""
    return f"row {row}" if names is None else short_name(str(names[row]), NAME_LETTERS)
