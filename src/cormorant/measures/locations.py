"""Distributions L of the locations l in R^D at which the random function is read."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures import _check
from cormorant.measures._check import Array, Seed


class LocationDistribution(ABC):
    """A probability distribution of locations in R^`dimension`."""

    dimension: int

    @abstractmethod
    def _draw(self, rng: np.random.Generator, number: int) -> Array: ...

    def sample(self, rng: Seed, number: int) -> Array:
        """`number` independent locations, one a row."""
        number = _check.count("number", number, least=0)
        return _check.points(type(self).__name__, self._draw(_check.generator(rng), number))


@dataclass(frozen=True)
class GaussianLocations(LocationDistribution):
    """Isotropic Gaussian, l ~ N(0, sigma_l^2 I_D) with sigma_l^2 = `variance`; all at the origin for 0."""

    dimension: int
    variance: float = 1.0

    def __post_init__(self) -> None:
        _check.fields(self, dimension=_check.count, variance=_check.nonnegative)

    def _draw(self, rng: np.random.Generator, number: int) -> Array:
        return np.sqrt(self.variance) * rng.standard_normal((number, self.dimension))


@dataclass(frozen=True)
class CallableLocations(LocationDistribution):
    """Locations from any function of (generator, number) that returns that many rows of `dimension`."""

    function: Callable[[np.random.Generator, int], ArrayLike]
    dimension: int

    def __post_init__(self) -> None:
        _check.fields(self, function=_check.function, dimension=_check.count)

    def _draw(self, rng: np.random.Generator, number: int) -> Array:
        drawn = _check.rows("function", self.function(rng, number), number)
        if drawn.shape[1] != self.dimension:
            raise ValueError(f"function: expected {self.dimension} columns, got {drawn.shape[1]}")
        return drawn
