"""Transformation distributions T(x | w, F): the identity and the gammas; those of latent features are in `features`."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np
from scipy import special

from cormorant.measures import _check
from cormorant.measures._check import Array
from cormorant.measures.levy import LevyProcess
from cormorant.measures.log_gamma import draw_log_gamma
from cormorant.measures.transformation import Deterministic, Growth, Transformation, point_mass
from cormorant.measures.weights import WeightProcess


@dataclass(frozen=True)
class Identity(Deterministic):
    """x = w: completely random measures as a special case."""

    mean_growth = Growth.BOUNDED
    sure_growth = Growth.BOUNDED
    reads_function = False

    def mean(self, w: Array, F: Array) -> Array:
        """w."""
        return w * np.ones_like(F)

    def laplace_exponent(self, process: LevyProcess, t: Array, F: Array) -> Array:
        """psi(t), that of the weights: exact."""
        return process.laplace_exponent(t) * np.ones_like(F)

    def total_mean(self, process: WeightProcess, F: Array) -> Array:
        """E sum_i w_i: exact."""
        return process.mean * np.ones_like(F)


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
        """Gamma(b w, 1 / theta); infinite where x exceeds what a float64 holds."""
        with np.errstate(over="ignore"):
            return np.exp(self.sample_log(w, F, rng))

    def sample_log(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """log x = log g + log theta, g ~ Gamma(b w, 1)."""
        shape = np.broadcast_to(self.multiplier * w, np.broadcast_shapes(w.shape, F.shape))
        return draw_log_gamma(shape, rng) + self.log_scale(F)

    def mean(self, w: Array, F: Array) -> Array:
        """b w theta."""
        return self.multiplier * w * np.exp(self.log_scale(F))

    def variance(self, w: Array, F: Array) -> Array:
        """b w theta^2."""
        return self.multiplier * w * np.exp(2 * self.log_scale(F))

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """-s log theta + (s - 1) log x - x / theta - log Gamma(s), with s = b w; F = -inf puts x at zero surely."""
        shape, log_scale = self.multiplier * w, self.log_scale(F)
        with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
            log_x = np.log(np.maximum(x, 0.0))
            value = -shape * log_scale + special.xlogy(shape - 1, np.maximum(x, 0.0)) - np.exp(log_x - log_scale)
        value = np.where((x >= 0) & (x < np.inf), value - special.gammaln(shape), -np.inf)
        return np.where(np.isinf(log_scale), point_mass(x, np.where(log_scale > 0, np.inf, 0.0)), value)

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """1 - (1 + t theta)^(-b w)."""
        return -np.expm1(-self.multiplier * w * self._log_one_plus(t, F))

    def laplace_exponent(self, process: LevyProcess, t: Array, F: Array) -> Array:
        """psi(b log(1 + t theta)), with psi that of the weights: exact."""
        return process.laplace_exponent(self.multiplier * self._log_one_plus(t, F))

    def total_mean(self, process: WeightProcess, F: Array) -> Array:
        """b theta E sum_i w_i: exact."""
        return self.multiplier * process.mean * np.exp(self.log_scale(F))

    def _log_one_plus(self, t: Array, F: Array) -> Array:
        """log(1 + t theta(F)), without overflow, and zero at t = 0 whatever F is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(t == 0, 0.0, np.logaddexp(0, np.log(t) + self.log_scale(F)))


@dataclass(frozen=True)
class GammaExp(GammaTransformation):
    """x ~ Gamma(w, exp(-F)): correlated nonparametric Poisson factorisation."""

    mean_growth = Growth.EXPONENTIAL
    exponential_link = True

    def log_scale(self, F: Array) -> Array:
        """F."""
        return F


@dataclass(frozen=True)
class DilnGamma(GammaExp):
    """x ~ Gamma(beta w, exp(-F)), normalised: the discrete infinite logistic normal."""

    beta: float = 1.0

    def __post_init__(self) -> None:
        _check.fields(self, beta=_check.positive)

    @property
    def multiplier(self) -> float:
        """beta."""
        return self.beta


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
        _check.fields(self, scale=_check.positive)

    def log_scale(self, F: Array) -> Array:
        """log scale."""
        return np.full(np.shape(F), np.log(self.scale))
