"""The transformed weights x given (w, F), inside a NumPyro model.

How x is sampled follows from whose `log_density` a transformation has: gammas, x = E[x | w, F], and two values of which
one is zero have ways of their own; any other law is a density on (0, inf), traced by JAX.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.measures._jax import dist, jax, jnp
from cormorant.measures.features import BernoulliTransformation, OddsTransformation, Thinning
from cormorant.measures.numpyro_bridge.gammas import sample_log_gamma
from cormorant.measures.numpyro_bridge.sites import note, sample
from cormorant.measures.numpyro_bridge.weights import PlacedWeights
from cormorant.measures.traced import traced
from cormorant.measures.transformation import Deterministic, Transformation
from cormorant.measures.transforms import GammaTransformation

if TYPE_CHECKING:
    from jax import Array

SURE = 1e3  # log odds beyond which a probability is zero or one


@dataclass(frozen=True)
class TwoValued:
    """x_uk = top_k z_uk, z_uk ~ Bernoulli(sigmoid(eta_uk)): left to be summed out."""

    top: Array  # components
    eta: Array  # rows x components


def is_two_valued(transform: Transformation) -> bool:
    """Whether x is zero or one given value."""
    return type(transform).log_density in (BernoulliTransformation.log_density, Thinning.log_density)


def transformed(transform: Transformation, w: PlacedWeights, F: Array, *, normalized: bool) -> Array | TwoValued:
    """x ~ T(. | w, F), rows x components, site `x`."""
    law = type(transform).log_density
    if isinstance(transform, GammaTransformation) and law is GammaTransformation.log_density:
        return _gammas(transform, w, F, normalized)
    if law is BernoulliTransformation.log_density and isinstance(transform, OddsTransformation):
        return TwoValued(jnp.ones_like(w.values), _surely(_log_odds(transform, w, F)))
    if law is Thinning.log_density:
        return TwoValued(w.values, _surely(F))
    if law is Deterministic.log_density:
        return note("x", _shares(_mean(transform, w, F), normalized))
    x = sample("x_unnormalized" if normalized else "x", _density_law()(transform, w.values, F))
    return note("x", _shares(x, normalized)) if normalized else x


def _gammas(transform: GammaTransformation, w: PlacedWeights, F: Array, normalized: bool) -> Array:
    """log x = log Gamma(b w, 1) + log theta(F)."""
    shape = jnp.broadcast_to(transform.multiplier * w.values, F.shape)
    log_x = sample_log_gamma("x", shape) + traced(transform.log_scale, "transform", F)
    return note("x", jax.nn.softmax(log_x, axis=-1) if normalized else jnp.exp(log_x))


def _mean(transform: Transformation, w: PlacedWeights, F: Array) -> Array:
    if isinstance(transform, OddsTransformation):
        return jax.nn.sigmoid(_log_odds(transform, w, F))
    return traced(transform.mean, "transform", w.values, F)


def _log_odds(transform: OddsTransformation, w: PlacedWeights, F: Array) -> Array:
    """eta = link(w) + F."""
    return traced(transform.link, "transform", w.values, w.positions) + F


def _surely(eta: Array) -> Array:
    """Log odds kept from infinity, where covariates decide a component's fate."""
    return jnp.clip(eta, -SURE, SURE)


def _shares(x: Array, normalized: bool) -> Array:
    return x / x.sum(axis=-1, keepdims=True) if normalized else x


@cache
def _density_law() -> type[Any]:
    """The distribution class of a user's transformation; made when used, for its base class is NumPyro's."""

    class ByDensity(dist.Distribution):
        """x on (0, inf) with log density `transform.log_density`, drawn by `transform.sample` outside JAX."""

        support = dist.constraints.positive  # pyright: ignore

        def __init__(self, transform: Transformation, w: Array, F: Array) -> None:
            self.transform, self.w, self.F = transform, w, F
            super().__init__(batch_shape=F.shape, event_shape=())

        def log_prob(self, value: Array) -> Array:  # pyright: ignore[reportIncompatibleMethodOverride]
            return traced(self.transform.log_density, "transform", value, self.w, self.F)

        def sample(self, key: Array, sample_shape: tuple[int, ...] = ()) -> Array:  # pyright: ignore
            def draw(seed: Any, w: Any, F: Any) -> np.ndarray:
                rng = np.random.default_rng(np.asarray(seed))
                F = np.broadcast_to(np.asarray(F, np.float64), (*sample_shape, *np.shape(F)))
                return self.transform.sample(np.asarray(w, np.float64), F, rng).astype(dtype)

            dtype, shape = np.dtype(self.F.dtype), (*sample_shape, *self.F.shape)
            result = jax.ShapeDtypeStruct(shape, dtype)
            return jax.pure_callback(draw, result, jax.random.key_data(key), self.w, self.F, vmap_method="sequential")

    return ByDensity
