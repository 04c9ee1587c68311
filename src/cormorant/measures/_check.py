"""Argument checks shared by the measures: each error names the argument, what was expected and what came."""

from __future__ import annotations

import math
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Seed = int | np.random.Generator


def generator(rng: Seed) -> np.random.Generator:
    """The generator itself, or a new one from an integer seed."""
    if isinstance(rng, np.random.Generator):
        return rng
    if isinstance(rng, Integral) and not isinstance(rng, bool) and rng >= 0:
        return np.random.default_rng(int(rng))
    raise TypeError(f"rng: expected a numpy.random.Generator or a nonnegative integer seed, got {rng!r}")


def real(name: str, value: Any) -> float:
    """A real number that is not NaN; infinities pass."""
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError(f"{name}: expected a real number, got {value!r}")
    if math.isnan(value):
        raise ValueError(f"{name}: expected a real number, got NaN")
    return float(value)


def finite(name: str, value: Any) -> float:
    """A finite real number."""
    number = real(name, value)
    if math.isinf(number):
        raise ValueError(f"{name}: expected a finite number, got {number}")
    return number


def positive(name: str, value: Any, *, or_infinite: bool = False) -> float:
    """A number above zero, finite unless `or_infinite`."""
    number = real(name, value) if or_infinite else finite(name, value)
    if number <= 0:
        raise ValueError(f"{name}: expected a positive number, got {number}")
    return number


def nonnegative(name: str, value: Any) -> float:
    """A finite number, zero or above."""
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name}: expected zero or a positive number, got {number}")
    return number


def fraction(name: str, value: Any, *, or_zero: bool = False) -> float:
    """A number in (0, 1), or in [0, 1) with `or_zero`."""
    number = finite(name, value)
    if not 0 < number < 1 and not (or_zero and number == 0):
        raise ValueError(f"{name}: expected a number in {'[' if or_zero else '('}0, 1), got {number}")
    return number


def count(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number no less than `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {value}")
    return int(value)


def instance(name: str, value: Any, kind: type) -> None:
    """`value` is of the class `kind`; a class given in place of its instance is the usual slip."""
    if not isinstance(value, kind):
        hint = f"; write {value.__name__}(...)" if isinstance(value, type) and issubclass(value, kind) else ""
        raise TypeError(f"{name}: expected a {kind.__name__}, got {value!r}{hint}")


def array(name: str, value: ArrayLike, *, ndim: int) -> Array:
    """A read-only float64 copy with `ndim` axes and finite entries."""
    copy = np.array(value, dtype=np.float64)
    if copy.ndim != ndim:
        raise ValueError(f"{name}: expected an array with {ndim} axes, got shape {copy.shape}")
    if not np.isfinite(copy).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity in shape {copy.shape}")
    copy.flags.writeable = False
    return copy


def points(name: str, value: ArrayLike) -> Array:
    """An array of points, one a row, as `array` with two axes."""
    return array(name, value, ndim=2)


def rows(name: str, value: Any, expected: int) -> Array:
    """What a user's function returned for `expected` points: finite, one row each, (n,) read as (n, 1)."""
    result = np.asarray(value, dtype=np.float64)
    if result.ndim == 1:
        result = result[:, np.newaxis]
    if result.ndim != 2 or result.shape[0] != expected:
        raise ValueError(f"{name}: expected it to return {expected} rows, got shape {np.shape(value)}")
    return points(name, result)
