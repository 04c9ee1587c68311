"""JAX and NumPyro, imported when first used: only the extra `numpyro` has them."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax
    import jax.numpy as jnp
    import numpyro
    import numpyro.distributions as dist


class _Later:
    """A module that is imported when something is first asked of it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        if attribute.startswith("__"):  # what inspection asks of any object must not import anything
            raise AttributeError(attribute)
        return getattr(_import(self._name), attribute)


def _import(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as missing:
        raise ModuleNotFoundError(
            f"NumPyro models need {missing.name}, which is not installed; pip install 'cormorant[numpyro]'",
            name=missing.name,
        ) from None


if not TYPE_CHECKING:
    jax = _Later("jax")
    jnp = _Later("jax.numpy")
    numpyro = _Later("numpyro")
    dist = _Later("numpyro.distributions")

__all__ = ["dist", "jax", "jnp", "numpyro"]
