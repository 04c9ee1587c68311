"""What every source of weights offers: truncated draws, and expectations over all its weights."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike

from cormorant.measures import _check
from cormorant.measures._check import Array, Seed
from cormorant.measures.quadrature import REACH, WeightRule

MOST_WEIGHTS = 1_000_000


@dataclass(frozen=True, eq=False, repr=False)
class Weights:
    """Truncated weights of one draw of a process.

    `left_out` is the expected mass of the weights that the truncation leaves out, given the ones drawn.
    """

    values: Array
    left_out: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", _check.array("values", self.values, ndim=1))
        _check.weights("values", self.values, math.inf)
        _check.fields(self, left_out=_check.nonnegative)

    def __len__(self) -> int:
        return len(self.values)

    def __repr__(self) -> str:
        return (
            f"Weights({len(self)} weights, total {self.values.sum():.4g}, expected mass left out {self.left_out:.2g})"
        )


class WeightProcess(ABC):
    """A random countable set of weights {w_i}.

    Subclasses draw truncated weights (`sample`) and integrate against their mean intensity (`quadrature`).
    """

    upper: ClassVar[float]  # the least upper bound of a weight: 1 or infinity

    @property
    @abstractmethod
    def index(self) -> float:
        """How many small weights there are: the mean number above w grows like w^-index (0: like log 1/w)."""

    @property
    @abstractmethod
    def mean(self) -> float:
        """E sum_i w_i, which may be infinite."""

    @abstractmethod
    def quadrature(self, reach: float = REACH) -> WeightRule:
        """Nodes w and coefficients q with E sum_i f(w_i) = sum q f(w), for smooth f with f(w) = O(w) at 0.

        f may bend as far as a factor exp(+-reach) from the scale of the weights; beyond, it is proportional to
        w towards zero, and constant towards infinity (towards one on the unit interval).
        """

    @abstractmethod
    def _sample_number(self, rng: np.random.Generator, number: int) -> Weights: ...

    @abstractmethod
    def _sample_tail_mass(self, rng: np.random.Generator, tail_mass: float) -> Weights: ...

    def sample(self, rng: Seed, *, number: int | None = None, tail_mass: float | None = None) -> Weights:
        """Draw weights: the first `number` of them, or enough to leave out a mass of at most `tail_mass`."""
        if (number is None) == (tail_mass is None):
            raise ValueError("number, tail_mass: expected exactly one of them, to say where to truncate")
        rng = _check.generator(rng)
        if number is not None:
            return self._sample_number(rng, _check.count("number", number))
        return self._sample_tail_mass(rng, _check.positive("tail_mass", tail_mass))

    def expectation(self, function: Callable[[Array], ArrayLike]) -> float:
        """E sum_i f(w_i) by quadrature, for f smooth in log w, of order w at zero, that levels off for large w.

        It may grow as well, so long as the large weights thin out faster.
        """
        rule, function = self.quadrature(), _check.function("function", function)
        w, values = rule.weights, _check.column("function", function(rule.weights), len(rule.weights))
        if abs(values[0]) * w[1] > 1.01 * abs(values[1]) * w[0]:
            raise ValueError("function: expected one of order w near zero, where weights are infinitely many")
        shares = np.abs(rule.coefficients * values)
        largest = w == w[-1]  # several nodes where they round to one
        growth = abs(values[-1] - values[~largest][-1])
        if shares[largest].sum() > 1e-9 * shares.sum() and growth > 1e-3 * abs(values[-1]):
            raise ValueError(
                "function: expected one that levels off, or grows more slowly than the large weights of "
                f"{type(self).__name__} thin out; its expectation may be infinite"
            )
        return float(rule.coefficients @ values)


def too_many_weights(tail_mass: float) -> ValueError:
    """The error for a tail mass that asks for more weights than memory should hold."""
    return ValueError(
        f"tail_mass: expected one that at most {MOST_WEIGHTS:,} weights reach, got {tail_mass:g}, which needs more; "
        "raise it or give number instead"
    )
