"""The exact sampler of latent features: every draw is from a full conditional. One sweep is two passes over the rows:

    features    z_nk | the row's other features, y_n        then a and its scales, b_k, mass, concentration
    field       omega_nk ~ PG(1, b_k + F_nk), d_n ~ N        then l_k, sigma_l^2

The odds o_k = exp(b_k) are drawn through t_nk ~ Exp(1 + o_k exp(F_nk)), which leaves them gamma: given the t,

    gamma process    o_k ~ Gamma(g/T + m_k, c + sum_n t_nk exp(F_nk)),               m_k = sum_n z_nk
    beta process     o_k ~ Gamma(c g/T + m_k, t_0k + sum_n t_nk exp(F_nk)),          t_0k ~ Gamma(c g/T + c, 1 + o_k)

since o = w / (1 - w) has density o^(s - 1) (1 + o)^-(s + c). Without locations the second pass is left out.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cormorant.backends.features import draw_features
from cormorant.backends.packing import add_diagonal, pack_products
from cormorant.backends.select import Backend
from cormorant.inference.draws import draw_slice, inverse_gamma
from cormorant.inference.features.likelihoods import Likelihood
from cormorant.inference.features.state import FeatureGlobals, Table
from cormorant.inference.moves import fresh_seed
from cormorant.inference.rows import RowMemory, Rows
from cormorant.inference.state import Additive, State
from cormorant.measures.log_gamma import draw_log_gamma
from cormorant.models.features import LatentFeatures, process_shape

LEAST_LOG_ODDS = -700.0  # a feature that no row will ever show


@dataclass(frozen=True)
class FeatureDraws:
    """What is kept of a row between passes."""

    z: np.ndarray  # rows x T, ones and zeros
    d: np.ndarray  # rows x D


@dataclass(frozen=True)
class Chain:
    """What a chain carries beside the globals."""

    rng: np.random.Generator
    held: int = 0  # sweeps in which z stays where the start put it, so that the atoms can find their place


@dataclass(frozen=True)
class Visit:
    """What a pass needs of the state."""

    globals: FeatureGlobals
    rng: np.random.Generator
    is_field: bool
    holds_z: bool = False


@dataclass(frozen=True)
class FeatureStatistics(Additive):
    """Sums over rows of the first pass."""

    n_rows: float
    on: np.ndarray  # m_k
    exposure: np.ndarray  # sum_n t_nk exp(F_nk)
    atoms: Any  # what the likelihood needs


@dataclass(frozen=True)
class FieldStatistics(Additive):
    """Sums over rows of the second pass: a Gaussian's precision (packed) and linear term for each location."""

    n_rows: float
    precision: np.ndarray
    linear: np.ndarray


@dataclass(frozen=True)
class FeatureGibbs:
    """The scheme for one model and likelihood; ``learns`` names those of mass, concentration, sigma_l2 not given."""

    model: LatentFeatures
    likelihood: Likelihood
    backend: Backend
    learns: frozenset[str] = frozenset({"mass", "concentration", "sigma_l2"})
    has_field: bool = True

    @property
    def dtype(self) -> type:
        """Double precision."""
        return np.float64

    def memory(self, rows: Rows) -> RowMemory:
        """A chain goes on from where it was, however much memory that takes."""
        return RowMemory(rows.n_rows, None)

    def passes(self, state: State) -> int:
        """Visits to every row in a sweep."""
        return 2 if self.has_field else 1

    def visit(self, state: State) -> Visit:
        """What a pass needs of the state."""
        chain: Any = state.memory
        g: Any = state.globals
        passes = self.passes(state)
        is_field = state.n_steps % passes == 1
        return Visit(g, chain.rng, is_field, state.n_steps < chain.held * passes)

    def local_step(self, view: Visit, batch: Table, start: FeatureDraws | None, want_bound: bool = False):
        """Draw what belongs to the rows, and sum what the shared draw needs of them."""
        start = self.fresh(view.globals, batch.n_rows) if start is None else start
        return (self.field_pass if view.is_field else self.feature_pass)(view, batch, start)

    @staticmethod
    def fresh(g: FeatureGlobals, n_rows: int) -> FeatureDraws:
        """Rows that no sweep has visited: without features."""
        return FeatureDraws(np.zeros((n_rows, g.n_components)), np.zeros((n_rows, g.locations.shape[1])))

    def feature_pass(self, view: Visit, batch: Table, start: FeatureDraws):
        """z, and what the atoms and the odds need of it."""
        g, rng = view.globals, view.rng
        ended = start if view.holds_z else FeatureDraws(self.draw_z(g, batch, start, fresh_seed(rng))[0], start.d)
        one = np.ones((batch.n_rows, g.n_components))
        t = self.backend.sampling.gammas(one, fresh_seed(rng))
        # t exp(F) = e / (exp(-F) + o), with e ~ Exp(1).
        exposure = t * np.exp(-np.logaddexp(-(start.d @ g.locations.T), g.log_odds))
        atoms = self.likelihood.statistics(self.backend, g, batch, ended.z, rng)
        return ended, FeatureStatistics(batch.n_rows, ended.z.sum(axis=0), exposure.sum(axis=0), atoms)

    def draw_z(self, g: FeatureGlobals, batch: Table, start: FeatureDraws, seed: int, ids: np.ndarray | None = None):
        """z and the probabilities that it was drawn with."""
        return draw_features(
            self.backend.sampling.threads, self.likelihood.name, batch.values, batch.observed, g.atoms.T,
            g.log_odds_of(start.d), g.noise, start.z, seed, ids,
        )  # fmt: skip

    def draw_d(self, g: FeatureGlobals, start: FeatureDraws, seeds: tuple[int, int], ids: np.ndarray | None = None):
        """omega, the pull of every feature, and d_n ~ N with precision I + sum_k omega_nk l_k l_k^T."""
        sampling, design = self.backend.sampling, g.design
        none, one = np.zeros(start.z.shape), np.ones(g.n_components)
        omega = sampling.polya_gammas(none, one, g.log_odds_of(start.d), seeds[0], ids)
        pull = start.z - 0.5 - omega * g.log_odds
        precision = design.precision(omega, self.backend)
        return omega, pull, sampling.gaussians(precision, self.backend.product(pull, g.locations), seeds[1], ids)

    def field_pass(self, view: Visit, batch: Table, start: FeatureDraws):
        """d, and what the locations need of it."""
        g, rng = view.globals, view.rng
        omega, pull, d = self.draw_d(g, start, (fresh_seed(rng), fresh_seed(rng)))
        precision = self.backend.product(omega.T, pack_products(d))
        return FeatureDraws(start.z, d), FieldStatistics(batch.n_rows, precision, self.backend.product(pull.T, d))

    def global_step(self, state: State, new: Any, rho: float) -> State:
        """Draw what the rows share."""
        chain: Any = state.memory
        g: Any = state.globals
        g = self.shared(g, new, chain.rng)
        return replace(state, globals=g, n_steps=state.n_steps + 1)

    def shared(self, g: FeatureGlobals, total: FeatureStatistics | FieldStatistics, rng: np.random.Generator):
        """The globals given one pass's statistics."""
        if isinstance(total, FieldStatistics):
            return self.draw_locations(g, total, rng)
        g = self.likelihood.draw(self.backend, g, total.atoms, rng)
        g = self.draw_odds(replace(g, usage=total.on / total.n_rows), total, rng)
        return draw_process(self.model, g, self.learns, rng)

    def draw_locations(self, g: FeatureGlobals, total: FieldStatistics, rng: np.random.Generator) -> FeatureGlobals:
        """l_k ~ N with precision I / sigma_l^2 + sum_n omega_nk d_n d_n^T, and its variance."""
        precision = add_diagonal(np.array(total.precision), 1.0 / g.sigma_l2, g.locations.shape[1])
        l = self.backend.sampling.gaussians(precision, total.linear, fresh_seed(rng))  # noqa: E741
        learned = "sigma_l2" in self.learns
        variance = inverse_gamma(g.priors.sigma_l2, l.size, float((l**2).sum()), rng) if learned else g.sigma_l2
        return replace(g, locations=l, sigma_l2=variance)

    def draw_odds(self, g: FeatureGlobals, total: FeatureStatistics, rng: np.random.Generator) -> FeatureGlobals:
        """b_k: the logarithm of a gamma variable."""
        prior = process_shape(self.model, g.mass, g.concentration, g.n_components)
        rate = np.full(g.n_components, g.concentration)
        if self.model.process == "beta":
            rate = rng.gamma(prior + g.concentration, size=g.n_components) * np.exp(-np.logaddexp(0.0, g.log_odds))
        log_odds = draw_log_gamma(prior + total.on, rng) - np.log(rate + total.exposure)
        return replace(g, log_odds=np.maximum(log_odds, LEAST_LOG_ODDS))

    def bound(self, g: FeatureGlobals, statistics: object) -> float:
        """A sampler has no bound."""
        raise ValueError("a sampler has no bound to stop by.")


def draw_process(
    model: LatentFeatures, g: FeatureGlobals, learns: frozenset[str], rng: np.random.Generator
) -> FeatureGlobals:
    """The mass and the concentration given the weights: slices of their logarithms."""
    for name in ("mass", "concentration"):
        if name not in learns:
            continue
        shape, rate = getattr(g.priors, name)

        def log_density(at: float, name: str = name, shape: float = shape, rate: float = rate, g: Any = g) -> float:
            if abs(at) > 50.0:
                return -np.inf
            values = {"mass": g.mass, "concentration": g.concentration, name: math.exp(at)}
            return float(model.log_prior(g.log_odds, **values).sum()) + shape * at - rate * math.exp(at)

        g = replace(g, **{name: math.exp(draw_slice(log_density, math.log(getattr(g, name)), rng))})
    return g
