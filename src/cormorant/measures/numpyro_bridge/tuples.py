"""Atoms and locations inside a NumPyro model."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from cormorant.measures._jax import dist, jnp
from cormorant.measures.bases import AtomDistribution, DirichletAtoms, GammaAtoms, GaussianAtoms
from cormorant.measures.locations import GaussianLocations, LocationDistribution
from cormorant.measures.numpyro_bridge.gammas import sample_log_gamma, smallest
from cormorant.measures.numpyro_bridge.sites import note, sample

if TYPE_CHECKING:
    from jax import Array

Rows = Callable[[int], Any]
"""A function of the number of components that samples a row for each, inside a NumPyro model."""


def atom_sampler(base: AtomDistribution) -> Rows:
    """a_k ~ H / H(E), site `a`, one a row."""
    if isinstance(base, GammaAtoms):
        return lambda number: _gamma_atoms(base, number)
    if isinstance(base, DirichletAtoms):
        return lambda number: sample("a", dist.Dirichlet(jnp.asarray(base.concentration)), (number,))
    if isinstance(base, GaussianAtoms):
        normal = dist.Normal(jnp.asarray(base.mean), np.sqrt(base.variance))
        return lambda number: sample("a", normal, (number,))
    raise TypeError(_no_density("base", base, "atoms"))


def _gamma_atoms(base: GammaAtoms, number: int) -> Array:
    """Gamma(shape, rate) entries: as they are for shapes from one, else by `sample_log_gamma`."""
    size = (number, base.dimension)
    if base.shape >= 1:
        return sample("a", dist.Gamma(base.shape, base.rate), size)
    log_a = sample_log_gamma("a", jnp.full(size, base.shape)) - np.log(base.rate)
    return note("a", jnp.maximum(jnp.exp(log_a), smallest()))


def location_sampler(locations: LocationDistribution) -> Rows:
    """l_k ~ L, site `l`, one a row."""
    if not isinstance(locations, GaussianLocations):
        raise TypeError(_no_density("locations", locations, "locations"))
    if locations.variance == 0:
        return lambda number: jnp.zeros((number, locations.dimension))
    normal = dist.Normal(0.0, np.sqrt(locations.variance))
    return lambda number: sample("l", normal, (number, locations.dimension))


def row_sampler(name: str, given: Any) -> Rows:
    """A user's own rows: a distribution of one row, or a function of the number that samples them all."""
    if isinstance(given, dist.Distribution):
        if len(given.event_shape) != 1 or given.batch_shape:
            raise ValueError(
                f"{name}: expected a distribution of one vector (event_shape (n,), batch_shape ()), got event_shape "
                f"{given.event_shape} and batch_shape {given.batch_shape}; .to_event(1) may be what is missing"
            )
        return lambda number: sample(name[0], given, (number,))
    if callable(given):
        return given
    raise TypeError(f"{name}: expected a NumPyro distribution or a function of the number, got {given!r}")


def _no_density(name: str, given: object, argument: str) -> str:
    return (
        f"measure: {type(given).__name__} ({name}) can be drawn from but has no density that NumPyro knows; give "
        f"to_numpyro {argument}=, a NumPyro distribution of one row or a function of the number that samples them"
    )
