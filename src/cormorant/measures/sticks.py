"""Dirichlet and Pitman-Yor processes by stick breaking: weights that sum to one, in stick order."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import BELOW_ONE, Array
from cormorant.measures.quadrature import REACH, WeightRule, unit_interval_rule
from cormorant.measures.weights import MOST_WEIGHTS, WeightProcess, Weights, too_many_weights


class StickProcess(WeightProcess):
    """Weights w_k = v_k prod_{j<k} (1 - v_j), v_k ~ Beta(1 - sigma, theta + k sigma).

    The mass left out after K sticks is prod_{k<=K} (1 - v_k), known exactly once they are drawn.
    """

    upper = 1.0

    @property
    def mean(self) -> float:
        """1: the sticks use up a stick of length one."""
        return 1.0

    @property
    @abstractmethod
    def _parameters(self) -> tuple[float, float]:
        """theta and sigma."""

    @property
    def index(self) -> float:
        """sigma."""
        return self._parameters[1]

    def stick_shapes(self, first: int, last: int) -> tuple[Array, Array]:
        """The two shapes of the Beta laws of v_first, ..., v_last."""
        theta, sigma = self._parameters
        k = np.arange(first, last + 1, dtype=np.float64)
        return np.full(k.shape, 1 - sigma), theta + k * sigma

    def expected_weights(self, number: int) -> Array:
        """E w_k for k = 1..number: E v_k prod_{j<k} E(1 - v_j)."""
        left, right = self.stick_shapes(1, _check.count("number", number))
        stick = left / (left + right)
        return stick * np.concatenate(([1.0], np.cumprod(1 - stick)[:-1]))

    def expected_remainder(self, number: int) -> float:
        """E prod_{k<=number} (1 - v_k), the mass that `number` sticks are expected to leave out."""
        left, right = self.stick_shapes(1, _check.count("number", number))
        return float(np.exp(np.sum(np.log(right) - np.log(left + right))))

    def quadrature(self, reach: float = REACH) -> WeightRule:
        """Trapezoid in logit w against E sum_k delta_{w_k}, from the size-biased first stick.

        E sum_k f(w_k) = E f(v_1) / v_1, so the mean intensity is w^(-1-sigma) (1-w)^(theta+sigma-1) / B,
        B = Beta(1 - sigma, theta + sigma).
        """
        theta, sigma = self._parameters
        rule = unit_interval_rule(index=sigma, power=theta + sigma, reach=reach)
        log_w, log_complement = special.log_expit(rule.positions), special.log_expit(-rule.positions)
        log_beta = special.betaln(1 - sigma, theta + sigma)
        return rule.against(np.exp(-sigma * log_w + (theta + sigma) * log_complement - log_beta))

    def _sample_number(self, rng: np.random.Generator, number: int) -> Weights:
        return _break(rng.beta(*self.stick_shapes(1, number)))

    def _sample_tail_mass(self, rng: np.random.Generator, tail_mass: float) -> Weights:
        """Break sticks until what remains is at most `tail_mass` (a stopping time, so the law is exact)."""
        sticks, remainder, block = np.empty(0), 1.0, 64
        while remainder > tail_mass:
            if len(sticks) >= MOST_WEIGHTS:
                raise too_many_weights(tail_mass)
            fresh = rng.beta(*self.stick_shapes(len(sticks) + 1, len(sticks) + block))
            sticks, block = np.concatenate((sticks, fresh)), 2 * block
            remainder = float(np.prod(1 - sticks))
        kept = int(np.argmax(np.cumprod(1 - sticks) <= tail_mass)) + 1 if len(sticks) else 0
        return _break(sticks[:kept])


def _break(sticks: Array) -> Weights:
    """w_k = v_k prod_{j<k} (1 - v_j), and the remainder; weights too small for a float64 are dropped."""
    sticks = np.minimum(sticks, BELOW_ONE)  # a stick within rounding of one does not use up the whole
    remaining = np.concatenate(([1.0], np.cumprod(1 - sticks)))
    values = sticks * remaining[:-1]
    return Weights(values[values > 0], float(remaining[-1]))


@dataclass(frozen=True)
class DirichletProcess(StickProcess):
    """Dirichlet process: v_k ~ Beta(1, theta), theta = `concentration`; a gamma process normalised."""

    concentration: float

    def __post_init__(self) -> None:
        _check.fields(self, concentration=_check.positive)

    @property
    def _parameters(self) -> tuple[float, float]:
        return self.concentration, 0.0


@dataclass(frozen=True)
class PitmanYorProcess(StickProcess):
    """Pitman-Yor process: v_k ~ Beta(1 - sigma, theta + k sigma), 0 <= sigma < 1, theta > -sigma."""

    concentration: float
    discount: float

    def __post_init__(self) -> None:
        _check.fields(self, concentration=_check.finite, discount=_check.fraction_or_zero)
        if self.concentration <= -self.discount:
            raise ValueError(
                f"concentration: expected more than -discount = {-self.discount}, got {self.concentration}"
            )

    @property
    def _parameters(self) -> tuple[float, float]:
        return self.concentration, self.discount
