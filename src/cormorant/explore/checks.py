"""Posterior predictive checks: does the fitted model make data like those it was fitted to?

Replicates of the rows are drawn given their posterior (`explore.replicates`), and what is observed is compared with
what is replicated. The tail probability of a statistic T is P(T_replicated > T) + P(T_replicated = T) / 2: near 0 or
1, the model does not make such data. The rows are used twice, for their posterior and for the check, so that a
middling probability says little; an extreme one says much.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from scipy import sparse

from cormorant.data import Counts, as_counts
from cormorant.explore.fitted import FittedModel, check_number, heavily_used, largest, named
from cormorant.explore.replicates import BLOCK, replicator

COLUMNS_IN_PAIRS = 3  # the pairs looked at are those of so many top columns of each heavily used component
LEVELS = np.linspace(0, 1, 101)  # of the quantiles of row totals
INTERVAL = (0.05, 0.95)  # low and high
STATISTICS = (
    "row total, mean",
    "row total, standard deviation",
    "row total, largest",
    "column total, standard deviation",
    "column total, largest",
    "share of zeros",
    "dispersion, median",
    "dispersion, mean",
    "co-occurrence, mean",
)


@dataclass(frozen=True, eq=False)
class PredictiveCheck:
    """Observed against replicated, as data frames with observed, replicated (mean), low, high (90%) and tail."""

    statistics: pd.DataFrame  # a line a statistic
    row_totals: pd.DataFrame  # a line a quantile of the rows' totals
    columns: pd.DataFrame  # a line a column that is shown: its total
    dispersion: pd.DataFrame  # a line a column that is shown: variance / mean of its counts
    pairs: pd.DataFrame  # a line a pair of top columns: share of the rows that show both
    replicates: pd.DataFrame  # the statistics of every replicate

    def __str__(self) -> str:
        return self.statistics.round(4).to_string(index=False)


@dataclass(frozen=True, eq=False)
class Summary:
    """What is looked at of one matrix of counts."""

    row_totals: np.ndarray
    column_totals: np.ndarray
    dispersion: np.ndarray
    zeros: float
    together: np.ndarray  # share of the rows that show both columns of each pair

    def statistics(self, shown: np.ndarray) -> np.ndarray:
        """The numbers that are compared, as `STATISTICS` names them; of the columns those that the data show."""
        rows, columns, dispersion = self.row_totals, self.column_totals[shown], self.dispersion[shown]
        together = self.together.mean() if len(self.together) else 0.0
        return np.array(
            [
                *(rows.mean(), rows.std(), rows.max()),
                *(columns.std(), columns.max()),
                self.zeros,
                *(np.median(dispersion), dispersion.mean()),
                together,
            ]
        )


def predictive_check(
    model: Any,
    X: Any,
    *,
    n_replicates: int = 50,
    among: int | None = None,
    exposure: Any = None,
    covariates: Any = None,
    random_state: int = 0,
) -> PredictiveCheck:
    """Compare rows with replicates: their totals, the columns' totals, zeros, dispersion, which columns meet.

    Args:
        model: A fitted estimator.
        X: Rows, of the fit or new ones.
        n_replicates: How many to draw; the tail probabilities are as fine as one over this.
        among: Pairs of columns are those of the top columns of so many of the most used components; None takes as
            few as hold 90% of the counts.
        exposure: Known size factor of each row.
        covariates: Of the rows, if the model was fitted with covariates.
        random_state: Seed of the draws.
    """
    check_number("n_replicates", n_replicates)
    counts = as_counts(X)
    pairs = top_pairs(model, among)
    observed = summarise(_observed_blocks(counts), pairs)
    source, rng = replicator(model, counts, exposure, covariates), np.random.default_rng(random_state)
    drawn = [summarise(source.blocks(rng), pairs) for _ in range(n_replicates)]
    shown = np.flatnonzero(observed.column_totals > 0)
    if len(shown) == 0:
        raise ValueError("X must show something: all its counts are zero.")
    columns = {"column": named(model.column_names_, shown)}
    both = {name: named(model.column_names_, pairs[:, i]) for i, name in enumerate(("column", "other"))}

    def table(names: dict[str, Any], pick: Callable[[Summary], np.ndarray]) -> pd.DataFrame:
        return _compared(names, pick(observed), np.array([pick(summary) for summary in drawn]))

    return PredictiveCheck(
        statistics=table({"statistic": STATISTICS}, lambda s: s.statistics(shown)),
        row_totals=table({"quantile": LEVELS}, lambda s: np.quantile(s.row_totals, LEVELS)),
        columns=table(columns, lambda s: s.column_totals[shown]),
        dispersion=table(columns, lambda s: s.dispersion[shown]),
        pairs=table(both, lambda s: s.together),
        replicates=pd.DataFrame([s.statistics(shown) for s in drawn], columns=list(STATISTICS)),
    )


def top_pairs(model: FittedModel, among: int | None = None) -> np.ndarray:
    """Pairs (n x 2) of the top columns of each heavily used component, each once."""
    found = {
        pair
        for k in heavily_used(model, among, least=1)
        for pair in combinations(np.sort(largest(model.components_[k], COLUMNS_IN_PAIRS)).tolist(), 2)
    }
    return np.array(sorted(found), dtype=np.int64).reshape(-1, 2)


def summarise(blocks: Iterable[sparse.csr_matrix], pairs: np.ndarray) -> Summary:
    """Sum what is looked at over blocks of rows."""
    row_totals: list[np.ndarray] = []
    totals = squares = together = np.zeros(())
    n_shown = n_entries = 0
    for y in blocks:
        row_totals.append(_sum(y, axis=1))
        totals = totals + _sum(y, axis=0)
        squares = squares + _sum(y.multiply(y), axis=0)
        together = together + _meetings(y, pairs)
        n_shown += y.nnz
        n_entries += y.shape[0] * y.shape[1]
    rows = np.concatenate(row_totals)
    mean = totals / len(rows)
    variance = squares / len(rows) - mean**2
    # A column that a replicate does not show has no dispersion; like a Poisson of rate zero it is given one.
    dispersion = np.divide(variance, mean, out=np.ones_like(mean), where=mean > 0)
    return Summary(rows, totals, dispersion, 1.0 - n_shown / n_entries, together / len(rows))


def _meetings(y: sparse.csr_matrix, pairs: np.ndarray) -> np.ndarray:
    """Number of rows that show both columns of each pair."""
    shown = sparse.csc_matrix(y > 0, dtype=np.float64)
    return _sum(shown[:, pairs[:, 0]].multiply(shown[:, pairs[:, 1]]), axis=0)


def _observed_blocks(counts: Counts) -> Iterable[sparse.csr_matrix]:
    matrix = counts.tocsr().astype(np.float64)
    return (matrix[first : first + BLOCK] for first in range(0, counts.n_rows, BLOCK))


def _sum(matrix: Any, axis: int) -> np.ndarray:
    return np.asarray(matrix.sum(axis=axis), dtype=np.float64).ravel()


def _compared(names: dict[str, Any], observed: np.ndarray, replicated: np.ndarray) -> pd.DataFrame:
    """A line a quantity; replicates are rows of ``replicated``."""
    low, high = np.quantile(replicated, INTERVAL, axis=0)
    tail = (replicated > observed).mean(axis=0) + (replicated == observed).mean(axis=0) / 2
    compared = {"observed": observed, "replicated": replicated.mean(axis=0), "low": low, "high": high, "tail": tail}
    return pd.DataFrame({**names, **compared})
