"""Generalised gamma and stable processes: Levy intensities with power-law many small weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.levy import LARGEST, LevyProcess
from cormorant.measures.quadrature import REACH, WeightRule, half_line_rule
from cormorant.measures.special_functions import upper_gamma


class _PowerLaw:
    """What the two share: rho(w) is w^(-1 - sigma) / Gamma(1 - sigma) near zero, sigma = `discount`."""

    mass: float
    discount: float

    upper = math.inf

    @property
    def index(self) -> float:
        """sigma."""
        return self.discount

    @property
    def _level(self) -> float:
        """mass / Gamma(1 - sigma)."""
        return self.mass / math.gamma(1 - self.discount)


@dataclass(frozen=True)
class GeneralizedGammaProcess(_PowerLaw, LevyProcess):
    """Generalised gamma process, nu(dw) = mass / Gamma(1 - sigma) w^(-1 - sigma) exp(-c w) dw.

    c = `rate` > 0 and sigma = `discount` in (0, 1). As sigma -> 0 it is the gamma process; c = 0 is
    `StableProcess`.
    """

    rate: float
    discount: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.fields(self, rate=_check.positive, discount=_check.fraction)

    @property
    def mean(self) -> float:
        """mass c^(sigma - 1)."""
        return self.mass * self.rate**self.discount / self.rate

    @property
    def variance(self) -> float:
        """mass (1 - sigma) c^(sigma - 2)."""
        return (1 - self.discount) * self.mean / self.rate

    def intensity(self, w: ArrayLike) -> Array:
        """mass / Gamma(1 - sigma) w^(-1 - sigma) exp(-c w)."""
        w = self._weights(w)
        return self._level * w ** (-1 - self.discount) * np.exp(-self.rate * w)

    def tail(self, w: ArrayLike) -> Array:
        """mass / Gamma(1 - sigma) c^sigma Gamma(-sigma, c w), with the upper incomplete gamma function."""
        log_x = np.log(self.rate) + np.log(self._weights(w))
        return self._level * self.rate**self.discount * upper_gamma(log_x, self.discount)

    def mass_below(self, w: ArrayLike) -> Array:
        """mass c^(sigma - 1) P(1 - sigma, c w), with P the regularised lower incomplete gamma function."""
        share = special.gammainc(1 - self.discount, self.rate * self._weights(w))
        return np.multiply(self.mean, share, dtype=np.float64)

    def inverse_mass_below(self, mass: float) -> float:
        """P^-1(1 - sigma, mass / mean) / c."""
        return float(special.gammaincinv(1 - self.discount, self._share_below(mass))) / self.rate

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """mass / sigma ((c + t)^sigma - c^sigma)."""
        t, sigma, c = _check.levels("t", t), self.discount, self.rate
        return self.mass / sigma * c**sigma * np.expm1(sigma * np.log1p(t / c))

    def quadrature(self, reach: float = REACH) -> WeightRule:
        """Trapezoid in log w: nu(dw) = mass / Gamma(1 - sigma) w^-sigma exp(-c w) d(log w)."""
        rule = half_line_rule(index=self.index, rate=self.rate, reach=reach)
        return rule.against(self._level * rule.weights**-self.discount * np.exp(-self.rate * rule.weights))


@dataclass(frozen=True)
class StableProcess(_PowerLaw, LevyProcess):
    """Stable process, nu(dw) = mass / Gamma(1 - sigma) w^(-1 - sigma) dw: finite, with infinite mean."""

    discount: float

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.fields(self, discount=_check.fraction)

    @property
    def mean(self) -> float:
        """Infinite: large weights are too many."""
        return math.inf

    @property
    def variance(self) -> float:
        """Infinite, like the mean."""
        return math.inf

    def intensity(self, w: ArrayLike) -> Array:
        """mass / Gamma(1 - sigma) w^(-1 - sigma)."""
        return self._level * self._weights(w) ** (-1 - self.discount)

    def tail(self, w: ArrayLike) -> Array:
        """mass w^-sigma / (sigma Gamma(1 - sigma))."""
        return self._level / self.discount * self._weights(w) ** -self.discount

    def inverse_tail(self, arrivals: ArrayLike) -> Array:
        """(mass / (sigma Gamma(1 - sigma) arrival))^(1 / sigma), in closed form."""
        arrivals = _check.weights("arrivals", arrivals, math.inf)
        log_w = np.log(self._level / (self.discount * arrivals)) / self.discount
        if log_w.max(initial=0.0) > math.log(LARGEST):
            raise ValueError(
                f"discount: expected one under which weights fit a float64, got {self.discount:g}, which gave a "
                f"weight of 10^{log_w.max() / math.log(10):.0f}; raise discount or take a GeneralizedGammaProcess"
            )
        return np.exp(log_w)

    def mass_below(self, w: ArrayLike) -> Array:
        """mass w^(1 - sigma) / Gamma(2 - sigma)."""
        return self.mass * self._weights(w) ** (1 - self.discount) / math.gamma(2 - self.discount)

    def inverse_mass_below(self, mass: float) -> float:
        """(Gamma(2 - sigma) mass / H(E))^(1 / (1 - sigma))."""
        base = math.gamma(2 - self.discount) * _check.positive("mass", mass) / self.mass
        log_w = math.log(base) / (1 - self.discount)
        if log_w > math.log(LARGEST):
            raise ValueError(f"mass: expected one that weights of a float64 reach, got {mass:g}; lower it")
        return math.exp(log_w)

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """mass t^sigma / sigma."""
        return self.mass * _check.levels("t", t) ** self.discount / self.discount

    def quadrature(self, reach: float = REACH) -> WeightRule:
        """Trapezoid in log w; needs a bounded f, since the process has no mean."""
        rule = half_line_rule(index=self.index, rate=0.0, reach=reach)
        return rule.against(self._level * rule.weights**-self.discount)
