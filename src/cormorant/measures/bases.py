"""What an atom is: base distributions H / H(E) on R^d. Their total mass belongs to the weight process."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures import _check
from cormorant.measures._check import Array, Seed


class AtomDistribution(ABC):
    """A probability distribution of atoms, drawn as rows; one that tells its `dimension` is checked earlier."""

    @abstractmethod
    def _draw(self, rng: np.random.Generator, number: int) -> Array: ...

    def sample(self, rng: Seed, number: int) -> Array:
        """`number` independent atoms, one a row."""
        number = _check.count("number", number, least=0)
        return _check.rows(type(self).__name__, self._draw(_check.generator(rng), number), number)


@dataclass(frozen=True)
class GammaAtoms(AtomDistribution):
    """Vectors of `dimension` independent Gamma(shape, rate) entries, as in Poisson factorisation."""

    dimension: int
    shape: float = 1.0
    rate: float = 1.0

    def __post_init__(self) -> None:
        _check.fields(self, dimension=_check.count, shape=_check.positive, rate=_check.positive)

    def _draw(self, rng: np.random.Generator, number: int) -> Array:
        return rng.gamma(self.shape, 1 / self.rate, (number, self.dimension))


@dataclass(frozen=True, eq=False)
class DirichletAtoms(AtomDistribution):
    """Probability vectors, Dirichlet(concentration): topics over a vocabulary."""

    concentration: Array
    dimension: int = field(init=False, repr=False)

    def __init__(self, concentration: ArrayLike) -> None:
        values = _check.array("concentration", concentration, ndim=1)
        if len(values) < 2 or (values <= 0).any():
            raise ValueError(
                f"concentration: expected at least two positive numbers, got {np.asarray(concentration)!r}"
            )
        object.__setattr__(self, "concentration", values)
        object.__setattr__(self, "dimension", len(values))

    def _draw(self, rng: np.random.Generator, number: int) -> Array:
        return rng.dirichlet(self.concentration, number)


@dataclass(frozen=True, eq=False)
class GaussianAtoms(AtomDistribution):
    """Gaussian vectors N(mean, variance I)."""

    mean: Array
    variance: float
    dimension: int = field(init=False, repr=False)

    def __init__(self, mean: ArrayLike, variance: float = 1.0) -> None:
        object.__setattr__(self, "mean", _check.array("mean", np.atleast_1d(_check.finites("mean", mean)), ndim=1))
        object.__setattr__(self, "variance", _check.positive("variance", variance))
        object.__setattr__(self, "dimension", len(self.mean))

    def _draw(self, rng: np.random.Generator, number: int) -> Array:
        return rng.normal(self.mean, np.sqrt(self.variance), (number, len(self.mean)))


@dataclass(frozen=True)
class CallableAtoms(AtomDistribution):
    """Atoms from any function of (generator, number) that returns that many rows."""

    function: Callable[[np.random.Generator, int], ArrayLike]

    def __post_init__(self) -> None:
        _check.fields(self, function=_check.function)

    def _draw(self, rng: np.random.Generator, number: int) -> Array:
        return _check.rows("function", self.function(rng, number), number)
