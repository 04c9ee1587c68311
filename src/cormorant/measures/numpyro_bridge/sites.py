"""NumPyro's two primitives, as the models here use them: one variable a site, of any shape."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from cormorant.measures._jax import numpyro

if TYPE_CHECKING:
    from jax import Array


def sample(name: str, law: Any, shape: tuple[int, ...] = ()) -> Array:
    """One random array: independent copies of a law, in all of `shape` more."""
    copies = law.expand(shape + law.batch_shape) if shape else law
    return cast("Array", numpyro.sample(name, copies.to_event()))


def note(name: str, value: Any) -> Array:
    """A value to be kept with the samples."""
    return cast("Array", numpyro.deterministic(name, value))
