"""Argument checks shared by the measures: each error names the argument, what was expected and what came."""

from __future__ import annotations

import math
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cormorant.measures.traced import Traced

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Seed = int | np.random.Generator

BELOW_ONE = float(np.nextafter(1.0, 0.0))  # the largest weight of the open unit interval


def fields(owner: Any, **checks: Callable[[str, Any], Any]) -> None:
    """Put each named field of a frozen dataclass through its check, and store what that returns."""
    for name, check in checks.items():
        object.__setattr__(owner, name, check(name, getattr(owner, name)))


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


def positive_or_infinite(name: str, value: Any) -> float:
    """A number above zero, infinity included."""
    number = real(name, value)
    if number <= 0:
        raise ValueError(f"{name}: expected a positive number, got {number}")
    return number


def positive(name: str, value: Any) -> float:
    """A finite number above zero."""
    return positive_or_infinite(name, finite(name, value))


def nonnegative(name: str, value: Any) -> float:
    """A finite number, zero or above."""
    number = finite(name, value)
    if number < 0:
        raise ValueError(f"{name}: expected zero or a positive number, got {number}")
    return number


def fraction(name: str, value: Any) -> float:
    """A number in (0, 1)."""
    number = finite(name, value)
    if not 0 < number < 1:
        raise ValueError(f"{name}: expected a number in (0, 1), got {number}")
    return number


def fraction_or_zero(name: str, value: Any) -> float:
    """A number in [0, 1)."""
    number = finite(name, value)
    if not 0 <= number < 1:
        raise ValueError(f"{name}: expected a number in [0, 1), got {number}")
    return number


def count(name: str, value: Any, *, least: int = 1) -> int:
    """A whole number no less than `least`."""
    if isinstance(value, bool) or not isinstance(value, Integral):
        raise TypeError(f"{name}: expected a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{name}: expected a whole number of at least {least}, got {value}")
    return int(value)


def flag(name: str, value: Any) -> bool:
    """True or False."""
    if not isinstance(value, bool | np.bool_):
        raise TypeError(f"{name}: expected True or False, got {value!r}")
    return bool(value)


def instance(name: str, value: Any, kind: type, *, of_functions: str | None = None) -> None:
    """`value` is of the class `kind`; a class in place of its instance is the usual slip, or a bare function.

    `of_functions` names the class of this kind that wraps a function.
    """
    if not isinstance(value, kind):
        hint = ""
        if isinstance(value, type):
            hint = f"; write {value.__name__}(...)" if issubclass(value, kind) else ""
        elif callable(value) and of_functions:
            hint = f"; wrap a function in {of_functions}(...)"
        article = "an" if kind.__name__[0] in "AEIOU" else "a"
        raise TypeError(f"{name}: expected {article} {kind.__name__}, got {value!r}{hint}")


def function(name: str, value: Any) -> Any:
    """Anything that can be called."""
    if not callable(value):
        raise TypeError(f"{name}: expected a function, got {value!r}")
    return value


# What JAX traces has no values yet: the checks of arrays let it pass, and look at shapes alone.


def numbers(name: str, value: Any) -> Array:
    """Real numbers as a float64 array of any shape; infinities pass, NaN does not."""
    if isinstance(value, Traced):
        return cast(Array, value)
    result = _floats(name, value)
    if np.isnan(result).any():
        raise ValueError(f"{name}: expected numbers, got NaN in shape {result.shape}")
    return result


def finites(name: str, value: Any) -> Array:
    """Finite numbers as a float64 array of any shape."""
    if isinstance(value, Traced):
        return cast(Array, value)
    result = _floats(name, value)
    if not np.isfinite(result).all():
        raise ValueError(f"{name}: expected finite numbers, got NaN or infinity in shape {result.shape}")
    return result


def _floats(name: str, value: ArrayLike) -> Array:
    try:
        raw = np.asarray(value)
    except ValueError:  # rows of different lengths
        raise ValueError(f"{name}: expected a rectangular array of numbers, got {value!r}") from None
    if raw.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected an array of numbers, got {value!r}")
    return raw.astype(np.float64, copy=False)


def array(name: str, value: ArrayLike, *, ndim: int) -> Array:
    """A read-only float64 copy with `ndim` axes and finite entries."""
    copy = finites(name, value).copy()
    if copy.ndim != ndim:
        axes = "one axis" if ndim == 1 else f"{ndim} axes"
        raise ValueError(f"{name}: expected an array with {axes}, got shape {copy.shape}")
    copy.flags.writeable = False
    return copy


def points(name: str, value: ArrayLike) -> Array:
    """An array of points, one a row, as `array` with two axes."""
    return array(name, value, ndim=2)


def weights(name: str, value: Any, upper: float) -> Array:
    """Finite weights, of any shape, above zero and up to `upper`."""
    result = finites(name, value)
    if isinstance(value, Traced):
        return result
    if (result <= 0).any():
        raise ValueError(f"{name}: expected positive numbers, got {result.min()}")
    if (result > upper).any():
        interval = "(0, 1)" if upper == BELOW_ONE else f"(0, {upper:g}]"
        raise ValueError(f"{name}: expected weights in {interval}, got {result.max()}")
    return result


def probabilities(name: str, value: Array) -> Array:
    """Numbers in [0, 1]."""
    if not isinstance(value, Traced) and ((value < 0) | (value > 1)).any():
        raise ValueError(f"{name}: expected probabilities in [0, 1], got {value.min()} to {value.max()}")
    return value


def broadcast(**arrays: Array) -> None:
    """Shapes that go together; the error names the first that does not go with those before it."""
    shape: tuple[int, ...] = ()
    for name, values in arrays.items():
        try:
            shape = np.broadcast_shapes(shape, values.shape)
        except ValueError:
            raise ValueError(f"{name}: expected a shape that goes with {shape}, got {values.shape}") from None


def levels(name: str, value: ArrayLike) -> Array:
    """Arguments t of a Laplace transform, of any shape: zero or above, infinity included."""
    result = numbers(name, value)
    if (result < 0).any():
        raise ValueError(f"{name}: expected zero or positive numbers, got {result.min()}")
    return result


def rows(name: str, value: Any, expected: int) -> Array:
    """What a user's function returned for `expected` points: finite, one row each, (n,) read as (n, 1)."""
    result = finites(name, value)
    if result.ndim == 1:
        result = result[:, np.newaxis]
    if result.ndim != 2 or result.shape[0] != expected:
        raise ValueError(f"{name}: expected it to return {expected} rows, got shape {np.shape(value)}")
    return points(name, result)


def column(name: str, value: Any, expected: int) -> Array:
    """What a user's function returned for `expected` points: none NaN, one number each."""
    result = numbers(name, value)
    if result.shape not in ((expected,), (expected, 1)):
        raise ValueError(f"{name}: expected it to return {expected} numbers, one a row, got shape {result.shape}")
    return result.reshape(expected)
