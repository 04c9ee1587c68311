"""What a transformation distribution T(x | w, F) is: the contract that those in `transforms` and `features` keep.

A transformation of your own is one small class:

    @dataclass(frozen=True)
    class Exponential(Transformation):
        '''x ~ Exponential with mean w exp(F).'''

        mean_growth = Growth.EXPONENTIAL
        exponential_link = True

        def sample(self, w, F, rng):
            return rng.exponential(self.mean(w, F))

        def mean(self, w, F):
            return w * np.exp(F)

        def variance(self, w, F):
            return self.mean(w, F) ** 2

        def log_density(self, x, w, F):
            return -x / self.mean(w, F) - np.log(self.mean(w, F))

`laplace_complement` (one more line) opens the Laplace functional to it, `mean_growth` and `sure_growth`
the verdicts of `finiteness`, and `exponential_link` the closed-form moments. Arrays broadcast: w is
(components,), F and x are (components,) or (groups, components). Arguments reach these methods checked.
"""

from __future__ import annotations

import inspect
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from enum import Enum
from functools import wraps
from typing import Any, ClassVar

import numpy as np

from cormorant.measures import _check
from cormorant.measures._check import BELOW_ONE, Array
from cormorant.measures.levy import LevyProcess
from cormorant.measures.quadrature import REACH
from cormorant.measures.weights import WeightProcess

CHECKED = (
    "sample",
    "sample_log",
    "mean",
    "variance",
    "log_density",
    "laplace_complement",
    "laplace_exponent",
    "total_mean",
)
FARTHEST_F = 600.0  # where w exp(F) still has room in a float64 for the weights that matter


class Growth(Enum):
    """How what a transformation makes of a weight w grows with F."""

    BOUNDED = "of order w, whatever F is"
    LINEAR = "of order w F for large F"
    EXPONENTIAL = "of order w exp(F)"
    SATURATING = "of order w exp(F) / (1 + w exp(F)), so one at most"


def _checked(method: Callable[..., Array]) -> Callable[..., Array]:
    """The method behind the one check of its arguments by name: process, x, t, w, F and rng."""
    signature = inspect.signature(method)

    @wraps(method)
    def checked(self: Transformation, *arguments: Any, **named: Any) -> Array:
        bound = signature.bind(self, *arguments, **named)
        given = bound.arguments
        upper = BELOW_ONE if self.unit_weights else math.inf
        checks: dict[str, Callable[[Any], Any]] = {
            # The Laplace transform of sticks, which are not Poisson, is no integral over their mean intensity.
            "process": lambda process: self.check_process(
                "process", process, LevyProcess if "t" in given else WeightProcess
            ),
            "t": lambda t: _check.levels("t", t),
            "x": lambda x: _check.numbers("x", x),
            "w": lambda w: _check.weights("w", w, upper),
            "F": lambda F: _check.numbers("F", F),
            "rng": _check.generator,
        }
        given.update({name: check(given[name]) for name, check in checks.items() if name in given})
        _check.broadcast(**{name: given[name] for name in ("w", "F", "x", "t") if name in given})
        return method(*bound.args, **bound.kwargs)

    return checked


class Transformation(ABC):
    """The law of a transformed weight x given the weight w and the random function's value F."""

    mean_growth: ClassVar[Growth | None] = None
    """Growth of E[x | w, F]; None leaves the mean's finiteness undetermined."""
    sure_growth: ClassVar[Growth | None] = None
    """Growth of E[min(x, 1) | w, F], which decides almost sure finiteness; None leaves that undetermined."""
    exponential_link: ClassVar[bool] = False
    """Whether E[x | w, F] = E[x | w, 0] exp(F) and Var[x | w, F] = Var[x | w, 0] exp(2 F)."""
    reads_function: ClassVar[bool] = True
    """Whether the law of x depends on F at all."""
    unit_weights: ClassVar[bool] = False
    """Whether w must lie in (0, 1)."""
    may_vanish: ClassVar[bool] = False
    """Whether all x of a finite measure can be zero together, so that it cannot be normalised."""

    def __init_subclass__(cls, **options: Any) -> None:
        """Let every method that takes w and F check them first, in one's own transformations too."""
        super().__init_subclass__(**options)
        for name in CHECKED:
            if name in vars(cls):
                setattr(cls, name, _checked(vars(cls)[name]))

    def check_process(self, name: str, process: WeightProcess, kind: type = WeightProcess) -> WeightProcess:
        """A process of this kind, whose weights lie where this transformation takes them; `name` is for errors."""
        _check.instance(name, process, kind)
        if self.unit_weights and process.upper > 1:
            raise ValueError(
                f"{name}: {type(self).__name__} needs weights in (0, 1), but {type(process).__name__} gives any "
                "positive ones; take BetaProcess, or BernoulliLog"
            )
        return process

    @abstractmethod
    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """Draw x given (w, F)."""

    @abstractmethod
    def mean(self, w: Array, F: Array) -> Array:
        """E[x | w, F]."""

    @abstractmethod
    def variance(self, w: Array, F: Array) -> Array:
        """Var[x | w, F]."""

    @abstractmethod
    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """log T(x | w, F): of a density, or of a probability where x is discrete given (w, F)."""

    def sample_log(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """Draw log x, for measures that are normalised; -inf where x is zero."""
        with np.errstate(divide="ignore"):
            return np.log(self.sample(w, F, rng))

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """E[1 - exp(-t x) | w, F], to full relative precision for small w."""
        raise NotImplementedError(f"{type(self).__name__} needs laplace_complement for its Laplace functional")

    @_checked
    def laplace_exponent(self, process: LevyProcess, t: Array, F: Array) -> Array:
        """int E[1 - exp(-t x) | w, F] nu(dw), by quadrature unless a subclass knows better."""
        reach = _farthest(F) + math.log1p(min(t.max(initial=0.0), 1e300))
        return _over_weights(process, reach, lambda w: self.laplace_complement(t, w, F))

    @_checked
    def total_mean(self, process: WeightProcess, F: Array) -> Array:
        """int E[x | w, F] nu(dw), by quadrature unless a subclass knows better."""
        return _over_weights(process, _farthest(F), lambda w: self.mean(w, F))


def _farthest(F: Array) -> float:
    return float(np.abs(F).max(initial=0.0, where=np.isfinite(F)))


def _over_weights(process: WeightProcess, reach: float, function: Callable[[Any], Array]) -> Array:
    """int f(w) nu(dw) for an f that bends as far as a factor exp(+-reach) from where it does at F = 0."""
    rule = process.quadrature(min(REACH + reach, FARTHEST_F))
    terms = (q * function(w) for w, q in zip(rule.weights, rule.coefficients, strict=True))
    return sum(terms, np.zeros(()))


class Deterministic(Transformation):
    """x = E[x | w, F], surely."""

    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """E[x | w, F] itself."""
        return self.mean(w, F)

    def variance(self, w: Array, F: Array) -> Array:
        """0."""
        return np.zeros(np.broadcast_shapes(np.shape(w), np.shape(F)))

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """0 at x = E[x | w, F], -inf elsewhere."""
        return point_mass(x, self.mean(w, F))

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """1 - exp(-t x)."""
        return -np.expm1(-t * self.mean(w, F))


def point_mass(x: Array, at: Array) -> Array:
    """Log probability of x under a point mass, equality read up to rounding."""
    return np.where(np.isclose(x, at, rtol=1e-9, atol=0), 0.0, -np.inf)
