"""What is refused of the sizes and numbers that data are drawn with."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Real

import numpy as np


def check_sizes(**sizes: int) -> None:
    """Whole numbers of at least one."""
    for name, size in sizes.items():
        if not isinstance(size, int | np.integer) or size < 1:
            raise ValueError(f"{name} must be a whole number of at least 1, got {size!r}.")


def check_positive(or_zero: bool = False, **numbers: float) -> None:
    """Finite numbers above zero, or not below."""
    for name, value in numbers.items():
        if not (isinstance(value, Real) and np.isfinite(value) and (value > 0 or (or_zero and value == 0))):
            raise ValueError(f"{name} must be positive{' or zero' if or_zero else ''}, got {value!r}.")


def check_choice(name: str, value: str, choices: Sequence[str]) -> str:
    """One of the names there are."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")
    return value
