"""Gamma variables of small shape, in coordinates that gradient-based samplers can walk."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cormorant.measures._jax import dist, jnp
from cormorant.measures.numpyro_bridge.sites import sample

if TYPE_CHECKING:
    from jax import Array


def smallest() -> float:
    """A positive number whose inverse square still fits the precision in use."""
    return float(jnp.finfo(jnp.result_type(float)).tiny) ** 0.4


def sample_log_gamma(name: str, shape: Array) -> Array:
    """log of Gamma(shape, 1) as log g - e / shape, g ~ Gamma(shape + 1, 1) and e ~ Exponential(1).

    A gamma variable of tiny shape spreads over hundreds of orders of magnitude; g and e do not, and they stay
    independent of the shape, or nearly.
    """
    shape = jnp.maximum(shape, smallest())
    g = sample(f"{name}_gamma", dist.Gamma(shape + 1.0, 1.0))
    e = sample(f"{name}_exponential", dist.Exponential(), shape.shape)
    return jnp.log(g) - e / shape
