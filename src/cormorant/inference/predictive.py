"""Posteriors of rows, and the paper's perplexity: the only place where either is computed.

Predictions are made from one set of globals, from those of several fits, or from samples.

Either gives, for a block of rows, pairs (q, atoms): q are a row's weights scaled so that the rates q @ atoms.T sum to
one, and the probability that a row's next count falls in a column is the mean of those rates over the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

import numpy as np

from cormorant.backends.sampling import ONE_BY_ONE
from cormorant.backends.select import Backend
from cormorant.data import Counts, split_entries
from cormorant.inference.batch import Batch
from cormorant.inference.gibbs import Gibbs
from cormorant.inference.moves import MetropolisField, RowDraws, Visit
from cormorant.inference.polya_gamma import PolyaGammaField
from cormorant.inference.prepared import Once, Prepared, prepare
from cormorant.inference.rows import LARGEST_BLOCK, SMALLEST_BLOCK, Rows
from cormorant.inference.samples import Sample
from cormorant.inference.scheme import RowSolver
from cormorant.inference.sharing import ScanCounts, ShareCounts
from cormorant.inference.state import Globals, RowPosterior
from cormorant.inference.structured import Structured

Pairs = Iterator[tuple[np.ndarray, np.ndarray]]


class Posterior(Protocol):
    """Globals, one or many."""

    @property
    def backend(self) -> Backend:
        """What does the work."""
        ...

    def on(self, backend: Backend) -> Self:
        """The same where another does the work, such as one with more threads."""
        ...

    def pairs(self, rows: Rows) -> Pairs:
        """The pairs (q, atoms) of these rows."""
        ...


def infer(solver: RowSolver, g: Globals, rows: Rows, want_variance: bool = False, view: Any = None) -> RowPosterior:
    """E x (and Var x) of every row with the globals held fixed; their ``view``, if it is at hand."""
    view = solver.view(g) if view is None else view
    mean = np.empty((rows.n_rows, g.n_components))
    variance = np.empty_like(mean) if want_variance else None

    def solve(index: np.ndarray) -> None:
        found = solver.posterior(view, rows.batch(index, solver.dtype), want_variance)
        mean[index] = found.mean
        if variance is not None:
            variance[index] = found.variance

    for _ in solver.backend.map(solve, np.array_split(np.arange(rows.n_rows), -(-rows.n_rows // SMALLEST_BLOCK))):
        pass
    return RowPosterior(mean, variance)


@dataclass(frozen=True)
class PointPosterior:
    """One set of globals: E x of each row; a row that shows nothing has its prior mean."""

    solver: RowSolver
    globals: Globals
    _view: Once = field(default_factory=Once, init=False, repr=False, compare=False)

    @property
    def backend(self) -> Backend:
        """What does the work."""
        return self.solver.backend

    def on(self, backend: Backend) -> Self:
        """The same where another does the work."""
        return _handed_on(self, replace(self, solver=self.solver.on(backend)), "_view")

    def moments(self, rows: Rows, want_variance: bool = False) -> RowPosterior:
        """E x (and Var x) of every row."""
        view = self._view(lambda: self.solver.view(self.globals))
        return infer(self.solver, self.globals, rows, want_variance, view)

    def pairs(self, rows: Rows) -> Pairs:
        """One pair."""
        x = self.moments(rows).mean
        empty = np.flatnonzero(np.diff(rows.counts.indptr) == 0)
        if len(empty):  # as much work as many rows
            x[empty] = self.solver.prior_mean(self.globals, rows.take(empty).covariates)
        atoms = self.globals.atom_mean
        yield x / (x @ atoms.sum(axis=0))[:, None], atoms


@dataclass(frozen=True)
class MeanPosterior:
    """Several fits, each with one set of globals, from starts of their own: the mean of what they predict."""

    fits: Sequence[PointPosterior]

    @property
    def backend(self) -> Backend:
        """What does the work."""
        return self.fits[0].backend

    def on(self, backend: Backend) -> Self:
        """The same where another does the work."""
        return replace(self, fits=[fit.on(backend) for fit in self.fits])

    def pairs(self, rows: Rows) -> Pairs:
        """A pair a fit."""
        for fit in self.fits:
            yield from fit.pairs(rows)


@dataclass(frozen=True)
class SampledPosterior:
    """Samples of several chains. Each row runs a short chain of its own through them, the atoms at their means.

    The draws depend on the row's counts and nothing else, so that the same row always gets the same answer. How far
    whole rows' levels are apart (sigma_m^2, where it was learned) does not hold a row to its level that may be shown in
    part: a tenth of a row would be taken for a whole one that avoids most of what it has.
    """

    gibbs: Gibbs
    chains: Sequence[Sequence[Sample]]
    burn_in: int = 12  # sweeps of a row before the first sample of a chain
    sweeps: int = 6  # sweeps at each sample; all but the first are averaged
    seed: int = 0
    _prepared: Once = field(default_factory=Once, init=False, repr=False, compare=False)

    @property
    def backend(self) -> Backend:
        """What does the work."""
        return self.gibbs.backend

    def on(self, backend: Backend) -> Self:
        """The same where another does the work."""
        return _handed_on(self, replace(self, gibbs=replace(self.gibbs, backend=backend)), "_prepared")

    def pairs(self, rows: Rows) -> Pairs:
        """A pair a sample, of the components that its chain has in use."""
        groups, empty = self._groups(rows)
        of_empty = rows.take(empty).covariates
        chains: list[list[Prepared]] = self._prepared(lambda: prepare(self.gibbs, self.chains))
        for chain in chains:
            dropped = self.burn_in
            for group in groups:
                group.forget()
            for sample in chain:
                atoms = sample.atoms
                q = np.empty((rows.n_rows, len(sample.scale)))
                if len(empty):
                    q[empty] = sample.prior_mean(self.gibbs.solver, of_empty)
                for group in groups:
                    q[group.rows] = self._sweep(group.visit(sample, atoms), group, dropped + 1)
                dropped = 0
                yield q / (q @ sample.scale)[:, None], atoms

    def _groups(self, rows: Rows) -> tuple[list[Group], np.ndarray]:
        """Rows whose counts are drawn one by one, rows with so many of a column that they are not, and empty rows."""
        entries = np.diff(rows.counts.indptr)
        largest = np.zeros(rows.n_rows)
        shows = np.flatnonzero(entries > 0)
        if len(shows):
            largest[shows] = np.maximum.reduceat(rows.counts.data, rows.counts.indptr[shows])
        parts = (self.gibbs.model, self.backend)
        groups = []
        for index, count in (
            (np.flatnonzero((entries > 0) & (largest <= ONE_BY_ONE)), ScanCounts(*parts, learns_a0=False)),
            (np.flatnonzero(largest > ONE_BY_ONE), ShareCounts(*parts, learns_a0=False)),
        ):
            if len(index):
                batch = rows.batch(index, self.gibbs.dtype)
                ids = self.backend.sampling.content_ids(batch.indptr, batch.indices, batch.whole_counts)
                groups.append(Group.of(index, batch, ids, count, np.random.default_rng(self.seed)))
        return groups, np.flatnonzero(entries == 0)

    def _sweep(self, view: Visit, group: Group, dropped: int) -> np.ndarray:
        """The sum of the rows' scaled weights over all sweeps but the first ``dropped``."""
        model, count, batch, total = self.gibbs.model, group.count, group.batch, view.scale
        move = (PolyaGammaField if model.link == "exp" else MetropolisField)(model, self.backend)
        draws = group.draws or RowDraws.fresh(batch.n_rows, view.design_of(batch))
        q = np.zeros((batch.n_rows, len(total)))
        for sweep in range(dropped + self.sweeps - 1):
            draws, _ = count.rows(view, batch, draws)
            if model.has_field:
                draws, _ = move.rows(view, batch, draws)
            if sweep >= dropped:
                x = count.mean_weights(view, batch, draws)
                q += x / (x @ total)[:, None]
        group.draws = draws
        return q


@dataclass
class Group:
    """New rows that are drawn alike, and where their chains are."""

    rows: np.ndarray
    batch: Batch  # whose columns are numbered among ``columns``
    columns: Any  # those that the rows show: most work on one row would be on the others
    ids: np.ndarray
    count: ShareCounts
    rng: np.random.Generator  # of its own: that there are other rows beside it changes nothing
    draws: RowDraws | None = None

    @classmethod
    def of(cls, rows: np.ndarray, batch: Batch, ids: np.ndarray, count: ShareCounts, rng: np.random.Generator) -> Group:
        """Rows at their start; where entries are missing, every column matters."""
        if batch.missing is not None:
            return cls(rows, batch, slice(None), ids, count, rng)
        columns, places = np.unique(batch.indices, return_inverse=True)
        batch = replace(batch, indices=places.astype(batch.indices.dtype), n_columns=len(columns))
        return cls(rows, batch, columns, ids, count, rng)

    def visit(self, sample: Prepared, atoms: np.ndarray) -> Visit:
        """What the rows need of a sample."""
        g, shown = sample.globals, atoms[self.columns]
        return Visit(g, self.count, sample.scale, sample.design, self.rng, shown, ids=self.ids, sums=False)

    def forget(self) -> None:
        """Begin afresh."""
        self.draws = None


def _handed_on(old: Any, new: Any, name: str) -> Any:
    """The new one, with what the old one has prepared."""
    object.__setattr__(new, name, getattr(old, name))
    return new


def log_likelihood(posterior: Posterior, observed: Rows, test: Counts) -> float:
    """Mean over the test counts of log p(column | observed part of its row)."""
    if test.nnz == 0:
        raise ValueError("there is nothing to predict: no row has a test entry; observe a smaller fraction.")
    return mean_log(entry_probabilities(posterior, observed, test), test)


def mean_log(probabilities: np.ndarray, test: Counts) -> float:
    """The mean over the counts of ``test``, given the probabilities of its entries.

    Not a product by BLAS, whose last digit depends on how many threads it has.
    """
    return float(np.sum(test.data * np.log(probabilities))) / test.total


def entry_probabilities(posterior: Posterior, rows: Rows, test: Counts) -> np.ndarray:
    """p(column | row) at the entries of ``test``, a block of rows at a time, which bounds the memory."""
    found = []
    for first in range(0, rows.n_rows, LARGEST_BLOCK):
        index = np.arange(first, min(first + LARGEST_BLOCK, rows.n_rows))
        part, total, n = test.rows(index), 0.0, 0
        for q, atoms in posterior.pairs(rows.take(index)):
            total = total + posterior.backend.entry_rates(part.indptr, part.indices, q, atoms)
            n += 1
        found.append(total / n)
    return np.concatenate(found)


def column_probabilities(posterior: Posterior, rows: Rows) -> np.ndarray:
    """p(column | row), rows x columns: for few rows at a time."""
    total, n = np.zeros((rows.n_rows, rows.counts.n_columns)), 0
    for q, atoms in posterior.pairs(rows):
        total += q @ atoms.T
        n += 1
    return total / n


@dataclass(frozen=True)
class Validation:
    """Rows kept aside from the fit, split at several observed fractions."""

    splits: tuple[tuple[Rows, Counts], ...]

    @classmethod
    def split(
        cls,
        rows: Rows,
        in_training: np.ndarray,
        rng: np.random.Generator,
        fractions: tuple[float, ...] = (0.1, 0.5),
    ) -> Validation | None:
        """Draw one split a fraction; None if no fraction leaves anything to predict.

        Only columns that the training rows show (a mask) are predicted: of the others every model knows the prior and
        nothing else, and on sparse data they would drown what tells the models apart.
        """
        splits = []
        for fraction in fractions:
            seen, test = split_entries(rows.counts, fraction, rng)
            test = test.entries(in_training[test.indices])
            if test.nnz:
                splits.append((replace(rows, counts=seen), test))
        return cls(tuple(splits)) if splits else None

    def perplexity(self, posterior: Posterior) -> float:
        """Geometric mean over the fractions."""
        return float(np.exp(-np.mean([log_likelihood(posterior, seen, test) for seen, test in self.splits])))


def with_best_rows(scheme: Structured, fits: Sequence[Globals], validation: Validation | None) -> Structured:
    """The scheme with the allocation by which the mean of these fits predicts the rows kept aside best.

    Atoms are found by the zero-order allocation, which predicts better everywhere we looked. Given them, digamma leaves
    a row fewer components, which is better where counts vary more than Poisson counts do (cells and their genes).
    """
    if validation is None or not scheme.zero_order:
        return scheme

    def perplexity(either: Structured) -> float:
        return validation.perplexity(MeanPosterior([PointPosterior(either.solver, g) for g in fits]))

    return min(scheme, replace(scheme, row_allocation="digamma"), key=perplexity)
