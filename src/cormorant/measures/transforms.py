"""Transformation distributions T(x | w, F): the contract, the identity and the gammas.

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
(components,), F and x are (components,) or (groups, components).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.levy import LevyProcess


class Growth(Enum):
    """How what a transformation makes of a weight w grows with F."""

    BOUNDED = "of order w, whatever F is"
    LINEAR = "of order w F for large F"
    EXPONENTIAL = "of order w exp(F)"
    SATURATING = "of order w exp(F) / (1 + w exp(F)), so one at most"


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

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """E[1 - exp(-t x) | w, F], to full relative precision for small w."""
        raise NotImplementedError(f"{type(self).__name__} needs laplace_complement for its Laplace functional")

    def laplace_exponent(self, process: LevyProcess, t: ArrayLike, F: ArrayLike) -> Array:
        """int E[1 - exp(-t x) | w, F] nu(dw), by quadrature unless a subclass knows better."""
        t, F = np.asarray(t, dtype=np.float64), np.asarray(F, dtype=np.float64)
        total = np.zeros(np.broadcast_shapes(t.shape, F.shape))
        for node, coefficient in zip(*process.quadrature(), strict=True):
            total += coefficient * self.laplace_complement(t, node, F)
        return total


def point_mass(x: Array, at: Array) -> Array:
    """Log probability of x under a point mass, equality read up to rounding."""
    return np.where(np.isclose(x, at, rtol=1e-9, atol=0), 0.0, -np.inf)


LARGEST_LOG = 700.0  # exp of it is a finite double


@dataclass(frozen=True)
class Identity(Transformation):
    """x = w: completely random measures as a special case."""

    mean_growth = Growth.BOUNDED
    sure_growth = Growth.BOUNDED
    reads_function = False

    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """w."""
        return self.mean(w, F)

    def mean(self, w: Array, F: Array) -> Array:
        """w."""
        return w * np.ones_like(F)

    def variance(self, w: Array, F: Array) -> Array:
        """0."""
        return np.zeros(np.broadcast_shapes(np.shape(w), np.shape(F)))

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """0 at x = w, -inf elsewhere."""
        return point_mass(x, self.mean(w, F))

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """1 - exp(-t w)."""
        return -np.expm1(-t * self.mean(w, F))

    def laplace_exponent(self, process: LevyProcess, t: ArrayLike, F: ArrayLike) -> Array:
        """psi(t), that of the weights."""
        return process.laplace_exponent(t) * np.ones_like(F)


class GammaTransformation(Transformation):
    """x ~ Gamma(b w, 1 / theta(F)): shape b w and scale theta(F)."""

    # E[1 - exp(-x)] = 1 - (1 + theta)^(-b w) <= b w log(1 + theta(F)): linear at most, whatever the link.
    sure_growth = Growth.LINEAR

    @abstractmethod
    def log_scale(self, F: Array) -> Array:
        """log theta(F)."""

    @property
    def multiplier(self) -> float:
        """b."""
        return 1.0

    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """Gamma(b w, 1 / theta)."""
        drawn = rng.standard_gamma(np.broadcast_to(self.multiplier * w, np.broadcast_shapes(np.shape(w), np.shape(F))))
        # Heavy-tailed F can exceed what exp holds; zero times infinity would then be no number at all.
        return drawn * np.exp(np.minimum(self.log_scale(F), LARGEST_LOG))

    def mean(self, w: Array, F: Array) -> Array:
        """b w theta."""
        return self.multiplier * w * np.exp(self.log_scale(F))

    def variance(self, w: Array, F: Array) -> Array:
        """b w theta^2."""
        return self.multiplier * w * np.exp(2 * self.log_scale(F))

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """-s log theta + (s - 1) log x - x / theta - log Gamma(s), with s = b w."""
        shape, log_scale = self.multiplier * w, self.log_scale(F)
        inside = np.where(x > 0, x, 1.0)
        value = -shape * log_scale + (shape - 1) * np.log(inside) - inside * np.exp(-log_scale)
        return np.where(x > 0, value - special.gammaln(shape), -np.inf)

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """1 - (1 + t theta)^(-b w)."""
        return -np.expm1(-self.multiplier * w * self._log_one_plus(t, F))

    def laplace_exponent(self, process: LevyProcess, t: ArrayLike, F: ArrayLike) -> Array:
        """psi(b log(1 + t theta)), with psi that of the weights: exact."""
        return process.laplace_exponent(self.multiplier * self._log_one_plus(t, F))

    def _log_one_plus(self, t: ArrayLike, F: ArrayLike) -> Array:
        """log(1 + t theta(F)), without overflow."""
        with np.errstate(divide="ignore"):
            log_t = np.log(np.asarray(t, dtype=np.float64))
        return np.logaddexp(0, log_t + self.log_scale(np.asarray(F, dtype=np.float64)))


@dataclass(frozen=True)
class GammaExp(GammaTransformation):
    """x ~ Gamma(w, exp(-F)): correlated nonparametric Poisson factorisation."""

    mean_growth = Growth.EXPONENTIAL
    exponential_link = True

    def log_scale(self, F: Array) -> Array:
        """F."""
        return F


@dataclass(frozen=True)
class GammaSoftplus(GammaTransformation):
    """x ~ Gamma(w, 1 / log(1 + exp F)): the softplus variant."""

    mean_growth = Growth.LINEAR

    def log_scale(self, F: Array) -> Array:
        """log log(1 + exp F), which is F itself far to the left."""
        left = F < -30
        return np.where(left, F, np.log(np.logaddexp(0, np.where(left, 0, F))))


@dataclass(frozen=True)
class UncorrelatedGamma(GammaTransformation):
    """x ~ Gamma(w, 1 / scale), F unread: the hierarchical gamma process (HGP), one `scale` for all groups.

    The scaled HGP, x ~ Gamma(w, exp(-m_u)) with m_u ~ N(0, sigma_m^2), is `GammaExp` under the kernel
    `Constant(sigma_m^2)`.
    """

    scale: float = 1.0

    mean_growth = Growth.BOUNDED
    sure_growth = Growth.BOUNDED
    reads_function = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", _check.positive("scale", self.scale))

    def log_scale(self, F: Array) -> Array:
        """log scale."""
        return np.full(np.shape(F), np.log(self.scale))


@dataclass(frozen=True)
class DilnGamma(GammaTransformation):
    """x ~ Gamma(beta w, exp(-F)), normalised: the discrete infinite logistic normal."""

    beta: float = 1.0

    mean_growth = Growth.EXPONENTIAL
    exponential_link = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "beta", _check.positive("beta", self.beta))

    @property
    def multiplier(self) -> float:
        """beta."""
        return self.beta

    def log_scale(self, F: Array) -> Array:
        """F."""
        return F
