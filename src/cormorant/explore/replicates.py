"""Data like those seen: counts drawn from the fitted model, given the posterior of each row.

    a_ki ~ q(a_ki)                              once a replicate
    x_uk ~ Gamma with the mean and variance of q(x_uk)
    y_ui ~ Poisson(e_u sum_k x_uk a_ki)         of a normalised model: y_u ~ Multinomial(N_u, sum_k pi_uk a_k)

Poisson counts of a sum are the sum of the components' own: n_uk ~ Poisson(e_u x_uk A_k) counts, which fall in columns
with probabilities a_ki / A_k. Drawn this way a replicate costs as much as it has counts, not rows x columns.

Of a thinned model a replicate is drawn given one of its samples: z_uk ~ q(z_uk), x_uk = w_k z_uk.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cormorant.data import Counts
from cormorant.explore.fitted import is_normalised, is_thinned
from cormorant.explore.given_rows import GivenRows

BLOCK = 4096  # rows drawn at a time
HELD = 1 << 22  # most draws held at a time


@dataclass(frozen=True, eq=False)
class Replicator:
    """The posteriors that replicates are drawn from."""

    mean: np.ndarray  # E x, rows x components
    variance: np.ndarray  # Var x
    atom_shape: np.ndarray  # of q(a), components x columns
    atom_scale: np.ndarray  # one over its rate; components x 1, or components x columns
    exposure: np.ndarray  # e_u
    totals: np.ndarray | None = None  # N_u, which a normalised model takes as given

    @classmethod
    def of(cls, model: Any, counts: Counts, exposure: Any = None, covariates: Any = None) -> Replicator:
        """The posteriors of these rows and of the atoms."""
        mean, std = GivenRows.of(model, counts, covariates).moments(exposure=exposure)
        rate = np.asarray(model.components_rate_)
        known = np.ones(counts.n_rows) if exposure is None else np.asarray(exposure, dtype=np.float64)
        scale = 1.0 / (rate[:, np.newaxis] if rate.ndim == 1 else rate)
        totals = counts.row_totals().astype(np.int64) if is_normalised(model) else None
        return cls(mean, std**2, model.components_shape_, scale, known, totals)

    def blocks(self, rng: np.random.Generator) -> Iterator[sparse.csr_matrix]:
        """One replicate, some rows at a time."""
        atoms = rng.gamma(self.atom_shape, self.atom_scale)
        for first in range(0, len(self.mean), BLOCK):
            chosen = slice(first, first + BLOCK)
            x = gamma_draws(self.mean[chosen], self.variance[chosen], rng)
            if self.totals is not None:
                yield multinomial_counts(x, atoms, self.totals[chosen], rng)
                continue
            yield poisson_counts(x * self.exposure[chosen, np.newaxis], atoms, rng)


@dataclass(frozen=True, eq=False)
class ThinnedReplicator:
    """Samples of a thinned model, and who has what in each."""

    samples: list[tuple[np.ndarray, Any]]  # P(z = 1), rows x components, and the globals
    exposure: np.ndarray  # e_u

    @classmethod
    def of(cls, model: Any, counts: Counts, exposure: Any = None, covariates: Any = None) -> ThinnedReplicator:
        """The posterior of these rows at every sample."""
        rows = model._rows(counts, exposure, None, covariates)
        known = np.ones(rows.n_rows) if rows.exposure is None else rows.exposure
        found = [((x / g.weights).astype(np.float32), g) for x, g in model._posterior.weights(rows)]
        return cls(found, known)

    def blocks(self, rng: np.random.Generator) -> Iterator[sparse.csr_matrix]:
        """One replicate, of a sample drawn at random, some rows at a time."""
        probability, g = self.samples[rng.integers(len(self.samples))]
        for first in range(0, len(probability), BLOCK):
            chosen = slice(first, first + BLOCK)
            z = rng.random(probability[chosen].shape) < probability[chosen]
            yield poisson_counts(z * g.weights * self.exposure[chosen, np.newaxis], g.atoms.T, rng)


def replicator(model: Any, counts: Counts, exposure: Any = None, covariates: Any = None) -> Any:
    """Draws replicates of these rows (`blocks`)."""
    kind = ThinnedReplicator if is_thinned(model) else Replicator
    return kind.of(model, counts, exposure, covariates)


def poisson_counts(x: np.ndarray, atoms: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    """y_ui ~ Poisson(sum_k x_uk a_ki), by the shorter way: as many draws as counts, or as entries."""
    expected = float((x @ atoms.sum(axis=1)).sum())
    draw = _by_count if expected <= min(HELD, len(x) * atoms.shape[1]) else _by_entry
    return draw(x, atoms, rng)


def _by_count(x: np.ndarray, atoms: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    """n_uk ~ Poisson(x_uk A_k), each of these counts placed on its own."""
    return _placed(rng.poisson(x * atoms.sum(axis=1)), atoms, rng)


def multinomial_counts(
    x: np.ndarray, atoms: np.ndarray, totals: np.ndarray, rng: np.random.Generator
) -> sparse.csr_matrix:
    """y_u ~ Multinomial(N_u, sum_k pi_uk a_k): proportions pi and atoms a, each scaled to sum to one."""
    n = rng.multinomial(totals, x / x.sum(axis=1, keepdims=True))
    return _placed(n, atoms, rng)


def _placed(n: np.ndarray, atoms: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    """Counts n_uk of components, each in a column of its own choice: i with probability a_ki / A_k."""
    row, column = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
    for k in np.flatnonzero(n.any(axis=0)):
        reached = np.cumsum(atoms[k])
        row.append(np.repeat(np.arange(len(n)), n[:, k]))
        column.append(np.searchsorted(reached, rng.random(len(row[-1])) * reached[-1], side="right"))
    at = np.concatenate(row), np.concatenate(column)
    # Building the matrix adds up the counts that fall in the same place.
    return sparse.csr_matrix((np.ones(len(at[0]), np.int64), at), shape=(len(n), atoms.shape[1]))


def _by_entry(x: np.ndarray, atoms: np.ndarray, rng: np.random.Generator) -> sparse.csr_matrix:
    """Every entry on its own, a few rows at a time."""
    size = max(1, HELD // atoms.shape[1])
    parts = [sparse.csr_matrix(rng.poisson(x[first : first + size] @ atoms)) for first in range(0, len(x), size)]
    return sparse.csr_matrix(sparse.vstack(parts))


def gamma_draws(mean: np.ndarray, variance: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Gamma draws with these means and variances."""
    spread = np.maximum(variance, 1e-12 * mean**2)
    return rng.standard_gamma(mean**2 / spread) * (spread / mean)
