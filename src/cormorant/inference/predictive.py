"""Posteriors of rows, and the paper's perplexity: the only place where either is computed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cormorant.data import Counts, split_entries
from cormorant.inference.rows import Rows
from cormorant.inference.scheme import Scheme
from cormorant.inference.state import Globals, RowPosterior

BLOCK = 4096  # rows solved at a time: bounds the memory, changes nothing else


def infer(scheme: Scheme, g: Globals, rows: Rows, want_variance: bool = False) -> RowPosterior:
    """E x (and Var x) of every row with the globals held fixed."""
    view = scheme.view(g)
    mean = np.empty((rows.n_rows, g.n_components))
    variance = np.empty_like(mean) if want_variance else None
    for index, batch in rows.blocks(BLOCK, scheme.dtype):
        found = scheme.posterior(view, batch, want_variance)
        mean[index] = found.mean
        if variance is not None:
            variance[index] = found.variance
    return RowPosterior(mean, variance)


def predictive_weights(scheme: Scheme, g: Globals, observed: Rows) -> np.ndarray:
    """E x given what is observed of each row; a row that shows nothing has its prior mean."""
    mean = infer(scheme, g, observed).mean
    mean[np.diff(observed.counts.indptr) == 0] = scheme.prior_mean(g)
    return mean


def log_probabilities(scheme: Scheme, g: Globals, x: np.ndarray, test: Counts) -> np.ndarray:
    """log p of each entry's column: rate sum_k x_uk a_ki over the sum of the rates of all columns."""
    atoms = g.atom_mean
    rates = scheme.backend.entry_rates(test.indptr, test.indices, x, atoms)
    totals = x @ atoms.sum(axis=0)
    return np.log(rates) - np.repeat(np.log(totals), np.diff(test.indptr))


def log_likelihood(scheme: Scheme, g: Globals, observed: Rows, test: Counts) -> float:
    """Mean over the test counts of log p(column | observed part of its row)."""
    if test.nnz == 0:
        raise ValueError("there is nothing to predict: no row has a test entry; observe a smaller fraction.")
    log_p = log_probabilities(scheme, g, predictive_weights(scheme, g, observed), test)
    return float(test.data @ log_p / test.total)


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
                splits.append((Rows(seen, rows.exposure, rows.missing), test))
        return cls(tuple(splits)) if splits else None

    def perplexity(self, scheme: Scheme, g: Globals) -> float:
        """Geometric mean over the fractions."""
        return float(np.exp(-np.mean([log_likelihood(scheme, g, seen, test) for seen, test in self.splits])))
