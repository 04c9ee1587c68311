"""Transformation distributions of latent features: correlated beta, Bernoulli with two links, thinning."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy import special
from scipy.interpolate import BSpline, make_interp_spline

from cormorant.measures._check import Array
from cormorant.measures.levy import LevyProcess
from cormorant.measures.transformation import FARTHEST_F, Deterministic, Growth, Transformation, point_mass
from cormorant.measures.weights import WeightProcess

GRID = 0.125  # a spline of degree 7 through points this far apart follows a sigmoid to twelve digits
SHORTEST_TABLE = 16.0


class OddsTransformation(Transformation):
    """x depends on (w, F) through the log odds eta = link(w) + F alone, and E[x | w, F] = sigmoid(eta)."""

    mean_growth = Growth.SATURATING
    sure_growth = Growth.SATURATING
    unit_weights = True

    def link(self, w: Array, logit: Array) -> Array:
        """logit w unless a subclass says otherwise; given apart from w, which loses its digits near one."""
        return logit

    @abstractmethod
    def complement_at(self, eta: Array, t: Array | float) -> Array:
        """E[1 - exp(-t x) | eta]."""

    def log_odds(self, w: Array, F: Array) -> Array:
        """eta = link(w) + F."""
        return self.link(w, special.logit(w)) + F

    def mean(self, w: Array, F: Array) -> Array:
        """sigmoid(eta)."""
        return special.expit(self.log_odds(w, F))

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """E[1 - exp(-t x) | eta]."""
        return self.complement_at(self.log_odds(w, F), t)

    def total_mean(self, process: WeightProcess, F: Array) -> Array:
        """int sigmoid(eta(w, F)) nu(dw), the expected number of features, from a table over F."""
        return _from_table(self, process, None, F)[..., 0]

    def laplace_exponent(self, process: LevyProcess, t: Array, F: Array) -> Array:
        """int E[1 - exp(-t x) | eta(w, F)] nu(dw), from a table over F with a column for each t."""
        levels, which = np.unique(t, return_inverse=True)
        shape = np.broadcast_shapes(t.shape, F.shape)
        columns = np.broadcast_to(_from_table(self, process, tuple(levels), F), (*shape, len(levels)))
        which = np.broadcast_to(which.reshape(t.shape), shape)
        return np.take_along_axis(columns, which[..., np.newaxis], axis=-1)[..., 0]


Levels = tuple[float, ...] | None


def _from_table(transform: OddsTransformation, process: WeightProcess, levels: Levels, F: Array) -> Array:
    """int f(link(w) + F) nu(dw) on a last axis for each t in `levels`, f(eta) = E[1 - exp(-t x) | eta].

    Without levels f(eta) = sigmoid(eta). Beyond F = 600 the integral goes on as a + b exp(sigma F), a + b F where
    the index sigma is zero, for there only weights count that are many like w^-sigma; below -600 as a power of exp(F).
    """
    farthest = np.abs(F).max(initial=SHORTEST_TABLE, where=np.isfinite(F))
    reach = min(SHORTEST_TABLE * 2.0 ** math.ceil(math.log2(farthest / SHORTEST_TABLE)), FARTHEST_F)
    table = _table(transform, process, levels, reach)
    first, second, before, last = table([-reach, 1 - reach, reach - 1, reach])
    below, beyond = np.minimum(F + reach, 0.0)[..., np.newaxis], np.maximum(F - reach, 0.0)[..., np.newaxis]
    value = np.exp(table(np.clip(F, -reach, reach)) + (second - first) * below)
    if beyond.any():
        with np.errstate(over="ignore"):
            growth = np.expm1(process.index * beyond) / -math.expm1(-process.index) if process.index > 0 else beyond
        value += (np.exp(last) - np.exp(before)) * growth
    return value


@lru_cache(maxsize=16)
def _table(transform: OddsTransformation, process: WeightProcess, levels: Levels, reach: float) -> BSpline:
    """The logarithm of that integral for F in [-reach, reach], a column for each level."""
    F = np.arange(-reach, reach + GRID / 2, GRID)[:, np.newaxis]
    t = np.array(0.0 if levels is None else levels)
    rule = process.quadrature(reach + math.log1p(min(t.max(initial=0.0), 1e300)))
    total = np.zeros(np.broadcast_shapes(F.shape, t.shape))
    for at, q in zip(transform.link(rule.weights, rule.positions), rule.coefficients, strict=True):
        total += q * (special.expit(at + F) if levels is None else transform.complement_at(at + F, t))
    return make_interp_spline(F[:, 0], np.log(np.maximum(total, np.finfo(float).tiny)), k=7)


@dataclass(frozen=True)
class CorrelatedBeta(OddsTransformation, Deterministic):
    """x = sigmoid(logit w + F): the correlated beta process."""

    def sample_log(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """log sigmoid(eta), where sigmoid(eta) itself may be too small for a float64."""
        return special.log_expit(self.log_odds(w, F))

    def complement_at(self, eta: Array, t: Array | float) -> Array:
        """1 - exp(-t sigmoid(eta))."""
        return -np.expm1(-t * special.expit(eta))


class BernoulliTransformation(OddsTransformation):
    """x ~ Bernoulli(sigmoid(eta))."""

    may_vanish = True

    def sample(self, w: Array, F: Array, rng: np.random.Generator) -> Array:
        """One with probability sigmoid(eta), else zero."""
        probability = self.mean(w, F)
        return (rng.random(np.shape(probability)) < probability).astype(np.float64)

    def variance(self, w: Array, F: Array) -> Array:
        """sigmoid(eta) sigmoid(-eta)."""
        eta = self.log_odds(w, F)
        return special.expit(eta) * special.expit(-eta)

    def log_density(self, x: Array, w: Array, F: Array) -> Array:
        """log sigmoid(eta) at x = 1, log sigmoid(-eta) at x = 0, -inf elsewhere."""
        eta = self.log_odds(w, F)
        inside = np.where(x == 0, special.log_expit(-eta), -np.inf)
        return np.where(x == 1, special.log_expit(eta), inside)

    def complement_at(self, eta: Array, t: Array | float) -> Array:
        """sigmoid(eta) (1 - exp(-t))."""
        return -special.expit(eta) * np.expm1(-t)

    def laplace_exponent(self, process: LevyProcess, t: Array, F: Array) -> Array:
        """(1 - exp(-t)) int sigmoid(eta(w, F)) nu(dw): one table for all t."""
        return -np.expm1(-t) * self.total_mean(process, F)


@dataclass(frozen=True)
class BernoulliLogit(BernoulliTransformation):
    """x ~ Bernoulli(sigmoid(logit w + F)): the correlated beta-Bernoulli process."""


@dataclass(frozen=True)
class BernoulliLog(BernoulliTransformation):
    """x ~ Bernoulli(w exp(F) / (1 + w exp(F))): the correlated gamma-Bernoulli process."""

    unit_weights = False

    def link(self, w: Array, logit: Array) -> Array:
        """log w."""
        return np.log(w)


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
        return np.where(x == 0, special.log_expit(-F), point_mass(x, w * np.ones_like(F)) + special.log_expit(F))

    def laplace_complement(self, t: Array, w: Array, F: Array) -> Array:
        """sigmoid(F) (1 - exp(-t w))."""
        return -special.expit(F) * np.expm1(-t * w)

    def laplace_exponent(self, process: LevyProcess, t: Array, F: Array) -> Array:
        """sigmoid(F) psi(t): exact."""
        return special.expit(F) * process.laplace_exponent(t)

    def total_mean(self, process: WeightProcess, F: Array) -> Array:
        """sigmoid(F) E sum_i w_i: exact."""
        return special.expit(F) * process.mean
