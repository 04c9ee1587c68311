"""Posterior predictive checks: does the fitted model make data like those it was fitted to?

Replicates of the rows are drawn given their posterior (`explore.replicates`), and what is observed is compared with
what is replicated. The tail probability of a statistic T is P(T_replicated > T) + P(T_replicated = T) / 2: near 0 or
1, the model does not make such data. The rows are used twice, for their posterior and for the check, so that a
middling probability says little; an extreme one says much. What is looked at of features depends on their likelihood
(`explore.feature_checks`).
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
from cormorant.explore.compared import LEVELS, PredictiveCheck, compared
from cormorant.explore.feature_checks import feature_check
from cormorant.explore.fitted import FittedModel, check_number, has_features, heavily_used, largest, named
from cormorant.explore.replicates import BLOCK, replicator

COLUMNS_IN_PAIRS = 3  # the pairs looked at are those of so many top columns of each heavily used component
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
    mask: Any = None,
    random_state: int = 0,
) -> PredictiveCheck:
    """Compare rows with replicates: their totals, the columns' totals, zeros, dispersion, which columns meet.

    Args:
        model: A fitted estimator.
        X: Rows, of the fit or new ones; of features also with NaN where entries are missing.
        n_replicates: How many to draw; the tail probabilities are as fine as one over this.
        among: Pairs of columns are those of the top columns of so many of the most used components; None takes as
            few as hold 90% of the counts.
        exposure: Known size factor of each row.
        covariates: Of the rows, if the model was fitted with covariates.
        mask: Rows x columns, true at entries that a model of features treats as missing: neither does it look at them
            nor are they compared.
        random_state: Seed of the draws.
    """
    check_number("n_replicates", n_replicates)
    rng, pairs = np.random.default_rng(random_state), top_pairs(model, among)
    if has_features(model):
        _refuse(model, exposure=exposure, covariates=covariates)
        return feature_check(model, X, mask, pairs, n_replicates, rng)
    _refuse(model, mask=mask)
    counts = as_counts(X)
    observed = summarise(_observed_blocks(counts), pairs)
    source = replicator(model, counts, exposure, covariates)
    drawn = [summarise(source.blocks(rng), pairs) for _ in range(n_replicates)]
    shown = np.flatnonzero(observed.column_totals > 0)
    if len(shown) == 0:
        raise ValueError("X must show something: all its counts are zero.")
    columns = {"column": named(model.column_names_, shown)}
    both = {name: named(model.column_names_, pairs[:, i]) for i, name in enumerate(("column", "other"))}

    def table(names: dict[str, Any], pick: Callable[[Summary], np.ndarray]) -> pd.DataFrame:
        return compared(names, pick(observed), np.array([pick(summary) for summary in drawn]))

    return PredictiveCheck(
        statistics=table({"statistic": STATISTICS}, lambda s: s.statistics(shown)),
        row_totals=table({"quantile": LEVELS}, lambda s: np.quantile(s.row_totals, LEVELS)),
        columns=table(columns, lambda s: s.column_totals[shown]),
        dispersion=table(columns, lambda s: s.dispersion[shown]),
        pairs=table(both, lambda s: s.together),
        replicates=pd.DataFrame([s.statistics(shown) for s in drawn], columns=list(STATISTICS)),
    )


def _refuse(model: Any, **given: Any) -> None:
    """Refuse what a check of this model would not read."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} must be left out: checks of {type(model).__name__} do not take it.")


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
