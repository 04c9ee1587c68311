"""What a fit says of rows: which features they show, and what their missing entries would be."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np
from scipy.special import expit

from cormorant.backends.packing import unpack
from cormorant.inference.features.gibbs import FeatureGibbs
from cormorant.inference.features.state import BLOCK, FeatureGlobals, Table, extended
from cormorant.inference.features.structured import FeatureStructured, View
from cormorant.inference.moves import fresh_seed
from cormorant.models.features import log_density, signal_mean


@dataclass(frozen=True)
class RowPrediction:
    """Rows x features and rows x columns."""

    probability: np.ndarray  # P(z = 1)
    mean: np.ndarray  # E y of every entry, observed or not
    log_density: np.ndarray | None  # log p(y) at the values that were asked about


class FeaturePosterior(Protocol):
    """Globals, one or many."""

    def describe(self, table: Table, at: np.ndarray | None = None) -> RowPrediction:
        """Predict a block of rows from their observed entries, and score the values ``at``."""
        ...

    def draws(self, table: Table, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, FeatureGlobals]]:
        """n joint draws of the rows' z and of the globals, given the rows' observed entries."""
        ...


def predict(posterior: FeaturePosterior, table: Table, at: np.ndarray | None = None) -> RowPrediction:
    """Predict all rows, a block at a time."""
    parts = []
    for first in range(0, table.n_rows, BLOCK):
        index = np.arange(first, min(first + BLOCK, table.n_rows))
        parts.append(posterior.describe(table.take(index), None if at is None else at[index]))
    densities = None if at is None else np.concatenate([p.log_density for p in parts if p.log_density is not None])
    return RowPrediction(
        np.concatenate([p.probability for p in parts]), np.concatenate([p.mean for p in parts]), densities
    )


def content_ids(table: Table) -> np.ndarray:
    """Ids that a row has wherever it stands, so that what is drawn for it does not depend on its neighbours."""
    values = table.values + 0.0  # one zero
    rows = (a.tobytes() + b.tobytes() for a, b in zip(values, table.observed, strict=True))
    digests = b"".join(hashlib.blake2b(row, digest_size=8).digest() for row in rows)
    return np.frombuffer(digests, dtype=np.uint64).copy()


@dataclass(frozen=True)
class SampledFeatures:
    """Samples of several chains; each row runs a short chain of its own through them.

    Densities and means average over all chains, P(z = 1) over the first: labels differ between chains.
    """

    gibbs: FeatureGibbs
    chains: Sequence[Sequence[FeatureGlobals]]
    burn_in: int = 20  # sweeps of a row before the first sample of a chain
    sweeps: int = 10  # sweeps at each sample; all are averaged
    seed: int = 0

    def describe(self, table: Table, at: np.ndarray | None = None) -> RowPrediction:
        """Average over the draws."""
        ids, rng, name = content_ids(table), np.random.default_rng(self.seed), self.gibbs.likelihood.name
        probability = np.zeros((table.n_rows, self.chains[0][0].n_components))
        mean, n = np.zeros(table.values.shape), 0
        density = None if at is None else np.full(table.values.shape, -np.inf)
        for number, chain in enumerate(self.chains):
            rows, dropped = self.gibbs.fresh(chain[0], table.n_rows), self.burn_in
            for g in chain:
                for sweep in range(dropped + self.sweeps):
                    rows, p = self._sweep(g, table, rows, rng, ids)
                    if sweep < dropped:
                        continue
                    signal = extended(rows.z) @ g.atoms.T
                    mean += signal_mean(name, signal)
                    n += 1
                    probability += p if number == 0 else 0.0
                    if density is not None and at is not None:
                        density = np.logaddexp(density, log_density(name, at, signal, g.noise))
                dropped = 0
        density = None if density is None else density - np.log(n)
        return RowPrediction(probability / (len(self.chains[0]) * self.sweeps), mean / n, density)

    def draws(self, table: Table, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, FeatureGlobals]]:
        """Draws that are spread evenly over the samples of all chains, some sweeps of the rows apart."""
        ids = np.arange(table.n_rows, dtype=np.uint64)  # rows of the same content are drawn apart
        n_samples = sum(map(len, self.chains))
        wanted = iter(np.diff(np.arange(n_samples + 1) * n // n_samples))
        for chain in self.chains:
            rows, dropped = self.gibbs.fresh(chain[0], table.n_rows), self.burn_in
            for g in chain:
                for _ in range(next(wanted)):
                    for _ in range(dropped + self.sweeps):
                        rows, _ = self._sweep(g, table, rows, rng, ids)
                    dropped = 0
                    yield rows.z, g

    def _sweep(self, g: FeatureGlobals, table: Table, rows, rng: np.random.Generator, ids: np.ndarray):
        gibbs = self.gibbs
        z, p = gibbs.draw_z(g, table, rows, fresh_seed(rng), ids)
        d = rows.d
        if gibbs.has_field:
            d = gibbs.draw_d(g, type(rows)(z, d), (fresh_seed(rng), fresh_seed(rng)), ids)[2]
        return type(rows)(z, d), p


@dataclass(frozen=True)
class SolvedFeatures:
    """One set of globals: each row is solved as structured inference solves it."""

    scheme: FeatureStructured
    globals: FeatureGlobals
    steps: int = 30

    def describe(self, table: Table, at: np.ndarray | None = None) -> RowPrediction:
        """q(z), and s taken as Gaussian with its mean and variance under q."""
        view, q = View(self.globals), None
        for _ in range(self.steps):
            q = self.scheme.solve_rows(view, table, q)
        assert q is not None  # steps is at least one
        mean, second = self.scheme.signal(view, q.rho)
        variance = second - mean**2
        if self.scheme.likelihood == "gaussian":
            density = None if at is None else log_density("gaussian", at, mean, self.globals.noise + variance)
            return RowPrediction(q.rho, mean, density)
        # The average of a sigmoid over a Gaussian, by MacKay's approximation.
        logit = mean / np.sqrt(1.0 + np.pi / 8.0 * variance)
        return RowPrediction(q.rho, expit(logit), None if at is None else log_density("bernoulli", at, logit, 1.0))

    def draws(self, table: Table, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, FeatureGlobals]]:
        """Independent draws from q(z) and q(a); what has a point keeps it."""
        probability = predict(self, table).probability
        for _ in range(n):
            yield (rng.random(probability.shape) < probability).astype(np.float64), self.with_drawn_atoms(rng)

    def with_drawn_atoms(self, rng: np.random.Generator) -> FeatureGlobals:
        """a_i ~ N(mu_i, V_i); columns may share one V."""
        g = self.globals
        if g.covariance is None:
            return g
        factor = np.linalg.cholesky(unpack(g.covariance, g.n_components + 1))
        drawn = factor @ rng.standard_normal((*g.atoms.shape, 1))
        return replace(g, atoms=g.atoms + drawn[..., 0])
