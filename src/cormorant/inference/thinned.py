"""The exact sampler of thinned measures (`models.thinned`). One pass over the rows, then what they share:

    rows      z_uk given the others, the counts by component summed out;  n_u. ~ Multinomial(y, w_k z_uk a_ki);
              omega_uk ~ PolyaGamma(1, F_uk)
    shared    a0, a_k ~ Dirichlet(a0 + counts);  w_k ~ Gamma(alpha / T + n_k, c + sum_u e_u z_uk);  c;
              (l_k, b_k) ~ N with precision Lambda_0 + sum_u omega_uk theta_u theta_u^T

Given the counts by component z_uk = 1 wherever n_uk > 0, and a row would hardly ever let go of a component that shares
columns with another; so they are summed out. A new row draws z through the samples, as a short chain of its own.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.special import expit

from cormorant.backends.packing import add_diagonal, pack_products
from cormorant.backends.select import Backend
from cormorant.inference import dirichlet
from cormorant.inference.batch import Batch
from cormorant.inference.moves import TINY, fresh_seed, top_one
from cormorant.inference.rows import LARGEST_BLOCK, RowMemory, Rows
from cormorant.inference.samples import Collector, effective_components
from cormorant.inference.state import Additive, State
from cormorant.models.thinned import Thinning

SHARE = 1e-12  # of a component's rate that is left of the others' where rounding leaves nothing


@dataclass(frozen=True)
class ThinnedGlobals:
    """The tuples (a_k, w_k, (l_k, b_k)), as drawn."""

    atoms: np.ndarray  # columns x components; each sums to one
    weights: np.ndarray
    coefficients: np.ndarray  # components x (covariates + 1): l_k, and b_k last
    held_counts: np.ndarray  # n_k, given which they were drawn
    c: float
    hyper: Thinning

    @property
    def n_components(self) -> int:
        """The truncation T."""
        return len(self.weights)

    @property
    def locations(self) -> np.ndarray:
        """l, components x covariates."""
        return self.coefficients[:, :-1]

    def field(self, theta: np.ndarray) -> np.ndarray:
        """F_uk = theta_u . l_k + b_k, rows x components."""
        return theta @ self.coefficients.T

    def reorder(self, order: np.ndarray) -> ThinnedGlobals:
        """The same with the components in another order."""
        return replace(
            self,
            atoms=np.ascontiguousarray(self.atoms[:, order]),
            weights=self.weights[order],
            coefficients=self.coefficients[order],
            held_counts=self.held_counts[order],
        )


class ThinnedCollector(Collector):
    """Of a chain the globals are kept as they are."""

    burn_in_part = 2

    def summaries(self, g: ThinnedGlobals) -> dict[str, float]:
        """Numbers that do not depend on how components are labelled."""
        return {
            "total": float(g.weights.sum()),
            "c": g.c,
            "a0": g.hyper.a0,
            "effective_components": effective_components(g.held_counts),
            "location_variance": float((g.locations**2).sum(axis=1).mean()),
        }

    def sample(self, g: ThinnedGlobals) -> ThinnedGlobals:
        """What is kept."""
        return g


def _theta(rows: Rows | Batch) -> np.ndarray:
    """The covariates of rows, a column of ones last."""
    assert rows.covariates is not None  # rows of a thinned model have them
    return rows.covariates


def _sizes(batch: Batch) -> np.ndarray:
    """e_u, as a column."""
    return np.ones((batch.n_rows, 1)) if batch.exposure is None else batch.exposure[:, None]


@dataclass(frozen=True)
class ThinnedDraws:
    """What is kept of a row between sweeps."""

    z: np.ndarray  # rows x components


@dataclass(frozen=True)
class ThinnedStatistics(Additive):
    """Sums over rows."""

    n_rows: float
    counts: np.ndarray  # columns x components
    exposure: np.ndarray  # sum_u e_u z_uk
    precision: np.ndarray  # sum_u omega_uk theta_u theta_u^T, packed
    linear: np.ndarray  # sum_u (z_uk - 1/2) theta_u


@dataclass(frozen=True)
class Visit:
    """What a pass needs of the state."""

    globals: ThinnedGlobals
    rng: np.random.Generator


@dataclass(frozen=True)
class ThinnedGibbs:
    """The scheme."""

    backend: Backend
    learns_a0: bool = True
    dtype = np.float64

    def passes(self, state: State) -> int:
        """A sweep visits its rows once."""
        return 1

    def memory(self, rows: Rows) -> RowMemory:
        """A chain goes on from where it was, however much memory that takes."""
        return RowMemory(rows.n_rows, None)

    def visit(self, state: State) -> Visit:
        """The globals, and the chain's generator."""
        g: Any = state.globals
        rng: Any = state.memory
        return Visit(g, rng)

    def local_step(
        self, view: Visit, batch: Batch, start: ThinnedDraws | None, want_bound: bool = False
    ) -> tuple[ThinnedDraws, ThinnedStatistics]:
        """Counts by component, z and omega; rows that no sweep has visited begin with every component."""
        g, rng, theta = view.globals, view.rng, _theta(batch)
        z = np.ones((batch.n_rows, g.n_components)) if start is None else start.z
        z, _ = self.draw_z(g, batch, z, fresh_seed(rng))
        sampling, none, one = self.backend.sampling, np.zeros(z.shape), np.ones(g.n_components)
        _, counts = sampling.counts(
            batch.indptr, batch.indices, batch.whole_counts, top_one(np.maximum(z * g.weights, TINY)),
            top_one(g.atoms), fresh_seed(rng), None, True,
        )  # fmt: skip
        assert counts is not None  # they were asked for
        omega = sampling.polya_gammas(none, one, g.field(theta), fresh_seed(rng))
        statistics = ThinnedStatistics(
            batch.n_rows,
            counts,
            (_sizes(batch) * z).sum(axis=0),
            self.backend.product(omega.T, pack_products(theta)),
            self.backend.product((z - 0.5).T, theta),
        )
        return ThinnedDraws(z), statistics

    def draw_z(
        self, g: ThinnedGlobals, batch: Batch, z: np.ndarray, seed: int, ids: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """z, one component after the other, and the probabilities that they were drawn with. With R the other rate,

        logit P(z_uk = 1 | rest) = F_uk - e_u w_k + sum_i y_ui log(1 + w_k a_ki / R_ui).
        """
        z, probability = z.copy(), np.empty(z.shape)
        owner = np.repeat(np.arange(batch.n_rows), np.diff(batch.indptr))
        rate = self.backend.entry_rates(batch.indptr, batch.indices, z * g.weights, g.atoms)
        odds = g.field(_theta(batch)) - _sizes(batch) * g.weights
        # A logistic variable, the log of a ratio of exponential ones, is below the log odds with probability P.
        pair = np.maximum(self.backend.sampling.gammas(np.ones((len(z), 2 * g.n_components)), seed, ids), TINY)
        noise = np.log(pair[:, : g.n_components]) - np.log(pair[:, g.n_components :])
        for k in range(g.n_components):
            own = g.weights[k] * g.atoms[batch.indices, k]
            others = np.maximum(rate - z[owner, k] * own, SHARE * own)
            gain = np.bincount(owner, batch.counts * np.log1p(own / others), minlength=len(z))
            probability[:, k] = expit(odds[:, k] + gain)
            z[:, k] = noise[:, k] < odds[:, k] + gain
            rate = others + z[owner, k] * own
        return z, probability

    def global_step(self, state: State, new: ThinnedStatistics, rho: float) -> State:
        """Draw what the rows share."""
        g: Any = state.globals
        rng: Any = state.memory
        return replace(state, globals=self.shared(g, new, rng), n_steps=state.n_steps + 1)

    def shared(self, g: ThinnedGlobals, total: ThinnedStatistics, rng: np.random.Generator) -> ThinnedGlobals:
        """a0, atoms, weights, c and coefficients, each given the rest."""
        h, held, sampling = g.hyper, total.counts.sum(axis=0), self.backend.sampling
        if self.learns_a0:
            each = np.full(g.n_components, h.a0)
            tables = sampling.tables(total.counts.astype(np.int64), each, fresh_seed(rng)).sum()
            h = replace(h, a0=dirichlet.draw_a0(tables, held, len(g.atoms), h.a0, rng))
        gammas = np.maximum(sampling.gammas(h.a0 + total.counts, fresh_seed(rng)), TINY)
        weights = rng.gamma(h.alpha / g.n_components + held) / (g.c + total.exposure)
        size = g.coefficients.shape[1]
        precision = add_diagonal(np.array(total.precision), 1.0 / h.prior_variances(size - 1), size)
        return ThinnedGlobals(
            atoms=np.maximum(gammas / gammas.sum(axis=0), TINY),
            weights=np.maximum(weights, TINY),
            coefficients=sampling.gaussians(precision, total.linear, fresh_seed(rng)),
            held_counts=held,
            c=float(rng.gamma(h.a_c + h.alpha) / (h.b_c + weights.sum())),
            hyper=h,
        )

    def bound(self, g: ThinnedGlobals, statistics: object) -> float:
        """A sampler has no bound."""
        raise ValueError("a sampler has no bound to stop by.")


@dataclass(frozen=True)
class ThinnedPosterior:
    """Samples, through which every row runs a short chain of its own; the draws depend on nothing but its counts."""

    gibbs: ThinnedGibbs
    chains: Sequence[Sequence[ThinnedGlobals]]
    burn_in: int = 10  # sweeps of a row before the first sample of a chain
    sweeps: int = 5  # sweeps at each sample
    seed: int = 0

    @property
    def backend(self) -> Backend:
        """What does the work."""
        return self.gibbs.backend

    def weights(self, rows: Rows) -> Iterator[tuple[np.ndarray, ThinnedGlobals]]:
        """E x of the rows, averaged over the sweeps at each sample."""
        batch, rng = rows.batch(rows.all, np.float64), np.random.default_rng(self.seed)
        ids = self.backend.sampling.content_ids(batch.indptr, batch.indices, batch.whole_counts)
        for chain in self.chains:
            z, dropped = np.ones((rows.n_rows, chain[0].n_components)), self.burn_in
            for g in chain:
                total = np.zeros(z.shape)
                for sweep in range(dropped + self.sweeps):
                    z, probability = self.gibbs.draw_z(g, batch, z, fresh_seed(rng), ids)
                    total += probability * (sweep >= dropped)
                dropped = 0
                yield total / self.sweeps * g.weights, g

    def moments(self, rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        """E x and Var x of each row over the samples, rows x components; given a sample x_uk is w_k or zero."""
        mean = np.zeros((rows.n_rows, self.chains[0][0].n_components))
        square = np.zeros_like(mean)
        n_samples = sum(map(len, self.chains))

        def look(index: np.ndarray) -> None:
            for x, g in self.weights(rows.take(index)):
                mean[index] += x / n_samples
                square[index] += x * g.weights / n_samples

        for _ in self.backend.map(look, np.array_split(rows.all, -(-rows.n_rows // LARGEST_BLOCK))):
            pass
        return mean, np.maximum(square - mean**2, 0.0)

    def pairs(self, rows: Any) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Shares of the components, and atoms, as `predictive` wants them; a row that shows nothing has its prior mean.

        That it showed nothing is not taken for an answer here: nobody may have looked.
        """
        empty = np.flatnonzero(np.diff(rows.counts.indptr) == 0)
        for x, g in self.weights(rows):
            x[empty] = g.weights * expit(g.field(_theta(rows)[empty]))
            yield x / np.maximum(x.sum(axis=1, keepdims=True), TINY), g.atoms
