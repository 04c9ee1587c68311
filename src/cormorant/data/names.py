"""Names of rows and columns: checked, looked up, put into messages."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cormorant.data.errors import DataError

#: One string a row or column, or None where they have no names.
Names = NDArray[np.object_] | None


class Shaped:
    """What has rows and columns."""

    shape: tuple[int, int]

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.shape[0]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.shape[1]


def index_names(index: Any) -> Any:
    """Names from a pandas index; the default index 0, 1, 2, ... only numbers, and gives none."""
    is_default = type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)
    return None if is_default else index


def checked_names(names: Any, length: int, what: str) -> Names:
    """An own array of Python strings (no padding to the longest), or None."""
    if names is None:
        return None
    if isinstance(names, str):
        raise DataError(f"{what}_names must be a sequence of {length} strings, got one string.")
    array = np.array([str(name) for name in names], dtype=object)
    if len(array) != length:
        raise DataError(f"{what}_names must have one name for each of the {length} {what}s, got {len(array)}.")
    return array


def positions(length: int, index: Any, names: Names, what: str) -> NDArray[np.int64]:
    """What `index` (a slice, a mask, integers, names) picks out of 0..length-1."""
    if not isinstance(index, slice):
        index = np.asarray(index)
        if index.dtype.kind in "UO" and index.size:
            index = _named_positions(np.atleast_1d(index), names, what)
        index = index.astype(np.int64) if index.size == 0 else index
    return np.atleast_1d(np.arange(length)[index])


def _named_positions(wanted: NDArray[Any], names: Names, what: str) -> NDArray[np.int64]:
    """Where the wanted names are among those of the rows or columns."""
    if names is None:
        raise DataError(f"The {what}s have no names, so {what} {wanted[0]!r} cannot be found; give positions.")
    found = {name: position for position, name in enumerate(names)}
    unknown = [str(name) for name in wanted if name not in found]
    if unknown:
        raise DataError(f"There is no {what} named {unknown[0]!r} ({len(unknown)} of {len(wanted)} names are unknown).")
    if len(found) < len(names):
        raise DataError(f"The names of the {what}s are not distinct, so a name does not tell a {what}; give positions.")
    return np.array([found[name] for name in wanted], dtype=np.int64)


def label(what: str, position: int, names: Names) -> str:
    """For messages: "column 7 ('game')"."""
    return f"{what} {position}" if names is None else f"{what} {position} ({names[position]!r})"


def first_names(what: str, names: Names) -> str:
    """For a repr: "; columns named 'apple', 'bird', ..."; nothing where there are no names."""
    if names is None:
        return ""
    shown = [repr(name if len(name) <= 24 else name[:21] + "...") for name in names[:3]]
    return f"; {what} named {', '.join(shown)}{', ...' if len(names) > 3 else ''}"


def take(names: Names, chosen: NDArray[np.int64]) -> Names:
    """The names at these positions, if there are names."""
    return None if names is None else names[chosen]
