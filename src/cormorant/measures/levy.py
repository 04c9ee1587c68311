"""Levy intensities of Poisson processes of weights, their tails, and draws by the inverse of the tail.

A homogeneous process has mean measure nu(da, dw) = H(da) rho(w) dw. Here `mass` is H(E); where the atoms
lie is the business of `bases`.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import BELOW_ONE, Array
from cormorant.measures.quadrature import REACH, WeightRule, half_line_rule, unit_interval_rule
from cormorant.measures.special_functions import incomplete_beta_tail
from cormorant.measures.weights import MOST_WEIGHTS, WeightProcess, Weights, too_many_weights

# Weights outside this range have no place in a float64; what lies below is counted in `left_out`.
SMALLEST, LARGEST = 1e-300, 1e300
LAST_LOGIT = 36.0  # beyond it a sigmoid rounds to one


@dataclass(frozen=True)
class LevyProcess(WeightProcess):
    """A Poisson process of weights with mean measure nu(dw) = mass rho(w) dw.

    Weights are drawn largest first (Ferguson and Klass 1972): with N(w) = nu((w, upper)) and
    Gamma_1 < Gamma_2 < ... the arrivals of a unit-rate Poisson process, w_j = N^-1(Gamma_j). Weights below
    1e-300 are never drawn, so that `number` may give fewer; they count in `left_out`.
    """

    mass: float

    def __post_init__(self) -> None:
        _check.fields(self, mass=_check.positive_or_infinite)

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
        target = np.log(_check.weights("arrivals", arrivals, math.inf))
        to_weight = special.expit if self.upper == 1 else np.exp
        grid, log_tail = self._log_tails
        cell = np.clip(np.searchsorted(-log_tail, -target), 1, len(grid) - 1)
        low, high = grid[cell - 1], grid[cell]
        s = np.interp(-target, -log_tail, grid)
        for _ in range(100):
            w = to_weight(s)
            slope = w * (1 - w) if self.upper == 1 else w
            with np.errstate(all="ignore"):
                tail = self.tail(w)
                gap = np.log(tail) - target
                density = slope * self.intensity(w)  # infinite where w is too small for its intensity
                newton = np.where(np.isfinite(density), s + gap * tail / density, np.nan)
            low, high = np.where(gap > 0, s, low), np.where(gap > 0, high, s)
            step = np.where((newton >= low) & (newton <= high), newton, (low + high) / 2)
            converged = np.all(np.abs(step - s) <= 1e-13 * (1 + np.abs(s)))
            s = step
            if converged:
                break
        return to_weight(s)

    @cached_property
    def _log_tails(self) -> tuple[Array, Array]:
        """log N on a grid over all weights of a float64, to bracket what `inverse_tail` looks for."""
        unit = self.upper == 1
        grid = np.linspace(math.log(SMALLEST), LAST_LOGIT if unit else math.log(LARGEST), 4096)
        with np.errstate(all="ignore"):
            log_tail = np.log(self.tail(special.expit(grid) if unit else np.exp(grid)))
        return grid, np.clip(log_tail, -1e300, 1e300)

    def _weights(self, w: ArrayLike) -> Array:
        """The argument w of the functions above, checked."""
        return _check.weights("w", w, self.upper)

    def _share_below(self, mass: float) -> float:
        """The argument of `inverse_mass_below` as a share of the mean, checked."""
        share = _check.positive("mass", mass) / self.mean
        if share >= 1:
            raise ValueError(f"mass: expected a number below the mean {self.mean:g}, got {mass:g}")
        return share

    def _sample_number(self, rng: np.random.Generator, number: int) -> Weights:
        self._require_finite_mass()
        arrivals = np.cumsum(rng.standard_exponential(number))
        arrivals = arrivals[arrivals < self.tail(SMALLEST)]
        values = self.inverse_tail(arrivals)
        if len(values) < number:  # every weight that can be told from zero was drawn
            return Weights(values, float(self.mass_below(SMALLEST)))
        return Weights(values, max(float(self.mass_below(values[-1])), self._rest_of_mean(arrivals[-1])))

    def _sample_tail_mass(self, rng: np.random.Generator, tail_mass: float) -> Weights:
        self._require_finite_mass()
        if tail_mass >= self.mean:
            return Weights(np.empty(0), self.mean)
        threshold = self.inverse_mass_below(tail_mass)
        expected = float(self.tail(threshold)) if threshold > SMALLEST else math.inf
        expected = max(expected, self._rest_of_mean(tail_mass))
        if expected > MOST_WEIGHTS:
            raise too_many_weights(tail_mass)
        # Given their number, the arrivals below N(threshold) are uniform there.
        arrivals = np.sort(rng.uniform(0, expected, rng.poisson(expected)))
        return Weights(self.inverse_tail(arrivals), tail_mass)

    def _rest_of_mean(self, part: float) -> float:
        """mean - part: N(w) weights below one weigh at most N(w), so that mean <= mass_below(w) + N(w).

        Each of the two is thus at least the mean less the other. Within rounding of one that is exact, where
        `mass_below` and `tail` have lost the digits of 1 - w. Weights that pass one know no such bound.
        """
        return self.mean - part if self.upper == 1 else 0.0

    def _require_finite_mass(self) -> None:
        if math.isinf(self.mass):
            raise ValueError("mass: expected a finite number to draw weights, got inf")


@dataclass(frozen=True)
class GammaProcess(LevyProcess):
    """Gamma process, nu(dw) = mass exp(-c w) / w dw with c = `rate`: M(A) ~ Gamma(H(A), c)."""

    rate: float = 1.0

    upper = math.inf

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.fields(self, rate=_check.positive)

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
        return self.mean / self.rate

    def intensity(self, w: ArrayLike) -> Array:
        """mass exp(-c w) / w."""
        w = self._weights(w)
        return self.mass * np.exp(-self.rate * w) / w

    def tail(self, w: ArrayLike) -> Array:
        """mass E1(c w), with E1 the exponential integral."""
        return self.mass * special.exp1(self.rate * self._weights(w))

    def mass_below(self, w: ArrayLike) -> Array:
        """mass (1 - exp(-c w)) / c."""
        return -self.mean * np.expm1(-self.rate * self._weights(w))

    def inverse_mass_below(self, mass: float) -> float:
        """-log(1 - c mass / H(E)) / c."""
        return -math.log1p(-self._share_below(mass)) / self.rate

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """mass log(1 + t / c)."""
        return self.mass * np.log1p(_check.levels("t", t) / self.rate)

    def quadrature(self, reach: float = REACH) -> WeightRule:
        """Trapezoid in log w: nu(dw) = mass exp(-c w) d(log w)."""
        rule = half_line_rule(index=self.index, rate=self.rate, reach=reach)
        return rule.against(self.mass * np.exp(-self.rate * rule.weights))


@dataclass(frozen=True)
class BetaProcess(LevyProcess):
    """Beta process, nu(dw) = mass alpha w^-1 (1 - w)^(alpha - 1) dw on (0, 1), alpha = `concentration`.

    Draws tell a weight within 1e-16 of one, of which a small alpha has many, as the last float64 below one.
    """

    concentration: float = 1.0

    upper = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        _check.fields(self, concentration=_check.positive)

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
        w, alpha = self._weights(w), self.concentration
        return self.mass * alpha / w * np.exp((alpha - 1) * np.log1p(-np.minimum(w, BELOW_ONE)))

    def tail(self, w: ArrayLike) -> Array:
        """mass alpha B(1 - w; alpha, 0), with B the incomplete beta function."""
        return self.mass * self.concentration * incomplete_beta_tail(self._weights(w), self.concentration)

    def mass_below(self, w: ArrayLike) -> Array:
        """mass (1 - (1 - w)^alpha)."""
        with np.errstate(divide="ignore"):
            return -self.mass * np.expm1(self.concentration * np.log1p(-self._weights(w)))

    def inverse_mass_below(self, mass: float) -> float:
        """1 - (1 - mass / H(E))^(1 / alpha)."""
        return -math.expm1(math.log1p(-self._share_below(mass)) / self.concentration)

    def laplace_exponent(self, t: ArrayLike) -> Array:
        """int (1 - exp(-t w)) nu(dw) by quadrature; no elementary closed form."""
        t = _check.levels("t", t)
        rule = self.quadrature(max(REACH, math.log1p(t.max(initial=0.0, where=np.isfinite(t)))))
        terms = (-q * np.expm1(-t * w) for w, q in zip(rule.weights, rule.coefficients, strict=True))
        return np.where(np.isinf(t), np.inf, sum(terms, np.zeros_like(t)))

    def quadrature(self, reach: float = REACH) -> WeightRule:
        """Trapezoid in logit w: nu(dw) = mass alpha (1 - w)^alpha d(logit w)."""
        alpha = self.concentration
        rule = unit_interval_rule(index=self.index, power=alpha, reach=reach)
        return rule.against(self.mass * alpha * np.exp(alpha * special.log_expit(-rule.positions)))
