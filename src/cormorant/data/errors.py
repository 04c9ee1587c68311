"""The one exception of this package, and how it names a place."""

from __future__ import annotations

from os import PathLike


class DataError(ValueError):
    """Counts that cannot be used: the message says what was expected, what came and where."""


def at_line(path: str | PathLike[str], line: int, fault: str) -> DataError:
    """The error for a fault on one line (numbered from 1) of a file."""
    return DataError(f"{path}, line {line}: {fault}")
