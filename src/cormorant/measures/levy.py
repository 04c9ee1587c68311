"""Levy intensities of Poisson processes of weights, their tails, and draws by the inverse of the tail.

A homogeneous process has mean measure nu(da, dw) = H(da) rho(w) dw. Here `mass` is H(E); where the atoms
lie is the business of `bases`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.quadrature import half_line_rule, unit_interval_rule
from cormorant.measures.special_functions import incomplete_beta_tail
from cormorant.measures.weights import MOST_WEIGHTS, WeightProcess, Weights, too_many_weights

# Weights outside this range have no place in a float64; what lies below is counted in `left_out`.
SMALLEST, LARGEST = 1e-300, 1e300
BELOW_ONE = float(np.nextafter(1.0, 0.0))
LAST_LOGIT = 36.0  # beyond it a sigmoid rounds to one


class LevyProcess(WeightProcess):
    """A Poisson process of weights with mean measure nu(dw) = mass rho(w) dw.

    Weights are drawn largest first (Ferguson and Klass 1972): with N(w) = nu((w, upper)) and
    Gamma_1 < Gamma_2 < ... the arrivals of a unit-rate Poisson process, w_j = N^-1(Gamma_j). Weights below
    1e-300 are never drawn, so that `number` may give fewer; they count in `left_out`.
    """

    mass: float

    @property
    @abstractmethod
    def variance(self) -> float:
        """Var sum_i w_i = int w^2 nu(dw), which may be infinite."""

    @abstractmethod
    def intensity(self, w: ArrayLike) -> Array:
        """The density mass rho(w) of nu."""

    @abstractmethod
    def tail(self, w: ArrayLike) -> Array:
        """N(w) = int_w^upper nu(du), the expected number of weights above w."""

    @abstractmethod
    def mass_below(self, w: ArrayLike) -> Array:
        """int_0^w u nu(du), the expected mass of the weights below w."""

    @abstractmethod
    def laplace_exponent(self, t: ArrayLike) -> Array:
        """psi(t) = int (1 - exp(-t w)) nu(dw), so that E exp(-t sum_i w_i) = exp(-psi(t))."""

    @abstractmethod
    def inverse_mass_below(self, mass: float) -> float:
        """The weight w with mass_below(w) = mass, for a mass below the mean."""

    def inverse_tail(self, arrivals: ArrayLike) -> Array:
        """The w with N(w) = arrival, by Newton in s = log w (logit w on the unit interval).

        log N is concave and decreasing in s for every intensity here, so that a Newton step from anywhere
        lands right of the root and then descends to it; bisection covers steps that leave the bracket.
        """
        target = np.log(np.asarray(arrivals, dtype=np.float64))
        to_weight = special.expit if self.upper == 1 else np.exp
        grid = np.linspace(math.log(SMALLEST), LAST_LOGIT if self.upper == 1 else math.log(LARGEST), 256)
        with np.errstate(all="ignore"):
            log_tail = np.maximum(np.log(self.tail(to_weight(grid))), -1e300)
        cell = np.clip(np.searchsorted(-log_tail, -target), 1, len(grid) - 1)
        low, high = grid[cell - 1], grid[cell]
        s = (low + high) / 2
        for _ in range(100):
            w = to_weight(s)
            slope = w * (1 - w) if self.upper == 1 else w
            with np.errstate(all="ignore"):
                tail = self.tail(w)
                gap = np.log(tail) - target
                newton = s + gap * tail / (slope * self.intensity(w))
            low, high = np.where(gap > 0, s, low), np.where(gap > 0, high, s)
            step = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
            converged = np.all(np.abs(step - s) <= 1e-13 * (1 + np.abs(s)))
            s = step
            if converged:
                break
        return to_weight(s)

    def _sample_number(self, rng: np.random.Generator, number: int) -> Weights:
        self._require_finite_mass()
        arrivals = np.cumsum(rng.standard_exponential(number))
        arrivals = arrivals[arrivals < self.tail(SMALLEST)]
        values = self.inverse_tail(arrivals)
        # Fewer than asked for: every weight that can be told from zero was drawn.
        last = values[-1] if len(values) == number else SMALLEST
        return Weights(values, float(self.mass_below(last)))

    def _sample_tail_mass(self, rng: np.random.Generator, tail_mass: float) -> Weights:
        self._require_finite_mass()
        if tail_mass >= self.mean:
            return Weights(np.empty(0), self.mean)
        threshold = self.inverse_mass_below(tail_mass)
        expected = float(self.tail(threshold))
        if expected > MOST_WEIGHTS:
            raise too_many_weights(tail_mass, expected)
        # Given their number, the arrivals below N(threshold) are uniform there.
        arrivals = np.sort(rng.uniform(0, expected, rng.poisson(expected)))
        return Weights(self.inverse_tail(arrivals), tail_mass)

    def _require_finite_mass(self) -> None:
        if math.isinf(self.mass):
            raise ValueError("mass: expected a finite number to draw weights, got inf")


@dataclass(frozen=True)
class GammaProcess(LevyProcess):
    """Gamma process, nu(dw) = mass exp(-c w) / w dw with c = `rate`: M(A) ~ Gamma(H(A), c)."""

    mass: float
    rate: float = 1.0

    upper = math.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", _check.positive("mass", self.mass, or_infinite=True))
        object.__setattr__(self, "rate", _check.positive("rate", self.rate))

    @property
    def index(self) -> float:
        """0: the number of weights above w grows like mass log 1/w."""
        return 0.0

    @property
    def mean(self) -> float:
        """mass / c."""
        return self.mass / self.rate

    @property
    def variance(self) -> float:
        """mass / c^2."""
        return self.mass / self.rate**2

    def intensity(self, w: ArrayLike) -> Array:
        """mass exp(-c w) / w."""
        w = np.asarray(w, dtype=np.float64)
        return self.mass * np.exp(-self.rate * w) / w

    def tail(self, w: ArrayLike) -> Array:
        """mass E1(c w), with E1 the exponential integral."""
        return self.mass * special.exp1(self.rate * np.asarray(w, dtype=np.float64))

    def mass_below(self, w: ArrayLike) -> Array:
        """mass (1 - exp(-c w)) / c."""
        return -self.mass * np.expm1(-self.rate * np.asarray(w, dtype=np.float64)) / self.rate

    def inverse_mass_below(self, mass: float) -> float:
        """-log(1 - c mass / H(E)) / c."""
        return -math.log1p(-self.rate * mass / self.mass) / self.rate

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """mass log(1 + t / c)."""
        return self.mass * np.log1p(np.asarray(t, dtype=np.float64) / self.rate)

    def quadrature(self) -> tuple[Array, Array]:
        """Trapezoid in log w: nu(dw) = mass exp(-c w) d(log w)."""
        nodes, steps = half_line_rule(index=self.index, rate=self.rate)
        return nodes, self.mass * np.exp(-self.rate * nodes) * steps


@dataclass(frozen=True)
class BetaProcess(LevyProcess):
    """Beta process, nu(dw) = mass alpha w^-1 (1 - w)^(alpha - 1) dw on (0, 1), alpha = `concentration`."""

    mass: float
    concentration: float = 1.0

    upper = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "mass", _check.positive("mass", self.mass, or_infinite=True))
        object.__setattr__(self, "concentration", _check.positive("concentration", self.concentration))

    @property
    def index(self) -> float:
        """0: the number of weights above w grows like mass alpha log 1/w."""
        return 0.0

    @property
    def mean(self) -> float:
        """mass."""
        return self.mass

    @property
    def variance(self) -> float:
        """mass / (1 + alpha)."""
        return self.mass / (1 + self.concentration)

    def intensity(self, w: ArrayLike) -> Array:
        """mass alpha w^-1 (1 - w)^(alpha - 1)."""
        w = np.asarray(w, dtype=np.float64)
        alpha = self.concentration
        return self.mass * alpha / w * np.exp((alpha - 1) * np.log1p(-np.minimum(w, BELOW_ONE)))

    def tail(self, w: ArrayLike) -> Array:
        """mass alpha B(1 - w; alpha, 0), with B the incomplete beta function."""
        return self.mass * self.concentration * incomplete_beta_tail(w, self.concentration)

    def mass_below(self, w: ArrayLike) -> Array:
        """mass (1 - (1 - w)^alpha)."""
        with np.errstate(divide="ignore"):
            return -self.mass * np.expm1(self.concentration * np.log1p(-np.asarray(w, dtype=np.float64)))

    def inverse_mass_below(self, mass: float) -> float:
        """1 - (1 - mass / H(E))^(1 / alpha)."""
        return -math.expm1(math.log1p(-mass / self.mass) / self.concentration)

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """int (1 - exp(-t w)) nu(dw) by quadrature; no elementary closed form."""
        t = np.asarray(t, dtype=np.float64)
        return sum((-q * np.expm1(-t * w) for w, q in zip(*self.quadrature(), strict=True)), np.zeros_like(t))

    def quadrature(self) -> tuple[Array, Array]:
        """Trapezoid in logit w: nu(dw) = mass alpha (1 - w)^alpha d(logit w)."""
        nodes, complements, steps = unit_interval_rule(index=self.index, power=self.concentration)
        return nodes, self.mass * self.concentration * complements**self.concentration * steps
