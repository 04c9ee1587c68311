"""Generalised gamma and stable processes: Levy intensities with power-law many small weights."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.levy import LARGEST, SMALLEST, LevyProcess
from cormorant.measures.quadrature import half_line_rule


@dataclass(frozen=True)
class GeneralizedGammaProcess(LevyProcess):
    """Generalised gamma process, nu(dw) = mass / Gamma(1 - sigma) w^(-1 - sigma) exp(-c w) dw.

    c = `rate` > 0 and sigma = `discount` in (0, 1). As sigma -> 0 it is the gamma process; c = 0 is
    `StableProcess`.
    """

    mass: float
    rate: float
    discount: float

    upper = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", _check.positive("mass", self.mass, or_infinite=True))
        object.__setattr__(self, "rate", _check.positive("rate", self.rate))
        object.__setattr__(self, "discount", _check.fraction("discount", self.discount))

    @property
    def index(self) -> float:
        """sigma."""
        return self.discount

    @property
    def mean(self) -> float:
        """mass c^(sigma - 1)."""
        return self.mass * self.rate ** (self.discount - 1)

    @property
    def variance(self) -> float:
        """mass (1 - sigma) c^(sigma - 2)."""
        return self.mass * (1 - self.discount) * self.rate ** (self.discount - 2)

    def intensity(self, w: ArrayLike) -> Array:
        """mass / Gamma(1 - sigma) w^(-1 - sigma) exp(-c w)."""
        w, sigma = np.asarray(w, dtype=np.float64), self.discount
        return self.mass / math.gamma(1 - sigma) * w ** (-1 - sigma) * np.exp(-self.rate * w)

    def tail(self, w: ArrayLike) -> Array:
        """mass / sigma (w^-sigma exp(-c w) / Gamma(1 - sigma) - c^sigma Q(1 - sigma, c w)).

        By parts from the intensity; Q is the regularised upper incomplete gamma function.
        """
        w, sigma, c = np.asarray(w, dtype=np.float64), self.discount, self.rate
        boundary = w**-sigma * np.exp(-c * w) / math.gamma(1 - sigma)
        # Far in the tail the difference drowns in rounding: never below zero.
        return self.mass / sigma * np.maximum(boundary - c**sigma * special.gammaincc(1 - sigma, c * w), 0)

    def mass_below(self, w: ArrayLike) -> Array:
        """mass c^(sigma - 1) P(1 - sigma, c w), with P the regularised lower incomplete gamma function."""
        share = special.gammainc(1 - self.discount, self.rate * np.asarray(w, dtype=np.float64))
        return np.multiply(self.mean, share, dtype=np.float64)

    def inverse_mass_below(self, mass: float) -> float:
        """P^-1(1 - sigma, mass / mean) / c."""
        return float(special.gammaincinv(1 - self.discount, mass / self.mean)) / self.rate

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """mass / sigma ((c + t)^sigma - c^sigma)."""
        t, sigma, c = np.asarray(t, dtype=np.float64), self.discount, self.rate
        return self.mass / sigma * c**sigma * np.expm1(sigma * np.log1p(t / c))

    def quadrature(self) -> tuple[Array, Array]:
        """Trapezoid in log w: nu(dw) = mass / Gamma(1 - sigma) w^-sigma exp(-c w) d(log w)."""
        nodes, steps = half_line_rule(index=self.index, rate=self.rate)
        density = nodes**-self.discount * np.exp(-self.rate * nodes) / math.gamma(1 - self.discount)
        return nodes, self.mass * density * steps


@dataclass(frozen=True)
class StableProcess(LevyProcess):
    """Stable process, nu(dw) = mass / Gamma(1 - sigma) w^(-1 - sigma) dw: finite, with infinite mean."""

    mass: float
    discount: float

    upper = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", _check.positive("mass", self.mass, or_infinite=True))
        object.__setattr__(self, "discount", _check.fraction("discount", self.discount))

    @property
    def index(self) -> float:
        """sigma."""
        return self.discount

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
        w, sigma = np.asarray(w, dtype=np.float64), self.discount
        return self.mass / math.gamma(1 - sigma) * w ** (-1 - sigma)

    def tail(self, w: ArrayLike) -> Array:
        """mass w^-sigma / (sigma Gamma(1 - sigma))."""
        w, sigma = np.asarray(w, dtype=np.float64), self.discount
        return self.mass * w**-sigma / (sigma * math.gamma(1 - sigma))

    def inverse_tail(self, arrivals: ArrayLike) -> Array:
        """(mass / (sigma Gamma(1 - sigma) arrival))^(1 / sigma), in closed form."""
        arrivals, sigma = np.asarray(arrivals, dtype=np.float64), self.discount
        log_w = np.log(self.mass / (sigma * math.gamma(1 - sigma) * arrivals)) / sigma
        return np.exp(np.clip(log_w, math.log(SMALLEST), math.log(LARGEST)))

    def mass_below(self, w: ArrayLike) -> Array:
        """mass w^(1 - sigma) / Gamma(2 - sigma)."""
        w, sigma = np.asarray(w, dtype=np.float64), self.discount
        return self.mass * w ** (1 - sigma) / math.gamma(2 - sigma)

    def inverse_mass_below(self, mass: float) -> float:
        """(Gamma(2 - sigma) mass / H(E))^(1 / (1 - sigma))."""
        return (math.gamma(2 - self.discount) * mass / self.mass) ** (1 / (1 - self.discount))

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """mass t^sigma / sigma."""
        return self.mass * np.asarray(t, dtype=np.float64) ** self.discount / self.discount

    def quadrature(self) -> tuple[Array, Array]:
        """Trapezoid in log w; needs a bounded f, since the process has no mean."""
        nodes, steps = half_line_rule(index=self.index, rate=0.0)
        return nodes, self.mass * nodes**-self.discount / math.gamma(1 - self.discount) * steps
