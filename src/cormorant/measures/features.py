"""Transformation distributions of latent features: correlated beta, Bernoulli with two links, thinning."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from cormorant.measures._check import Array
from cormorant.measures.levy import LevyProcess
from cormorant.measures.transforms import Growth, Transformation, point_mass


@dataclass(frozen=True)
class CorrelatedBeta(Transformation):
    """x = sigmoid(logit w + F): the correlated beta process."""

    mean_growth = Growth.SATURATING
    sure_growth = Growth.SATURATING
    unit_weights = True

    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """sigmoid(logit w + F)."""
        return self.mean(w, F)

    def mean(self, w: Array, F: Array) -> Array:
        """sigmoid(logit w + F)."""
        return special.expit(special.logit(w) + F)

    def variance(self, w: Array, F: Array) -> Array:
        """0."""
        return np.zeros(np.broadcast_shapes(np.shape(w), np.shape(F)))

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """0 at x = sigmoid(logit w + F), -inf elsewhere."""
        return point_mass(x, self.mean(w, F))

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """1 - exp(-t x)."""
        return -np.expm1(-t * self.mean(w, F))


class BernoulliTransformation(Transformation):
    """x ~ Bernoulli(sigmoid(eta(w, F)))."""

    mean_growth = Growth.SATURATING
    sure_growth = Growth.SATURATING
    may_vanish = True

    @abstractmethod
    def log_odds(self, w: Array, F: Array) -> Array:
        """eta(w, F)."""

    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """One with probability sigmoid(eta), else zero."""
        probability = self.mean(w, F)
        return (rng.random(np.shape(probability)) < probability).astype(np.float64)

    def mean(self, w: Array, F: Array) -> Array:
        """sigmoid(eta)."""
        return special.expit(self.log_odds(w, F))

    def variance(self, w: Array, F: Array) -> Array:
        """sigmoid(eta) sigmoid(-eta)."""
        eta = self.log_odds(w, F)
        return special.expit(eta) * special.expit(-eta)

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """log sigmoid(eta) at x = 1, log sigmoid(-eta) at x = 0, -inf elsewhere."""
        eta = self.log_odds(w, F)
        inside = np.where(x == 0, special.log_expit(-eta), -np.inf)
        return np.where(x == 1, special.log_expit(eta), inside)

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """sigmoid(eta) (1 - exp(-t))."""
        return -self.mean(w, F) * np.expm1(-t)

    def laplace_exponent(self, process: LevyProcess, t: ArrayLike, F: ArrayLike) -> Array:
        """(1 - exp(-t)) int sigmoid(eta(w, F)) nu(dw): one quadrature for all t."""
        expected = super().laplace_exponent(process, np.inf, F)
        return -np.expm1(-np.asarray(t, dtype=np.float64)) * expected


@dataclass(frozen=True)
class BernoulliLogit(BernoulliTransformation):
    """x ~ Bernoulli(sigmoid(logit w + F)): the correlated beta-Bernoulli process."""

    unit_weights = True

    def log_odds(self, w: Array, F: Array) -> Array:
        """logit w + F."""
        return special.logit(w) + F


@dataclass(frozen=True)
class BernoulliLog(BernoulliTransformation):
    """x ~ Bernoulli(w exp(F) / (1 + w exp(F))): the correlated gamma-Bernoulli process."""

    def log_odds(self, w: Array, F: Array) -> Array:
        """log w + F."""
        return np.log(w) + F


@dataclass(frozen=True)
class Thinning(Transformation):
    """x = w Bernoulli(sigmoid(F)): thinned dependent measures."""

    mean_growth = Growth.BOUNDED
    sure_growth = Growth.BOUNDED

    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """w with probability sigmoid(F), else zero."""
        keep = special.expit(F)
        return w * (rng.random(np.broadcast_shapes(np.shape(w), np.shape(keep))) < keep)

    def mean(self, w: Array, F: Array) -> Array:
        """w sigmoid(F)."""
        return w * special.expit(F)

    def variance(self, w: Array, F: Array) -> Array:
        """w^2 sigmoid(F) sigmoid(-F)."""
        return w**2 * special.expit(F) * special.expit(-F)

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """log sigmoid(F) at x = w, log sigmoid(-F) at x = 0, -inf elsewhere."""
        dropped = np.where(x == 0, special.log_expit(-F), -np.inf)
        return np.where(x == 0, dropped, point_mass(x, w * np.ones_like(F)) + special.log_expit(F))

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """sigmoid(F) (1 - exp(-t w))."""
        return -special.expit(F) * np.expm1(-t * w)

    def laplace_exponent(self, process: LevyProcess, t: ArrayLike, F: ArrayLike) -> Array:
        """sigmoid(F) psi(t): exact."""
        return special.expit(np.asarray(F, dtype=np.float64)) * process.laplace_exponent(t)
