"""NumPy formulas under JAX: the laws of this package are written once, and differentiated where that is wanted.

A `Traced` array passes for a NumPy array by NumPy's own protocols (`__array_ufunc__`, `__array_function__`): what a
formula asks of NumPy or of scipy.special, it asks of jax.numpy or jax.scipy.special in its place.

    traced(transform.log_density, "transform", x, w, F)

is the log density as JAX sees it, of a transformation that never heard of JAX. A function of jax.numpy works as well.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from cormorant.measures._jax import jax, jnp


class NotTraceable(TypeError):
    """A formula does what JAX cannot follow: it needs numbers, or a function that JAX lacks."""


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """An array of JAX in the place of one of NumPy."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        """The function of that name in JAX."""
        name = ufunc.__name__
        if method != "__call__" or options:
            raise NotTraceable(f"it calls {name} with {', '.join(options) or method}")
        return _wrap(_special(name)(*map(_unwrap, inputs)))

    def __array_function__(self, function: Any, types: Any, arguments: Any, options: Any) -> Any:
        """The function of that name in jax.numpy or jax.numpy.linalg."""
        home = jnp.linalg if function.__module__ == "numpy.linalg" else jnp
        found = getattr(home, function.__name__, None)
        if found is None:
            raise NotTraceable(f"it calls {function.__module__}.{function.__name__}, which JAX lacks")
        return _wrap(found(*_unwrap(arguments), **_unwrap(options)))

    def __array__(self, *_: Any, **__: Any) -> Any:
        raise NotTraceable("it turns its argument into a plain NumPy array")

    def __bool__(self) -> bool:
        raise NotTraceable("it decides by a value (if, and, or); take np.where")

    def __float__(self) -> float:
        raise NotTraceable("it turns its argument into a plain number, as the functions of math do")

    __int__ = __index__ = __float__  # pyright: ignore[reportAssignmentType]

    def __len__(self) -> int:
        return self.value.shape[0]

    def __getitem__(self, key: Any) -> Any:
        return _wrap(self.value[_unwrap(key)])

    def __getattr__(self, name: str) -> Any:
        """Attributes and methods of the array: shape, T, sum, reshape ..."""
        found = getattr(self.value, name)
        if callable(found):
            return lambda *arguments, **options: _wrap(found(*_unwrap(arguments), **_unwrap(options)))
        return _wrap(found)


def _special(name: str) -> Callable[..., Any]:
    """The counterpart of a NumPy or scipy.special ufunc."""
    if name == "log_expit":
        return jax.nn.log_sigmoid
    for home in (jnp, jax.scipy.special):
        if hasattr(home, name):
            return getattr(home, name)
    raise NotTraceable(f"it calls {name}, which JAX lacks")


def _wrap(value: Any) -> Any:
    if isinstance(value, jax.Array):
        return Traced(value)
    return type(value)(map(_wrap, value)) if type(value) in (tuple, list) else value


def _unwrap(value: Any) -> Any:
    if isinstance(value, Traced):
        return value.value
    if isinstance(value, dict):
        return {key: _unwrap(inner) for key, inner in value.items()}
    return type(value)(map(_unwrap, value)) if type(value) in (tuple, list) else value


def traced(function: Callable[..., Any], name: str, *arrays: Any) -> Any:
    """function(*arrays) for arrays of JAX; `name` is the argument that errors blame."""
    values = tuple(map(jnp.asarray, arrays))
    try:
        return jnp.asarray(_unwrap(function(*map(Traced, values))))
    except NotTraceable as error:
        raise _refusal(function, name, error) from error
    except (TypeError, ValueError) as error:
        try:
            return jnp.asarray(function(*values))  # written for jax.numpy, which takes nothing but its own arrays
        except (TypeError, ValueError):
            if isinstance(error, ValueError):  # the formula's own complaint
                raise error from None
            raise _refusal(function, name, error) from error


def _refusal(function: Callable[..., Any], name: str, error: Exception) -> NotTraceable:
    title = getattr(function, "__qualname__", type(function).__name__)
    return NotTraceable(
        f"{name}: expected formulas that JAX can trace, made of NumPy and scipy.special functions or of jax.numpy's "
        f"alone, but {title} is not: {str(error).strip().splitlines()[0]}"
    )


def distances(first: Any, second: Any) -> Any:
    """|first_i - second_j| between rows; traced, its slope where two rows are the same is zero, not undefined."""
    if not isinstance(first, Traced):
        return cdist(first, second)
    square = jnp.sum((_unwrap(first)[:, None, :] - _unwrap(second)[None, :, :]) ** 2, axis=-1)
    apart = square > 0
    return Traced(jnp.where(apart, jnp.sqrt(jnp.where(apart, square, 1.0)), 0.0))
